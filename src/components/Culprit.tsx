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

/** Shows the cell that was running, its line, and a link to it. */
export function Culprit({ report }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { cell } = report;
  if (!cell) {
    return (
      <Section title={trans.__('Where')}>
        <p className="jp-KernelDoctor-quiet">
          {report.end.seen === false
            ? trans.__('It is not known which cell was running.')
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
          {trans.__(
            'The cell is very long: only its start and end were recorded.'
          )}
        </p>
      )}
      {cell.line === null && (
        <p className="jp-KernelDoctor-quiet">
          {trans.__('The line is not known.')}{' '}
          {report.loaded_by === 'server' && (
            <Prose
              text={trans.__(
                'Run `%load_ext kerneldoctor` in a Python kernel to see the line next time.'
              )}
            />
          )}
        </p>
      )}
    </Section>
  );
}
