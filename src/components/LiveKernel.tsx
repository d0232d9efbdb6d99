import React from 'react';
import { ICulprit } from '../api';
import { useDoctor } from '../context';
import { timestamp } from '../format';
import { IInspectionTarget } from '../inspector';
import { Button } from './Button';
import { Inspection } from './Inspection';
import { InspectionError } from './InspectionError';
import { useSignal } from './useSignal';

interface IProps {
  target: IInspectionTarget;
  /** A sentence on the kernel, beside the button. */
  about: string;
  /** The cell already shown above. */
  above?: ICulprit | null;
}

/** Shows a running kernel, and on request what each of its threads does. */
export function LiveKernel(props: IProps): JSX.Element {
  const { trans } = useDoctor();
  return (
    <section
      className="jp-KernelDoctor-live"
      aria-label={trans.__('The kernel now')}
    >
      <InspectedKernel {...props} />
    </section>
  );
}

function InspectedKernel({ target, about, above }: IProps): JSX.Element {
  const { trans, inspector, model } = useDoctor();
  useSignal(inspector.changed);
  const state = inspector.stateOf(target);
  const inspect = async () => {
    await inspector.inspect(target);
    // By now the kernel may be known to be stuck, or may have died.
    await model.refresh();
  };
  if (!state) {
    return (
      <div className="jp-KernelDoctor-liveHead">
        <span>{about}</span>
        <Button onClick={() => void inspect()}>
          {trans.__('What is it doing?')}
        </Button>
      </div>
    );
  }
  const { result, isPending } = state;
  return (
    <>
      <div className="jp-KernelDoctor-liveHead" role="status">
        <span>
          {isPending
            ? trans.__('Asking the kernel…')
            : result?.kind === 'inspected'
              ? trans.__('What it was doing at %1', timestamp(result.at))
              : about}
        </span>
        <span className="jp-KernelDoctor-liveActions">
          <button
            type="button"
            className="jp-KernelDoctor-link"
            disabled={isPending}
            onClick={() => void inspect()}
          >
            {trans.__('Ask again')}
          </button>
          <button
            type="button"
            className="jp-KernelDoctor-link"
            onClick={() => inspector.dismiss(target)}
          >
            {trans.__('Close')}
          </button>
        </span>
      </div>
      {result?.kind === 'inspected' ? (
        <Inspection inspection={result.inspection} above={above} />
      ) : (
        result && <InspectionError result={result} />
      )}
    </>
  );
}
