/* Finds the cells of a recording in an open notebook. */

import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { IEdit } from './api';

/** How to recognise a cell; without an id, by its source. */
export interface ICellRef {
  cell_id: string | null;
  source: string;
}

/** Whether a cell can be shown. */
export type CellState = 'ready' | 'closed' | 'missing';

/** Whether an edit can be applied. */
export type EditState = CellState | 'changed' | 'locked' | 'applied';

/** Put the cursor into a line, select it, and scroll it to the middle: a cell may be longer than the window. */
export function showLine(cell: Cell, line: number): void {
  const { editor } = cell;
  if (!editor || line >= editor.lineCount) {
    return;
  }
  const column = editor.getLine(line)?.length ?? 0;
  editor.setCursorPosition({ line, column: 0 });
  editor.setSelection({ start: { line, column: 0 }, end: { line, column } });
  const at = editor.host.querySelectorAll('.cm-line')[line];
  at?.scrollIntoView?.({ block: 'center' });
}

export function findCell(panel: NotebookPanel, ref: ICellRef): Cell | null {
  const cells = panel.content.widgets;
  if (ref.cell_id !== null) {
    return cells.find(cell => cell.model.id === ref.cell_id) ?? null;
  }
  const same = cells.filter(
    cell => cell.model.sharedModel.getSource() === ref.source
  );
  return same.length === 1 ? same[0] : null;
}

export interface ICellFound {
  cell: Cell;
  panel: NotebookPanel;
}

export function cellToEdit(
  panels: NotebookPanel[],
  edit: IEdit
): ICellFound | null {
  for (const source of [edit.old_source, edit.new_source]) {
    for (const panel of panels) {
      const cell = findCell(panel, { cell_id: edit.cell_id, source });
      if (cell) {
        return { cell, panel };
      }
    }
  }
  return null;
}

export function stateOf(found: ICellFound | null, edit: IEdit): EditState {
  if (!found) {
    return 'missing';
  }
  const { cell, panel } = found;
  const source = cell.model.sharedModel.getSource();
  if (source === edit.new_source) {
    return 'applied';
  }
  if (source !== edit.old_source) {
    return 'changed';
  }
  return panel.context.model.readOnly ||
    cell.model.getMetadata('editable') === false
    ? 'locked'
    : 'ready';
}
