import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { fileName } from '../format';
import { IPresent } from '../notebooks';
import { plain } from '../text';
import { Now } from './Now';
import { useNotebooks } from './useNotebooks';

/** The kernel of the notebook in front; nothing where the report below is about it as it is now. */
export function Present(props: { report: IReport | null }): JSX.Element | null {
  const { notebooks } = useDoctor();
  useNotebooks();
  const { present } = notebooks;
  const { report } = props;
  if (
    !present ||
    (report?.end.kind === 'running' && report.kernel_id === present.kernel_id)
  ) {
    return null;
  }
  return <PresentNow present={present} />;
}

function PresentNow({ present }: { present: IPresent }): JSX.Element {
  const { trans, model } = useDoctor();
  const name = plain(fileName(present.path));
  const stuck = model.stuck(present.kernel_id);
  const about = {
    busy: trans.__('The kernel of %1 is busy.', name),
    idle: trans.__('The kernel of %1 is idle.', name),
    other: trans.__('The kernel of %1 is running.', name)
  };
  return (
    <div className="jp-KernelDoctor-present">
      {stuck && (
        <p>
          {trans.__('The kernel of %1 seems to be stuck.', name)}{' '}
          <button
            type="button"
            className="jp-KernelDoctor-link"
            onClick={() => void model.open(stuck.recording)}
          >
            {trans.__('Show why')}
          </button>
        </p>
      )}
      <Now
        key={present.kernel_id}
        asked={{ kernel_id: present.kernel_id }}
        about={about[present.status]}
      />
    </div>
  );
}
