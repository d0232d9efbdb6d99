import { Clipboard, Dialog, showDialog } from '@jupyterlab/apputils';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { IRecordingRow, IReport } from './api';
import { messageOf } from './apiError';

/** Where the recordings are, and what they take on the disk; null where that cannot be read. */
export interface IStorage {
  directory: string;
  bytes: number | null;
}

export interface IArchive {
  storage(): Promise<IStorage>;
  /** Delete recordings, if the user confirms; return whether any was deleted. Those of running kernels stay. */
  remove(rows: readonly Pick<IRecordingRow, 'recording'>[]): Promise<boolean>;
  copyMarkdown(report: IReport): Promise<void>;
  saveHtml(report: IReport): Promise<void>;
}

/** Copies, saves and deletes recordings. */
export class Archive implements IArchive {
  constructor(
    private readonly _settings: ServerConnection.ISettings,
    private readonly _trans: TranslationBundle
  ) {}

  async storage(): Promise<IStorage> {
    return (await this._ask('storage')).json();
  }

  async remove(
    rows: readonly Pick<IRecordingRow, 'recording'>[]
  ): Promise<boolean> {
    const trans = this._trans;
    const { button } = await showDialog({
      title: trans._n(
        'Delete %1 recording?',
        'Delete %1 recordings?',
        rows.length
      ),
      body: trans.__(
        'What was recorded cannot be got back. Recordings of running kernels stay.'
      ),
      buttons: [
        Dialog.cancelButton(),
        Dialog.warnButton({ label: trans.__('Delete') })
      ]
    });
    if (!button.accept) {
      return false;
    }
    const failures: string[] = [];
    for (const { recording } of rows) {
      // Those of running kernels are refused with a conflict, those that are gone are not found.
      await this._ask(pathOf(recording), 'DELETE', [404, 409]).catch(error =>
        failures.push(String(error.message))
      );
    }
    if (failures.length > 0) {
      await showDialog({
        title: trans.__('Some recordings could not be deleted'),
        body: failures[0],
        buttons: [Dialog.okButton()]
      });
    }
    return true;
  }

  async copyMarkdown({ recording }: IReport): Promise<void> {
    const answer = await this._ask(`${pathOf(recording)}/markdown`);
    Clipboard.copyToSystem(await answer.text());
  }

  async saveHtml({ recording }: IReport): Promise<void> {
    const answer = await this._ask(`${pathOf(recording)}/html`);
    const page = new Blob([await answer.text()], { type: 'text/html' });
    const link = document.createElement('a');
    link.href = URL.createObjectURL(page);
    link.download = `kerneldoctor-${recording}.html`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  private async _ask(
    path: string,
    method: 'GET' | 'DELETE' = 'GET',
    alsoFine: number[] = []
  ): Promise<Response> {
    const response = await ServerConnection.makeRequest(
      URLExt.join(this._settings.baseUrl, 'kerneldoctor', path),
      { cache: 'no-store', method },
      this._settings
    );
    if (!response.ok && !alsoFine.includes(response.status)) {
      throw new Error(await messageOf(response));
    }
    return response;
  }
}

function pathOf(recording: string): string {
  return `recordings/${encodeURIComponent(recording)}`;
}
