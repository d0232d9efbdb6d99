import { ILiveFeed } from './live';
import { PostMortems } from './model';

/**
 * Reads the list again when the kernel in front survived an error, got stuck, or went on: no event reports that.
 *
 * The feed tells it with all else, so that a kernel to which nothing happens costs no request.
 */
export class News {
  constructor(
    private readonly _feed: ILiveFeed,
    private readonly _model: Pick<PostMortems, 'refresh'>
  ) {
    _feed.changed.connect(() => this._look());
  }

  private _look(): void {
    const { recording, noted_mono_s } = this._feed.shown ?? {};
    const noted = noted_mono_s ?? null;
    if (recording && noted !== (this._noted.get(recording) ?? null)) {
      this._noted.set(recording, noted);
      void this._model.refresh();
    }
  }

  /** When something was last noted in each recording. */
  private readonly _noted = new Map<string, number | null>();
}
