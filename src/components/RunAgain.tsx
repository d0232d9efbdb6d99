import React from 'react';
import { UseSignal } from '@jupyterlab/ui-components';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { bytes } from '../format';

/** Offers to restart and to run the cells up to the culprit, and says how that went. */
export function RunAgain({ report }: { report: IReport }): JSX.Element {
  const { reruns } = useDoctor();
  return (
    <UseSignal signal={reruns.changed}>
      {() => <Rerun report={report} />}
    </UseSignal>
  );
}

function Rerun({ report }: { report: IReport }): JSX.Element | null {
  const { trans, reruns } = useDoctor();
  const state = reruns.stateOf(report);
  const last = reruns.lastCell(report);
  if (last === null) {
    return null;
  }
  if (state?.kind === 'running') {
    return (
      <span role="status">{trans.__('Running cells 1 to %1…', last)}</span>
    );
  }
  return (
    <>
      <button
        type="button"
        className="jp-KernelDoctor-button jp-mod-accept"
        onClick={() => void reruns.start(report)}
      >
        {trans.__('Restart and run cells 1 to %1', last)}
      </button>
      {state?.kind === 'lived' && (
        <strong role="status">
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
        <span role="status">
          {trans.__('It did not run through. The notebook shows where.')}
        </span>
      )}
    </>
  );
}
