import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { ServiceManager } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { fileName } from './format';

export interface IKernels {
  /** Return the name of the notebook of a kernel; null where it has none. */
  notebookOf(kernel_id: string): string | null;
  /** Shut a kernel down, if the user confirms. */
  shutDown(kernel_id: string): Promise<void>;
}

/** The kernels of this server. */
export class Kernels implements IKernels {
  constructor(
    private readonly _services: ServiceManager.IManager,
    private readonly _trans: TranslationBundle
  ) {}

  notebookOf(kernel_id: string): string | null {
    for (const session of this._services.sessions.running()) {
      if (session.kernel?.id === kernel_id) {
        return fileName(session.path);
      }
    }
    return null;
  }

  async shutDown(kernel_id: string): Promise<void> {
    const trans = this._trans;
    const name = this.notebookOf(kernel_id) ?? trans.__('a console');
    const { button } = await showDialog({
      title: trans.__('Shut down the kernel of %1?', name),
      body: trans.__('Its variables are lost. The notebook stays as it is.'),
      buttons: [
        Dialog.cancelButton(),
        Dialog.warnButton({ label: trans.__('Shut Down') })
      ]
    });
    if (button.accept) {
      await this._services.kernels.shutdown(kernel_id);
    }
  }
}
