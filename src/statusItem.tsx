import React from 'react';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { bytes } from './format';
import { ILiveFeed } from './live';

/** Shows in the status bar what is left; amber when that is little, red when it is very little. */
export class StatusItem extends ReactWidget {
  constructor(
    private readonly _live: ILiveFeed,
    private readonly _trans: TranslationBundle,
    private readonly _open: () => void
  ) {
    super();
  }

  protected render(): JSX.Element {
    return (
      <UseSignal signal={this._live.changed}>{() => this._button()}</UseSignal>
    );
  }

  private _button(): JSX.Element | null {
    const { shown } = this._live;
    if (
      !shown?.is_recorded ||
      !shown.limit ||
      typeof shown.left_bytes !== 'number'
    ) {
      return null;
    }
    const trans = this._trans;
    const amounts = [
      bytes(shown.used_bytes ?? 0),
      bytes(shown.limit.bytes),
      shown.limit.name
    ];
    return (
      <button
        type="button"
        className={`jp-KernelDoctor-status jp-mod-${shown.level}`}
        title={
          typeof shown.reserved_bytes === 'number'
            ? trans.__(
                '%1 of %2 reserved by this kernel, used or not (%3)',
                ...amounts
              )
            : trans.__(
                '%1 of %2 in use (%3), by this kernel %4',
                ...amounts,
                bytes(shown.own_bytes ?? 0)
              )
        }
        onClick={this._open}
      >
        {trans.__('%1 left', bytes(shown.left_bytes))}
      </button>
    );
  }
}
