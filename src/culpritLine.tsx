import React from 'react';
import { closeIcon, ReactWidget } from '@jupyterlab/ui-components';
import { TranslationBundle } from '@jupyterlab/translation';
import { IReport } from './api';
import { Prose } from './components/Prose';
import { IMark } from './culpritMarks';
import { cellName, timestamp } from './format';
import { shownIncident, toldBeforeTheEnd } from './incidents';

/** The line below a cell that ended a kernel, or went wrong while it lived on: what happened, and the fix. */
export class CulpritLine extends ReactWidget {
  constructor(
    private readonly _mark: IMark,
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
    const { report } = this._mark;
    const { ended, started } = report;
    const fixes = this._isFromOutside ? [] : report.fixes;
    const at = shownIncident(report)?.time ?? ended ?? started;
    return (
      <>
        <span title={timestamp(at)}>
          <Prose text={this._what()} />{' '}
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

  /** Whether somebody else ended the kernel: no change of the cell would have helped. */
  private get _isFromOutside(): boolean {
    const { state } = this._mark.report;
    return state === 'died' && this._cause?.family === 'outside';
  }

  private get _cause(): IReport['causes'][number] | undefined {
    const { cause, causes } = this._mark.report;
    return causes.find(({ id }) => id === cause);
  }

  private _what(): string {
    const trans = this._trans;
    const { report, role } = this._mark;
    const { cause, cell, other_cells, statement } = report;
    const before = toldBeforeTheEnd(report);
    const told = before ?? this._cause;
    const why = (told?.title ?? cause).split(':')[0];
    const name = (count: number | null) => cellName(trans, count);
    if (before || report.state === 'survived') {
      return this._whatWasSurvived(why, told?.family === 'stuck');
    }
    if (this._isFromOutside) {
      return trans.__(
        'Last time, the kernel ended while this cell ran: %1.',
        why
      );
    }
    if (role === 'called' && statement) {
      return trans.__(
        'Last time, line %1 of this cell ended the kernel when %2 ran: %3.',
        statement.line,
        name(cell?.execution_count ?? null),
        why
      );
    }
    if (role === 'queued' || other_cells.length > 0) {
      const others = role === 'queued' ? [cell] : other_cells;
      return trans.__(
        'Last time, this cell or %1 ended the kernel: %2.',
        others.map(other => name(other?.execution_count ?? null)).join(', '),
        why
      );
    }
    return trans.__('Last time, this cell ended the kernel: %1.', why);
  }

  private _whatWasSurvived(why: string, wasStuck: boolean): string {
    const trans = this._trans;
    const { report, role } = this._mark;
    if (role === 'called' && report.statement) {
      const { line } = report.statement;
      const ran = cellName(trans, report.cell?.execution_count ?? null);
      return wasStuck
        ? trans.__(
            'Last time, %1 got stuck in line %2 of this cell: %3.',
            ran,
            line,
            why
          )
        : trans.__(
            'Last time, %1 failed in line %2 of this cell: %3.',
            ran,
            line,
            why
          );
    }
    return wasStuck
      ? trans.__('Last time, this cell got stuck: %1.', why)
      : trans.__('Last time, this cell failed: %1.', why);
  }
}
