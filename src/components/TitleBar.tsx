import React from 'react';
import { useDoctor } from '../context';
import { fileName } from '../format';
import { plain } from '../text';
import { useSignal } from './useSignal';

/** Shows the notebook that the panel is about, with a pin, or the way back to it from another one's report. */
export function TitleBar(): JSX.Element {
  const { trans, model, notebooks } = useDoctor();
  useSignal(notebooks.changed);
  const { front, isPinned } = notebooks;
  const name = front && plain(fileName(front.path));
  return (
    <div className="jp-KernelDoctor-bar">
      <span className="jp-KernelDoctor-brand">{trans.__('Kernel Doctor')}</span>
      {front && model.isForeign && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => void model.open(null)}
        >
          {trans.__('Back to %1', name)}
        </button>
      )}
      {front && !model.isForeign && (
        <span className="jp-KernelDoctor-front">
          <span title={plain(front.path)}>{name}</span>
          <button
            type="button"
            className="jp-KernelDoctor-link"
            aria-pressed={isPinned}
            title={
              isPinned
                ? trans.__('Follow the notebook in front again')
                : trans.__('Stay with this notebook')
            }
            onClick={() => (notebooks.isPinned = !isPinned)}
          >
            {isPinned ? trans.__('Unpin') : trans.__('Pin')}
          </button>
        </span>
      )}
    </div>
  );
}
