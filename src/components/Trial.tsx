import React, { useId } from 'react';
import { useDoctor } from '../context';
import { bytes, cellName, duration } from '../format';
import { plain } from '../text';
import { ITrialPlan, ITrialStep } from '../rest';
import { Trial as State } from '../trials';
import { Button } from './Button';
import { Prose } from './Prose';

interface IProps {
  recording: string;
  fix: string;
  state: State;
}

/** Shows a trial of a fix: what it will run, how far it is, and what came of it. */
export function Trial(props: IProps): JSX.Element {
  const { trans, trials } = useDoctor();
  const title = useId();
  const { recording, fix, state } = props;
  const again = () => void trials.announce(recording, fix);
  const close = () => trials.dismiss(recording, fix);
  return (
    <section className="jp-KernelDoctor-trial" aria-labelledby={title}>
      <h5 id={title}>{trans.__('Trial in a second kernel')}</h5>
      {state.kind === 'planned' && <Plan plan={state.plan} />}
      {'steps' in state && <Steps steps={state.steps} />}
      <div role="status">
        <Status state={state} />
      </div>
      <div className="jp-KernelDoctor-actions">
        {state.kind === 'planned' && (
          <Button accept onClick={() => void trials.run(recording, fix)}>
            {trans.__('Run them')}
          </Button>
        )}
        {state.kind === 'running' && (
          <Button onClick={() => trials.stop(recording, fix)}>
            {trans.__('Stop')}
          </Button>
        )}
        {['over', 'stopped', 'refused'].includes(state.kind) && (
          <Button onClick={again}>{trans.__('Try again')}</Button>
        )}
        {state.kind !== 'running' && (
          <Button onClick={close}>
            {state.kind === 'planned' ? trans.__('Cancel') : trans.__('Close')}
          </Button>
        )}
      </div>
    </section>
  );
}

function Plan({ plan }: { plan: ITrialPlan }): JSX.Element {
  const { trans } = useDoctor();
  const changed = plan.cells
    .filter(cell => cell.is_changed)
    .map(cell => cellName(trans, cell.execution_count));
  const rows: [string, string][] = [
    [
      trans.__('Runs'),
      trans.__(
        '%1 again, with the change in %2',
        plain(plan.cells_text),
        [...new Set(changed)].join(', ')
      )
    ],
    [
      trans.__('In'),
      trans.__(
        'a copy of %1 (%2)',
        plain(plan.directory),
        bytes(plan.copied_bytes)
      )
    ],
    [
      trans.__('With'),
      plan.limit_bytes === null
        ? trans.__('at most %1 of time', duration(trans, plan.patience_s))
        : trans.__(
            'at most %1 of memory and %2 of time',
            bytes(plan.limit_bytes),
            duration(trans, plan.patience_s)
          )
    ]
  ];
  if (plan.gone) {
    rows.push([
      trans.__('Gone'),
      trans.__("the notebook's own directory, %1", plain(plan.gone))
    ]);
  }
  if (plan.left_out.length > 0) {
    rows.push([trans.__('Without'), plan.left_out.map(plain).join(', ')]);
  }
  return (
    <>
      <dl>
        {rows.map(([name, text]) => (
          <React.Fragment key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </React.Fragment>
        ))}
      </dl>
      <p>
        {trans.__(
          'The cells do again what they did: write files elsewhere, use the network. Your own kernel is not touched.'
        )}
      </p>
    </>
  );
}

/** Lists the cells that have run. */
function Steps({ steps }: { steps: ITrialStep[] }): JSX.Element {
  const { trans } = useDoctor();
  const over = steps.filter(step => step.what === 'cell over');
  const how = (step: ITrialStep) =>
    ({
      ok: trans.__('done'),
      error: plain(step.error ?? ''),
      died: trans.__('the kernel died'),
      'cut off': trans.__('ended here')
    })[step.how ?? 'ok'];
  return (
    <ol className="jp-KernelDoctor-holders">
      {over.map(step => (
        <li key={step.number}>
          <span>{cellName(trans, step.execution_count)}</span>
          <small>
            {how(step)}, {duration(trans, step.took_s)}
          </small>
          <span>
            {step.memory_bytes === null ? '' : bytes(step.memory_bytes)}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Status({ state }: { state: State }): JSX.Element | null {
  const { trans } = useDoctor();
  switch (state.kind) {
    case 'asking':
      return <p>{trans.__('Looking what there is to run…')}</p>;
    case 'planned':
      return null;
    case 'running':
      return <Progress of={state} />;
    case 'over':
      return (
        <p className={state.outcome.lived ? 'jp-mod-lived' : 'jp-mod-failed'}>
          <Prose text={state.outcome.text} />
        </p>
      );
    case 'stopped':
      return (
        <p>{trans.__('Stopped. Its kernel and its files are removed.')}</p>
      );
    case 'refused':
      return (
        <p>
          <Prose text={state.refusal.message} />{' '}
          <Prose text={state.refusal.help} />
        </p>
      );
  }
}

function Progress(props: {
  of: Extract<State, { kind: 'running' }>;
}): JSX.Element {
  const { trans } = useDoctor();
  const { plan, steps } = props.of;
  const last = steps[steps.length - 1];
  const count = plan.cells.length;
  const ran = steps.filter(step => step.what === 'cell over').length;
  const now = () => {
    if (!last || last.what === 'started') {
      return trans.__('The kernel starts…');
    }
    return ran === count || last.how === 'died'
      ? trans.__('Reading what came of it…')
      : trans.__(
          '%1 runs (%2 of %3)…',
          cellName(trans, last.execution_count),
          last.number,
          count
        );
  };
  return (
    <>
      <progress
        aria-label={trans.__('Cells that have run')}
        value={ran}
        max={count}
      />
      <p>{now()}</p>
    </>
  );
}
