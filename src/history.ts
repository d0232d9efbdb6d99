/* Finds cases in the list. */

import { IRecordingRow } from './api';
import { fileName, timestamp } from './format';

/** Empty texts let everything through. */
export interface IFilter {
  text: string;
  notebook: string;
  cause: string;
}

export const NO_FILTER: IFilter = { text: '', notebook: '', cause: '' };

/** Whether a case has the notebook and the cause, and each word of the text somewhere in what the list says of it. */
export function matches(filter: IFilter, row: IRecordingRow): boolean {
  const said = [
    row.headline,
    row.survived,
    row.notebook,
    row.cause,
    timestamp(row.ended ?? row.started)
  ]
    .join(' ')
    .toLowerCase();
  return (
    (filter.notebook === '' || filter.notebook === row.notebook) &&
    (filter.cause === '' || filter.cause === row.cause) &&
    filter.text
      .toLowerCase()
      .split(/\s+/)
      .every(word => said.includes(word))
  );
}

/** Return the paths of the notebooks, each with its file's name, or the whole path where two have the same name. */
export function notebooksOf(
  rows: readonly IRecordingRow[]
): [string, string][] {
  const paths = distinct(rows.map(row => row.notebook));
  const names = paths.map(fileName);
  return paths.map((path, i) => [
    path,
    names.filter(name => name === names[i]).length > 1 ? path : names[i]
  ]);
}

export function causesOf(rows: readonly IRecordingRow[]): [string, string][] {
  return distinct(rows.map(row => row.cause)).map(cause => [cause, cause]);
}

function distinct(texts: (string | null)[]): string[] {
  return [...new Set(texts.filter(text => text !== null))].sort();
}
