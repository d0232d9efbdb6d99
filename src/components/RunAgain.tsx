import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { bytes } from '../format';
import { Button } from './Button';
import { useSignal } from './useSignal';

/** Offers to restart and to run the cells up to the culprit, and says how that went. */
export function RunAgain({ report }: { report: IReport }): JSX.Element | null {
  const { trans, reruns } = useDoctor();
  useSignal(reruns.changed);
  const state = reruns.stateOf(report);
  const last = reruns.lastCell(report);
  if (last === null) {
    return null;
  }
  const changed = reruns.changedCells(report);
  if (state?.kind === 'running') {
    return (
      <span role="status">
        {changed === null
          ? trans.__('Running cells 1 to %1…', last)
          : trans.__('Running…')}
      </span>
    );
  }
  return (
    <>
      {changed !== null && (
        <Button accept onClick={() => void reruns.goOn(report)}>
          {trans._n('Run the cell', 'Run the %1 changed cells', changed)}
        </Button>
      )}
      <Button
        accept={changed === null}
        onClick={() => void reruns.start(report)}
      >
        {trans.__('Restart and run cells 1 to %1', last)}
      </Button>
      {state?.kind === 'lived' && (
        <strong role="status" className="jp-mod-lived">
          {state.peak_bytes === null || state.limit_bytes === null
            ? trans.__('Lived.')
            : trans.__(
                'Lived: peak %1 of %2.',
                bytes(state.peak_bytes),
                bytes(state.limit_bytes)
              )}
        </strong>
      )}
      {state?.kind === 'failed' && (
        <span role="status" className="jp-mod-failed">
          {trans.__('It did not run through. The notebook shows where.')}
        </span>
      )}
    </>
  );
}
