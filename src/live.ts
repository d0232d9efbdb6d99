import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';
import { ILiveDetail, ILiveSummary } from './rest';

export type ILive = ILiveSummary & Partial<ILiveDetail>;

export interface ILiveFeed {
  readonly changed: ISignal<ILiveFeed, void>;
  /** Null before the server has answered. */
  readonly shown: ILive | null;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

/** One websocket for the page: it names a kernel, and the server tells what that uses when it changes. */
export class LiveFeed implements ILiveFeed {
  constructor(private readonly _settings: ServerConnection.ISettings) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get shown(): ILive | null {
    return this._shown;
  }

  /** Follow this kernel, or none; without detail only the summary, with the cells where they are wanted. */
  watch(kernel_id: string | null, detail: boolean, cells = false): void {
    const wanted =
      kernel_id === null ? null : JSON.stringify({ kernel_id, detail, cells });
    if (wanted === this._wanted) {
      return;
    }
    this._wanted = wanted;
    if (this._shown && this._shown.kernel_id !== kernel_id) {
      this._show(null);
    }
    if (wanted === null) {
      this._close();
    } else if (this._socket?.readyState === WebSocket.OPEN) {
      this._socket.send(wanted);
    } else if (!this._socket) {
      this._open();
    }
  }

  private _open(): void {
    clearTimeout(this._timer);
    const { appendToken, token, wsUrl } = this._settings;
    const url = URLExt.join(wsUrl, 'kerneldoctor', 'live');
    const query =
      appendToken && token ? `?token=${encodeURIComponent(token)}` : '';
    const socket = new this._settings.WebSocket(url + query);
    this._socket = socket;
    socket.onopen = () => {
      if (this._wanted !== null) {
        socket.send(this._wanted);
      }
    };
    socket.onmessage = ({ data }) => {
      const live = JSON.parse(data) as ILive;
      // An answer on its way when another notebook came to the front.
      if (
        this._wanted &&
        JSON.parse(this._wanted).kernel_id === live.kernel_id
      ) {
        this._retry_ms = FIRST_RETRY_MS;
        this._show(live);
      }
    };
    socket.onclose = () => {
      if (this._socket === socket) {
        this._socket = null;
        this._show(null);
        this._timer = setTimeout(() => this._open(), this._retry_ms);
        this._retry_ms = Math.min(2 * this._retry_ms, LAST_RETRY_MS);
      }
    };
  }

  private _close(): void {
    clearTimeout(this._timer);
    const socket = this._socket;
    this._socket = null;
    if (socket?.readyState === WebSocket.CONNECTING) {
      // Closed at once, the browser would warn in its console.
      socket.onopen = () => socket.close();
    } else {
      socket?.close();
    }
  }

  private _show(live: ILive | null): void {
    this._shown = live;
    this._changed.emit();
  }

  private _shown: ILive | null = null;
  private _wanted: string | null = null;
  private _socket: WebSocket | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _retry_ms = FIRST_RETRY_MS;
  private readonly _changed = new Signal<this, void>(this);
}
