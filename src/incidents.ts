import { IIncident, IReport } from './api';

/** Return the incident that the report is about; null where the kernel did not survive one. */
export function shownIncident(report: IReport): IIncident | null {
  return report.state === 'survived'
    ? (report.incidents?.[report.incidents.length - 1] ?? null)
    : null;
}

/** Return what went wrong before a kernel ended as it was asked to, where its headline tells that. */
export function toldBeforeTheEnd(report: IReport): IIncident | null {
  const told = (incident: IIncident) =>
    report.headline.startsWith(incident.headline);
  return report.state === 'ended'
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
