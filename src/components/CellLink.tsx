import React from 'react';
import { ICulprit } from '../api';
import { useDoctor } from '../context';
import { cellName, fileName } from '../format';
import { Place } from '../notebooks';
import { plain } from '../text';
import { useSignal } from './useSignal';

interface IProps {
  place: Place;
  cell: Pick<ICulprit, 'execution_count' | 'cell_id' | 'source' | 'line'>;
}

/** Links to a cell, or says why it cannot. */
export function CellLink({ place, cell }: IProps): JSX.Element {
  const { trans, notebooks } = useDoctor();
  useSignal(notebooks.changed);
  const name = cellName(trans, cell.execution_count);
  const state = notebooks.cellState(place, cell);
  if (state === 'closed' && notebooks.canOpen(place)) {
    return (
      <button
        type="button"
        className="jp-KernelDoctor-link"
        onClick={() => notebooks.open(place)}
      >
        {trans.__('Open %1', plain(fileName(place.notebook ?? '')))}
      </button>
    );
  }
  if (state !== 'ready') {
    return (
      <small>
        {state === 'closed'
          ? trans.__('Its notebook is not open')
          : trans.__('The cell is no longer in the notebook')}
      </small>
    );
  }
  return (
    <button
      type="button"
      className="jp-KernelDoctor-link"
      onClick={() => void notebooks.goTo(place, cell, cell.line)}
    >
      {trans.__('Go to %1', name)}
    </button>
  );
}
