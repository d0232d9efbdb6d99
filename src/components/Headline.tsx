import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { clock, duration, moment, percent } from '../format';
import { shownIncident } from '../incidents';
import { plain } from '../text';
import { Prose } from './Prose';

interface IProps {
  report: IReport;
}

export function Headline({ report }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { confidence, end } = report;
  const survivedOrStuck = end.kind === 'running' && report.cause !== 'no-death';
  const wrong = report.died || survivedOrStuck;
  const sure = wrong && report.cause !== 'unknown' && confidence;
  return (
    <header>
      <h2 className="jp-KernelDoctor-headline">
        <Prose text={report.headline} />
      </h2>
      <p className="jp-KernelDoctor-quiet">
        {sure ? (
          <span className="jp-KernelDoctor-chip jp-mod-sure">
            {trans.__('%1 % sure', percent(sure))}
          </span>
        ) : null}
        {end.summary && (
          <span className="jp-KernelDoctor-chip">{plain(end.summary)}</span>
        )}
        <When report={report} />
      </p>
    </header>
  );
}

function When({ report }: IProps): JSX.Element | null {
  const { trans } = useDoctor();
  const at = shownIncident(report)?.time ?? report.ended;
  if (at === null) {
    return null;
  }
  const ended = new Date(at);
  return (
    <time dateTime={at} title={moment(trans, ended)}>
      {report.end.seen === false
        ? whenLastSeen(trans, report, ended)
        : whenSeen(trans, report, ended)}
    </time>
  );
}

type Trans = ReturnType<typeof useDoctor>['trans'];

function whenSeen(trans: Trans, report: IReport, ended: Date): string {
  const inCell = secondsInCell(report);
  return inCell === null
    ? clock(ended)
    : trans.__(
        '%1, after %2 in the cell',
        clock(ended),
        duration(trans, inCell)
      );
}

/** Nobody saw the end: it came at this time or later. */
function whenLastSeen(trans: Trans, report: IReport, seen: Date): string {
  const inCell = secondsInCell(report);
  return inCell
    ? trans.__(
        'last seen %1, after at least %2 in the cell',
        clock(seen),
        duration(trans, inCell)
      )
    : trans.__('last seen %1', clock(seen));
}

/** How long the cell had run in which the kernel died. */
function secondsInCell(report: IReport): number | null {
  const { timeline } = report;
  const last = timeline?.cells[timeline.cells.length - 1];
  return last && last.end_s === null && typeof timeline?.death_s === 'number'
    ? Math.max(0, timeline.death_s - last.start_s)
    : null;
}
