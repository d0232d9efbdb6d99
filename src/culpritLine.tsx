import React from 'react';
import { closeIcon, ReactWidget } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { IReport } from './api';
import { Prose } from './components/Prose';
import { timestamp } from './format';

/** The line below a cell that ended a kernel: what happened, and the fix. */
export class CulpritLine extends ReactWidget {
  constructor(
    private readonly _report: IReport,
    private readonly _trans: TranslationBundle,
    private readonly _showWhy: () => void,
    private readonly _close: () => void
  ) {
    super();
    this.addClass('jp-KernelDoctor-culpritLine');
    this.node.setAttribute('role', 'note');
  }

  protected render(): JSX.Element {
    const trans = this._trans;
    const { causes, cause, ended, started, fixes } = this._report;
    const title = causes.find(({ id }) => id === cause)?.title ?? cause;
    return (
      <>
        <span title={timestamp(ended ?? started)}>
          <Prose
            text={trans.__(
              'Last time, this cell ended the kernel: %1.',
              title.split(':')[0]
            )}
          />{' '}
          {fixes.length > 0 && (
            <Prose text={trans.__('Fix: %1.', fixes[0].title)} />
          )}
        </span>
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={this._showWhy}
        >
          {fixes.length > 0 ? trans.__('Show the fix') : trans.__('Show why')}
        </button>
        <button
          type="button"
          className="jp-KernelDoctor-close"
          title={trans.__('Close')}
          aria-label={trans.__('Close')}
          onClick={this._close}
        >
          <closeIcon.react tag="span" width="12px" />
        </button>
      </>
    );
  }
}
