import { Notification } from '@jupyterlab/apputils';
import { IStatusBar } from '@jupyterlab/statusbar';
import { TranslationBundle } from '@jupyterlab/translation';
import { fileName } from './format';
import { LiveFeed } from './live';
import { Notebooks } from './notebooks';
import { lastsMessage, notifyOfShortage } from './notifications';
import { KernelDoctorPanel } from './panel';
import { StatusItem } from './statusItem';

/** The settings that this follows; they may change at any time. */
export interface IUsageSettings {
  showHeadroom: boolean;
  warnOfGrowth: boolean;
  showPeaks: boolean;
  markCulprits: boolean;
  notifyOfHang: boolean;
}

/**
 * Follows what the kernel of the notebook in front uses.
 *
 * The server is told what is shown: all of it where the panel is visible, otherwise the summary for the status bar, and
 * nothing at all where neither is wanted or the whole page is hidden. The peaks of cells, which are marked in the
 * notebook, are asked for only where they are wanted. The summary tells as well that a cell is to be marked, or
 * that the kernel may be stuck.
 */
export class Usage {
  constructor(
    private readonly _feed: LiveFeed,
    private readonly _notebooks: Notebooks,
    private readonly _panel: KernelDoctorPanel,
    private readonly _trans: TranslationBundle,
    private readonly _open: () => void
  ) {
    _notebooks.changed.connect(() => this._follow());
    _panel.visibility.connect(() => this._follow());
    document.addEventListener('visibilitychange', () => this._follow());
    _feed.changed.connect(() => this._warn());
  }

  /** What is wanted. */
  settings: IUsageSettings = {
    showHeadroom: true,
    warnOfGrowth: true,
    showPeaks: true,
    markCulprits: true,
    notifyOfHang: true
  };

  addTo(statusBar: IStatusBar): void {
    const item = new StatusItem(this._feed, this._trans, this._open);
    statusBar.registerStatusItem('jupyter-kerneldoctor:headroom', {
      item,
      align: 'right',
      rank: 60,
      isActive: () => this.settings.showHeadroom && this._feed.shown !== null,
      activeStateChanged: this._feed.changed as never
    });
  }

  /** Apply changed settings. */
  apply(settings: IUsageSettings): void {
    this.settings = settings;
    this._follow();
  }

  private _follow(): void {
    const isOpen = this._panel.isVisible;
    const isWanted =
      document.visibilityState !== 'hidden' &&
      (isOpen || Object.values(this.settings).includes(true));
    const kernel = this._notebooks.currentKernel;
    const kernel_id = isWanted && kernel ? kernel.kernel_id : null;
    this._feed.watch(kernel_id, isOpen, this.settings.showPeaks);
  }

  /** Say once of a cell that what is left will not last. */
  private _warn(): void {
    const { shown } = this._feed;
    const message = shown && lastsMessage(this._trans, shown, this._name());
    const key = JSON.stringify([shown?.recording, shown?.running?.seq]);
    if (this._warning && this._warning.key !== key) {
      // The cell has ended, or its kernel has.
      Notification.dismiss(this._warning.id);
      this._warning = null;
    }
    if (message && this.settings.warnOfGrowth && !this._warned.has(key)) {
      this._warned.add(key);
      const id = notifyOfShortage(this._trans, message, this._open);
      this._warning = { key, id };
    }
  }

  private _name(): string {
    return fileName(this._notebooks.currentKernel?.path ?? '');
  }

  private _warning: { key: string; id: string } | null = null;
  private readonly _warned = new Set<string>();
}
