import { IIncident, IRecordingRow, IReport } from './api';

/** Return the incident that the report is about; null where the kernel did not survive one. */
export function shownIncident(report: IReport): IIncident | null {
  return report.state === 'survived'
    ? (report.incidents?.[report.incidents.length - 1] ?? null)
    : null;
}

/** Return what went wrong before somebody ended the kernel, where its headline tells that. */
export function toldBeforeTheEnd(report: IReport): IIncident | null {
  const told = (incident: IIncident) =>
    incident.headline !== '' && report.headline.startsWith(incident.headline);
  return ['died', 'ended'].includes(report.state)
    ? ([...(report.incidents ?? [])].reverse().find(told) ?? null)
    : null;
}

/** Return what the kernel survived before what the report is about, newest first. */
export function survivedBefore(report: IReport): IIncident[] {
  const shown = shownIncident(report) ?? toldBeforeTheEnd(report);
  return (report.incidents ?? [])
    .filter(incident => incident !== shown)
    .reverse();
}

/** Whether a recording is about a cell that ended its kernel, or went wrong while the kernel lived on. */
export function wentWrong(row: IRecordingRow): boolean {
  const { headline, state, survived } = row;
  const isTold = !!survived && headline.startsWith(survived);
  return (
    state === 'died' || state === 'survived' || (state === 'ended' && isTold)
  );
}

/** Return what tells a case from all others: a kernel dies once, and may survive more than one error. */
export function caseOf(
  one: Pick<IRecordingRow, 'recording' | 'state' | 'survived'>
): string {
  const { recording, state, survived } = one;
  return state === 'died' || !survived
    ? recording
    : JSON.stringify([recording, survived]);
}
