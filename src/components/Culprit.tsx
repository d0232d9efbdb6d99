import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { cellName } from '../format';
import { Code } from './Code';
import { CellLink } from './CellLink';
import { Prose } from './Prose';
import { Section } from './Section';

interface IProps {
  report: IReport;
}

/** Where it happened: the cell, its line, and the way there. */
export function Culprit({ report }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { cell } = report;
  if (!cell) {
    return (
      <Section title={trans.__('Where')}>
        <p className="jp-KernelDoctor-quiet">
          {report.end.seen === false
            ? trans.__('What was running when the kernel ended is not known.')
            : trans.__('No cell was running when the kernel ended.')}
        </p>
      </Section>
    );
  }
  return (
    <Section
      title={trans.__('Where')}
      aside={<CellLink place={report} cell={cell} />}
    >
      <Code
        source={cell.source}
        line={cell.line}
        label={trans.__('Source of %1', cellName(trans, cell.execution_count))}
      />
      {cell.truncated && (
        <p className="jp-KernelDoctor-quiet">
          {trans.__('The cell is long: only its beginning and end were kept.')}
        </p>
      )}
      {cell.line === null && (
        <p className="jp-KernelDoctor-quiet">
          {trans.__('Which line of the cell it was is not known.')}{' '}
          {report.loaded_by === 'server' && (
            <Prose
              text={trans.__(
                'Of a Python kernel that runs `%load_ext kerneldoctor`, more is known.'
              )}
            />
          )}
        </p>
      )}
    </Section>
  );
}
