import React from 'react';
import { useDoctor } from '../context';
import { bytes, cellName, duration } from '../format';
import { ILive } from '../live';
import { ICurrentKernel } from '../notebooks';
import { plain } from '../text';
import { CellTable } from './CellTable';
import { Holders } from './Holders';
import { Meter } from './Meter';
import { Timeline } from './Timeline';
import { useSignal } from './useSignal';

type Trans = ReturnType<typeof useDoctor>['trans'];

interface IProps {
  kernel: ICurrentKernel;
  /** Whether the details are shown: not above a report. */
  open: boolean;
}

/** Shows what the kernel of the notebook in front uses, and what is left. */
export function Live({ kernel, open }: IProps): JSX.Element | null {
  const { trans, live: feed } = useDoctor();
  useSignal(feed.changed);
  const live = feed.shown;
  if (live?.kernel_id !== kernel.kernel_id || !live.is_recorded) {
    return null;
  }
  const { cells, limit, timeline } = live;
  const reserved = live.reserved_bytes ?? 0;
  const isReserved = typeof live.reserved_bytes === 'number';
  return (
    <section
      className="jp-KernelDoctor-usage"
      aria-label={trans.__('Memory now')}
    >
      <p className={`jp-KernelDoctor-left jp-mod-${live.level}`}>
        {headroom(trans, live)}
      </p>
      {limit && (
        <Meter
          total={limit.bytes}
          used={live.used_bytes ?? 0}
          own={
            isReserved
              ? (live.used_bytes ?? 0) - reserved
              : (live.own_bytes ?? 0)
          }
          isReserved={isReserved}
          label={trans.__('In use of the %1', plain(limit.name))}
        />
      )}
      {cells && timeline && (
        <details className="jp-KernelDoctor-details" open={open}>
          <summary>{trans.__('Memory by cell and variable')}</summary>
          <Timeline timeline={timeline} />
          <Holders live={live} />
          <CellTable
            cells={cells}
            place={{ ...kernel, notebook: kernel.path }}
          />
        </details>
      )}
    </section>
  );
}

/** Return "430 MiB left of 1.5 GiB (container limit); cell [7] took 380 MiB." */
export function headroom(trans: Trans, live: ILive): string {
  if (typeof live.left_bytes !== 'number' || !live.limit) {
    return typeof live.own_bytes === 'number'
      ? trans.__('The kernel uses %1.', bytes(live.own_bytes))
      : trans.__('The memory has not been measured yet.');
  }
  const left = trans.__(
    '%1 left of %2 (%3)',
    bytes(live.left_bytes),
    bytes(live.limit.bytes),
    plain(live.limit.name)
  );
  if (live.running && typeof live.lasts_s === 'number') {
    return trans.__(
      '%1; at the pace of %2 that lasts %3.',
      left,
      cellName(trans, live.running.execution_count),
      duration(trans, live.lasts_s)
    );
  }
  const [hungriest] = [...(live.cells ?? [])].sort(
    (a, b) => (b.took_bytes ?? 0) - (a.took_bytes ?? 0)
  );
  // Less than a hundredth of the limit is nothing to mention.
  return hungriest && (hungriest.took_bytes ?? 0) > live.limit.bytes / 100
    ? trans.__(
        '%1; %2 took %3.',
        left,
        cellName(trans, hungriest.execution_count),
        bytes(hungriest.took_bytes ?? 0)
      )
    : `${left}.`;
}
