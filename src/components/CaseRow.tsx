import React from 'react';
import { closeIcon } from '@jupyterlab/ui-components';
import { IRecordingRow } from '../api';
import { useDoctor } from '../context';
import { fileName, timestamp } from '../format';
import { plain } from '../text';
import { Prose } from './Prose';

interface IProps {
  row: IRecordingRow;
  /** Null where the list offers no deletion. */
  remove: (() => void) | null;
}

/** Shows one case of the list. */
export function CaseRow({ row, remove }: IProps): JSX.Element {
  const { trans, model } = useDoctor();
  const when = timestamp(row.ended ?? row.started);
  return (
    <li>
      <button type="button" onClick={() => void model.open(row.recording)}>
        <span>
          <Prose
            text={
              row.state === 'died' || row.state === 'stuck'
                ? row.headline
                : trans.__('Survived: %1', row.survived ?? '')
            }
          />
          {row.notebook !== null && ` (${plain(fileName(row.notebook))})`}
        </span>
        <small>{when}</small>
      </button>
      {remove && (
        <button
          type="button"
          className="jp-KernelDoctor-close"
          title={trans.__('Delete')}
          aria-label={trans.__('Delete the recording of %1', when)}
          onClick={remove}
        >
          <closeIcon.react tag="span" width="12px" />
        </button>
      )}
    </li>
  );
}
