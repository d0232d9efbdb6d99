import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { certainty, duration, fileName, timestamp } from '../format';
import { shownIncident, toldBeforeTheEnd } from '../incidents';
import { plain } from '../text';
import { Prose } from './Prose';

interface IProps {
  report: IReport;
}

export function Headline({ report }: IProps): JSX.Element {
  const { trans, model } = useDoctor();
  const { end } = report;
  const isCase = ['died', 'stuck', 'survived'].includes(report.state);
  const before = toldBeforeTheEnd(report);
  const saysWhy =
    before === null
      ? isCase && report.cause !== 'unknown' && !report.general
      : before.id !== 'unknown' && !before.general;
  return (
    <header>
      <h2 className="jp-KernelDoctor-headline">
        {model.isForeign && report.notebook !== null && (
          <>{plain(fileName(report.notebook))}: </>
        )}
        <Prose text={report.headline} />
      </h2>
      <p className="jp-KernelDoctor-quiet">
        {saysWhy ? (
          <span className="jp-KernelDoctor-chip jp-mod-sure">
            {certainty(trans, (before ?? report).certainty)}
          </span>
        ) : null}
        {end.summary && (
          <span className="jp-KernelDoctor-chip">{plain(end.summary)}</span>
        )}
        <Time report={report} />
      </p>
    </header>
  );
}

function Time({ report }: IProps): JSX.Element | null {
  const { trans } = useDoctor();
  const at = shownIncident(report)?.time ?? report.ended;
  if (at === null) {
    return null;
  }
  return (
    <time dateTime={at}>
      {report.end.seen === false
        ? timeLastSeen(trans, report, timestamp(at))
        : timeOfEnd(trans, report, timestamp(at))}
    </time>
  );
}

type Trans = ReturnType<typeof useDoctor>['trans'];

function timeOfEnd(trans: Trans, report: IReport, ended: string): string {
  const inCell = secondsInCell(report);
  return inCell === null
    ? ended
    : trans.__('%1, after %2 in the cell', ended, duration(trans, inCell));
}

/** The end was not recorded: it came at this time or later. */
function timeLastSeen(trans: Trans, report: IReport, seen: string): string {
  const inCell = secondsInCell(report);
  return inCell
    ? trans.__(
        'last seen %1, after at least %2 in the cell',
        seen,
        duration(trans, inCell)
      )
    : trans.__('last seen %1', seen);
}

/** Return how long the cell had been running when the kernel died; null between cells. */
function secondsInCell(report: IReport): number | null {
  const { timeline } = report;
  const last = timeline?.cells[timeline.cells.length - 1];
  return report.cell &&
    last?.end_s === null &&
    typeof timeline?.death_s === 'number'
    ? Math.max(0, timeline.death_s - last.start_s)
    : null;
}
