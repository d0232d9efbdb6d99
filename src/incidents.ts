import { IIncident, IReport } from './api';

/** The incident that the report is about, as its kernel lives; null for all other reports. */
export function shownIncident(report: IReport): IIncident | null {
  const latest = report.incidents?.[report.incidents.length - 1];
  return latest &&
    report.end.kind === 'running' &&
    latest.headline === report.headline
    ? latest
    : null;
}

/** What the kernel survived before what the report is about, newest first. */
export function survivedBefore(report: IReport): IIncident[] {
  const shown = shownIncident(report);
  return (report.incidents ?? [])
    .filter(incident => incident !== shown)
    .reverse();
}
