import React from 'react';
import { IFix, IReport } from '../api';
import { useDoctor } from '../context';
import { cellName, expectedPeak } from '../format';
import { Apply } from './Apply';
import { Button } from './Button';
import { Code } from './Code';
import { Copy } from './Copy';
import { Diff } from './Diff';
import { DocsLink } from './DocsLink';
import { Prose } from './Prose';
import { Trial } from './Trial';
import { useSignal } from './useSignal';

interface IProps {
  fix: IFix;
  report: IReport;
}

/** Shows one fix: why, the change, and a button to apply it. */
export function Fix({ fix, report }: IProps): JSX.Element {
  const { trans, notebooks, trials } = useDoctor();
  useSignal(trials.changed);
  useSignal(notebooks.changed);
  const trial = trials.stateOf(report.recording, fix.id);
  const isTried =
    fix.edits.length > 0 &&
    !trial &&
    notebooks.editState(report, fix.edits) !== 'applied';
  const expected = expectedPeak(trans, fix.expected_peak_bytes);
  const single = fix.edits.length === 1;
  return (
    <div className="jp-KernelDoctor-fix">
      <h4>
        <Prose text={fix.title} />
      </h4>
      <p className="jp-KernelDoctor-quiet">
        <Prose text={fix.why} /> {expected} <DocsLink path={fix.docs} />
      </p>
      {fix.edits.map((edit, i) => (
        <React.Fragment key={i}>
          <Diff
            diff={edit.diff}
            label={trans.__(
              'Change to %1',
              cellName(trans, edit.execution_count)
            )}
          />
          {!single && (
            <div className="jp-KernelDoctor-actions">
              <span>{cellName(trans, edit.execution_count)}</span>
              <Copy text={edit.new_source} />
            </div>
          )}
        </React.Fragment>
      ))}
      {fix.snippet && (
        <Code source={fix.snippet} line={null} label={trans.__('Example')} />
      )}
      <div className="jp-KernelDoctor-actions">
        {fix.edits.length > 0 && <Apply report={report} edits={fix.edits} />}
        {isTried && (
          <Button
            onClick={() => void trials.announce(report.recording, fix.id)}
          >
            {trans.__('Try it first')}
          </Button>
        )}
        {single && <Copy text={fix.edits[0].new_source} />}
        {fix.edits.length === 0 && fix.snippet && <Copy text={fix.snippet} />}
      </div>
      {trial && (
        <Trial recording={report.recording} fix={fix.id} state={trial} />
      )}
    </div>
  );
}
