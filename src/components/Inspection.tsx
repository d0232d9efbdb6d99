import React from 'react';
import { ICulprit } from '../api';
import { useDoctor } from '../context';
import { bytes, cellName, duration } from '../format';
import { isUserThread } from '../inspection';
import { IChild, IInspection, IThread } from '../rest';
import { plain } from '../text';
import { Code } from './Code';
import { CellLink } from './CellLink';
import { Prose } from './Prose';
import { Stack } from './Stack';

interface IProps {
  inspection: IInspection;
  /** The cell already shown above. */
  above?: ICulprit | null;
}

/** Shows the running cell, then what each thread and child process does and where it is. */
export function Inspection({ inspection, above }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { cell, threads, children, no_stacks } = inspection;
  const own = threads.filter(thread => isUserThread(thread, cell !== null));
  return (
    <>
      <RunningCell inspection={inspection} above={above} />
      <ul className="jp-KernelDoctor-threads">
        {own.map(thread => (
          <li key={thread.thread_id}>
            <h4>
              <Prose text={title(trans, thread)} />
            </h4>
            <Activity of={thread} />
            <Stack frames={thread.frames} />
          </li>
        ))}
        {children.map(child => (
          <li key={child.pid}>
            <h4>{childTitle(trans, child)}</h4>
            <Activity of={child} />
            <Stack frames={child.frames} />
          </li>
        ))}
      </ul>
      {no_stacks !== null && (
        <p className="jp-KernelDoctor-quiet">
          <Prose
            text={trans.__('Python functions cannot be shown: %1.', no_stacks)}
          />
        </p>
      )}
      <OtherThreads threads={threads.filter(thread => !own.includes(thread))} />
    </>
  );
}

function RunningCell({ inspection, above }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { cell } = inspection;
  if (!cell) {
    return <p>{trans.__('No cell is running.')}</p>;
  }
  const name = cellName(trans, cell.execution_count);
  const since = duration(trans, cell.running_s);
  const isAbove = above?.source === cell.source && above.line === cell.line;
  return (
    <>
      <p className="jp-KernelDoctor-liveCell">
        <strong>
          {cell.line === null
            ? trans.__('It has been in %1 for %2.', name, since)
            : trans.__(
                'It has been in %1 for %2, now in line %3.',
                name,
                since,
                cell.line
              )}
        </strong>{' '}
        {!isAbove && <CellLink place={inspection} cell={cell} />}
      </p>
      {!isAbove && (
        <Code
          source={cell.source}
          line={cell.line}
          isNumbered
          label={trans.__('Source of %1', name)}
        />
      )}
    </>
  );
}

function title(
  trans: ReturnType<typeof useDoctor>['trans'],
  thread: IThread
): string {
  if (thread.main) {
    return trans.__('The thread that runs the cells');
  }
  if (thread.name !== null) {
    return trans.__('Thread `%1`', thread.name);
  }
  const started = thread.frames.filter(frame => frame.in_cell).pop();
  return started
    ? trans.__('The thread that runs `%1`', started.function)
    : trans.__('Thread %1', thread.thread_id);
}

function childTitle(
  trans: ReturnType<typeof useDoctor>['trans'],
  child: IChild
): string {
  const title =
    child.name === null
      ? trans.__('Child process %1', child.pid)
      : trans.__('Child process %1 (%2)', child.pid, plain(child.name));
  return child.forked ? trans.__('%1, a copy of the kernel', title) : title;
}

function Activity({ of }: { of: IThread | IChild }): JSX.Element {
  const { trans } = useDoctor();
  const figures = [
    of.waits_in !== null && trans.__('%1 in Linux', plain(of.waits_in)),
    'rss_bytes' in of && of.rss_bytes !== null && bytes(of.rss_bytes),
    'cpu_s' in of &&
      of.cpu_s !== null &&
      trans.__('%1 of processor time', duration(trans, of.cpu_s))
  ];
  return (
    <p>
      {trans.__('It %1.', plain(of.doing))}{' '}
      <small>{figures.filter(Boolean).join(', ')}</small>
    </p>
  );
}

/** Counts the threads of the kernel itself and of libraries. */
function OtherThreads({ threads }: { threads: IThread[] }): JSX.Element | null {
  const { trans } = useDoctor();
  return threads.length === 0 ? null : (
    <p className="jp-KernelDoctor-quiet">
      {trans._n(
        'One more thread belongs to the kernel itself or to a library.',
        '%1 more threads belong to the kernel itself or to libraries.',
        threads.length
      )}
    </p>
  );
}
