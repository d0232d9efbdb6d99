import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import type { Event } from '@jupyterlab/services';
import { bytes, cellName, fileName } from './format';
import { IRecordingRow } from './api';
import { ILiveFeed } from './live';
import { ILiveSummary } from './rest';
import { plain } from './text';

const DEATH_SCHEMA = 'https://events.jupyter-kerneldoctor.org/death/v1';

export interface IDeath {
  recording: string;
  kernel_id: string | null;
  notebook: string | null;
  headline: string;
  /** Cause, cell and line in few words. */
  brief: string | null;
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
    kernel_id: typeof event.kernel_id === 'string' ? event.kernel_id : null,
    notebook: typeof event.notebook === 'string' ? event.notebook : null,
    headline: event.headline,
    brief: typeof event.brief === 'string' ? event.brief : null,
    watched_after_restart: event.watched_after_restart === true
  };
}

/** A toast has no type for code, which stands between backticks. */
function quoted(text: string): string {
  return plain(text).replace(/`([^`\n]+)`/g, '“$1”');
}

export function deathMessage(trans: TranslationBundle, death: IDeath): string {
  const headline = quoted(death.brief ?? death.headline);
  if (death.brief !== null) {
    // The essential comes first: a toast is cut at 140 characters.
    return death.notebook === null
      ? headline
      : trans.__('%1 (%2)', headline, plain(fileName(death.notebook)));
  }
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
  /** Null where the panel shows the death already. */
  show: (() => void) | null,
  live: ILiveFeed
): void {
  // A toast is cut at 140 characters, so the advice has one of its own. The newest is on top.
  if (!death.watched_after_restart) {
    const id = Notification.warning(unrecordedMessage(trans), {
      autoClose: false
    });
    const follow = () => {
      const { shown } = live;
      if (
        shown?.is_recorded &&
        shown.kernel_id === death.kernel_id &&
        shown.recording !== death.recording
      ) {
        live.changed.disconnect(follow);
        Notification.dismiss(id);
      }
    };
    live.changed.connect(follow);
  }
  if (show === null) {
    return;
  }
  Notification.error(deathMessage(trans, death), {
    autoClose: false,
    actions: [{ label: trans.__('Show why'), callback: show }]
  });
}

/** Say that a kernel is stuck; a quiet notification, as nothing is lost. */
export function notifyOfHang(
  trans: TranslationBundle,
  stuck: IRecordingRow,
  show: () => void
): string {
  return Notification.info(hangMessage(trans, stuck), {
    autoClose: false,
    actions: [{ label: trans.__('Show why'), callback: show }]
  });
}

export function hangMessage(
  trans: TranslationBundle,
  { headline, notebook }: IRecordingRow
): string {
  const said = quoted(headline);
  return notebook === null
    ? said
    : trans.__('%1 (%2)', said, plain(fileName(notebook)));
}

/** Growth that would last longer is left to the panel and the status bar. */
const SOON_S = 60;

/** Return that what is left will not last; null where it will. */
export function lastsMessage(
  trans: TranslationBundle,
  live: ILiveSummary,
  notebook: string
): string | null {
  const { lasts_s, left_bytes, running } = live;
  return running &&
    typeof lasts_s === 'number' &&
    typeof left_bytes === 'number' &&
    lasts_s <= SOON_S
    ? trans.__(
        'Memory is running out: %1 left, %2 of %3 takes that in some %4 s.',
        bytes(left_bytes),
        cellName(trans, running.execution_count),
        plain(notebook),
        Math.max(1, Math.round(lasts_s))
      )
    : null;
}

export function notifyOfShortage(
  trans: TranslationBundle,
  message: string,
  show: () => void
): string {
  return Notification.warning(message, {
    autoClose: false,
    actions: [{ label: trans.__('What holds the memory?'), callback: show }]
  });
}
