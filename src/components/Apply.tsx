import React, { useState } from 'react';
import { CommandRegistry } from '@lumino/commands';
import { IEdit, IReport } from '../api';
import { useDoctor } from '../context';
import { cellName } from '../format';
import { Button } from './Button';
import { RunAgain } from './RunAgain';
import { useSignal } from './useSignal';

interface IProps {
  report: IReport;
  edits: IEdit[];
}

/** Applies a fix, or says why it cannot. */
export function Apply({ report, edits }: IProps): JSX.Element {
  const { trans, notebooks } = useDoctor();
  useSignal(notebooks.changed);
  // After a reload the editor has nothing to undo.
  const [applied, setApplied] = useState(false);
  const names = edits.map(edit => cellName(trans, edit.execution_count));
  const cells = names.join(trans.__(' and '));
  const state = notebooks.editState(report, edits);

  const apply = () => {
    if (notebooks.apply(report, edits) === 'applied') {
      setApplied(true);
      // Show the change, and give the cell the focus so that the undo key reaches it.
      const [edit] = edits;
      void notebooks.goTo(
        report,
        { cell_id: edit.cell_id, source: edit.new_source },
        null
      );
    }
  };

  switch (state) {
    case 'ready':
      return (
        <Button accept onClick={apply}>
          {trans.__('Apply to %1', cells)}
        </Button>
      );
    case 'applied':
      return (
        <>
          <span role="status">
            {applied
              ? trans.__(
                  'Applied. Undo with %1.',
                  CommandRegistry.formatKeystroke(['Accel Z'])
                )
              : trans.__('Applied.')}
          </span>
          <RunAgain report={report} />
        </>
      );
    case 'changed':
      return (
        <span role="status">
          {trans.__(
            'The code of %1 is no longer the code that ran. You can copy the change.',
            cells
          )}
        </span>
      );
    case 'locked':
      return (
        <span role="status">
          {trans.__('%1 cannot be edited. You can copy the change.', cells)}
        </span>
      );
    case 'missing':
      return (
        <span role="status">
          {trans.__(
            '%1 is no longer in the notebook. You can copy the change.',
            cells
          )}
        </span>
      );
    case 'closed':
      return (
        <span role="status">
          {trans.__('Open the notebook to apply this to %1.', cells)}
        </span>
      );
  }
}
