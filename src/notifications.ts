import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import type { Event } from '@jupyterlab/services';
import { fileName } from './format';
import { plain } from './text';

const DEATH_SCHEMA = 'https://events.jupyter-kerneldoctor.org/death/v1';

export interface IDeath {
  recording: string;
  notebook: string | null;
  headline: string;
  watched_after_restart: boolean;
}

/** Return the death that an event reports; null for other events. */
export function asDeath(event: Event.Emission): IDeath | null {
  if (
    event.schema_id !== DEATH_SCHEMA ||
    typeof event.recording !== 'string' ||
    typeof event.headline !== 'string'
  ) {
    return null;
  }
  return {
    recording: event.recording,
    notebook: typeof event.notebook === 'string' ? event.notebook : null,
    headline: event.headline,
    watched_after_restart: event.watched_after_restart === true
  };
}

export function deathMessage(trans: TranslationBundle, death: IDeath): string {
  // A toast has no type for code, which stands between backticks.
  const headline = plain(death.headline).replace(/`([^`\n]+)`/g, '“$1”');
  return death.notebook === null
    ? trans.__('A kernel died: %1', headline)
    : trans.__(
        'The kernel of %1 died: %2',
        plain(fileName(death.notebook)),
        headline
      );
}

/** Return how to record the restarted kernel, within the 140 characters of a toast. */
export function unrecordedMessage(trans: TranslationBundle): string {
  return trans.__(
    'The restarted kernel is not recorded. Run %load_ext kerneldoctor in it, or jupyter kerneldoctor enable once in a terminal.'
  );
}

export function notifyOfDeath(
  trans: TranslationBundle,
  death: IDeath,
  show: () => void
): void {
  // A toast is cut at 140 characters, so the advice has one of its own. The newest is on top.
  if (!death.watched_after_restart) {
    Notification.warning(unrecordedMessage(trans), { autoClose: false });
  }
  Notification.error(deathMessage(trans, death), {
    autoClose: false,
    actions: [{ label: trans.__('Show why'), callback: show }]
  });
}
