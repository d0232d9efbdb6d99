import React from 'react';
import { UseSignal } from '@jupyterlab/ui-components';
import { ICulprit } from '../api';
import { useDoctor } from '../context';
import { clock } from '../format';
import { IAsked } from '../inspector';
import { Inspected } from './Inspected';
import { Unanswered } from './Unanswered';

interface IProps {
  asked: IAsked;
  /** One sentence on the kernel, beside the button. */
  about: string;
  /** The cell that is shown above already. */
  above?: ICulprit | null;
}

/** A kernel that runs, and what it says it is doing when somebody asks. */
export function Now(props: IProps): JSX.Element {
  const { trans, inspector } = useDoctor();
  return (
    <section
      className="jp-KernelDoctor-now"
      aria-label={trans.__('The kernel now')}
    >
      <UseSignal signal={inspector.changed}>
        {() => <Asked {...props} />}
      </UseSignal>
    </section>
  );
}

function Asked({ asked, about, above }: IProps): JSX.Element {
  const { trans, inspector, model } = useDoctor();
  const asking = inspector.of(asked);
  const ask = async () => {
    await inspector.ask(asked);
    // It may have turned out that the kernel is stuck, or that it has died.
    await model.refresh();
  };
  if (!asking) {
    return (
      <div className="jp-KernelDoctor-nowHead">
        <span>{about}</span>
        <button
          type="button"
          className="jp-KernelDoctor-button"
          onClick={() => void ask()}
        >
          {trans.__('What is it doing?')}
        </button>
      </div>
    );
  }
  const { answer, waits } = asking;
  return (
    <>
      <div className="jp-KernelDoctor-nowHead" role="status">
        <span>
          {waits
            ? trans.__('Asking the kernel…')
            : answer?.kind === 'told'
              ? trans.__('What it was doing at %1', clock(answer.at))
              : about}
        </span>
        <span className="jp-KernelDoctor-nowActions">
          <button
            type="button"
            className="jp-KernelDoctor-link"
            disabled={waits}
            onClick={() => void ask()}
          >
            {trans.__('Ask again')}
          </button>
          <button
            type="button"
            className="jp-KernelDoctor-link"
            onClick={() => inspector.putAway(asked)}
          >
            {trans.__('Close')}
          </button>
        </span>
      </div>
      {answer?.kind === 'told' ? (
        <Inspected inspection={answer.inspection} above={above} />
      ) : (
        answer && <Unanswered answer={answer} />
      )}
    </>
  );
}
