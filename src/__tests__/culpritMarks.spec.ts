import type { NotebookPanel } from '@jupyterlab/notebook';
import { IReport } from '../api';
import { marksIn } from '../culpritMarks';
import { report } from './fixtures';

const RAN = { cell_id: 'c8', source: 'fit()' };
const CALLED = { cell_id: 'c2', source: 'def fit():\n    kept.append(1)' };

/** A notebook of which only the ids and sources of the cells matter. */
function notebook(...cells: { cell_id: string; source: string }[]) {
  const widgets = cells.map(({ cell_id, source }) => ({
    model: { id: cell_id, sharedModel: { getSource: () => source } }
  }));
  return { content: { widgets } } as unknown as NotebookPanel;
}

function death(change: Partial<IReport> = {}): IReport {
  const place = { execution_count: 8, truncated: false, line_source: null };
  return report({ cell: { ...RAN, ...place, line: 1 }, ...change });
}

const inFit: Partial<IReport> = {
  statement: {
    execution_count: 2,
    cell_id: CALLED.cell_id,
    line: 2,
    end_line: 2,
    source: 'kept.append(1)',
    function: 'fit',
    file: null,
    via: [],
    cell_source: CALLED.source
  }
};

const roles = (panel: NotebookPanel, one: IReport) =>
  marksIn(panel, one).map(([cell, { role }]) => [cell.model.id, role]);

it('marks the cell that ran, while its code is the code that ran', () => {
  expect(roles(notebook(RAN, CALLED), death())).toEqual([['c8', 'ran']]);
  const edited = { ...RAN, source: 'fit(1)' };
  expect(roles(notebook(edited, CALLED), death())).toEqual([]);
  expect(roles(notebook(CALLED), death())).toEqual([]);
});

it('marks the cell of the statement to blame, too, until one of the two is changed', () => {
  expect(roles(notebook(CALLED, RAN), death(inFit))).toEqual([
    ['c8', 'ran'],
    ['c2', 'called']
  ]);
  const mended = { ...CALLED, source: 'def fit():\n    pass' };
  expect(roles(notebook(mended, RAN), death(inFit))).toEqual([]);
  // The function of a cell that is no longer there is still defined.
  expect(roles(notebook(RAN), death(inFit))).toEqual([['c8', 'ran']]);
});

it('marks each cell that may have been running', () => {
  const next = { cell_id: 'c9', source: 'x = 1' };
  const place = { execution_count: 9, truncated: false, line_source: null };
  const other_cells = [{ ...next, ...place, line: null }];
  expect(roles(notebook(RAN, next), death({ other_cells }))).toEqual([
    ['c8', 'ran'],
    ['c9', 'queued']
  ]);
});
