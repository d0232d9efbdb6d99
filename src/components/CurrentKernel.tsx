import React from 'react';
import { IReport, isRunning } from '../api';
import { useDoctor } from '../context';
import { fileName } from '../format';
import { ICurrentKernel } from '../notebooks';
import { plain } from '../text';
import { Live } from './Live';
import { LiveKernel } from './LiveKernel';
import { useSignal } from './useSignal';

/** Shows the kernel of the notebook in front, unless the report below is about this running kernel. */
export function CurrentKernel(props: {
  report: IReport | null;
}): JSX.Element | null {
  const { notebooks } = useDoctor();
  useSignal(notebooks.changed);
  const { currentKernel: kernel } = notebooks;
  const { report } = props;
  if (!kernel) {
    return null;
  }
  if (report && isRunning(report) && report.kernel_id === kernel.kernel_id) {
    return <Live kernel={kernel} open={false} />;
  }
  return <NotebookKernel kernel={kernel} open={!report} />;
}

function NotebookKernel(props: {
  kernel: ICurrentKernel;
  open: boolean;
}): JSX.Element {
  const { kernel, open } = props;
  const { trans, model, inspector } = useDoctor();
  const name = plain(fileName(kernel.path));
  const stuck = model.stuckCase(kernel.kernel_id);
  const target = { kernel_id: kernel.kernel_id };
  const isAsked =
    kernel.status === 'busy' || inspector.stateOf(target) !== null;
  return (
    <div className="jp-KernelDoctor-current">
      {stuck && (
        <p>
          {trans.__('The kernel of %1 seems to be stuck.', name)}{' '}
          <button
            type="button"
            className="jp-KernelDoctor-link"
            onClick={() => void model.open(stuck.recording)}
          >
            {trans.__('Show why')}
          </button>
        </p>
      )}
      <Live kernel={kernel} open={open} />
      {isAsked && (
        <LiveKernel
          key={kernel.kernel_id}
          target={target}
          about={
            kernel.status === 'busy'
              ? trans.__('The kernel of %1 is busy.', name)
              : trans.__('The kernel of %1 is idle.', name)
          }
        />
      )}
    </div>
  );
}
