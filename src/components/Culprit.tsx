import React from 'react';
import { ICaller, IReport } from '../api';
import { useDoctor } from '../context';
import { cellName } from '../format';
import { Code } from './Code';
import { CellLink } from './CellLink';
import { Prose } from './Prose';
import { Section } from './Section';

interface IProps {
  report: IReport;
}

/** Shows the statement to blame in its cell, else the cell that was running, with a link to it. */
export function Culprit({ report }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { cell, statement } = report;
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
  const at = statement?.cell_source ? statement : null;
  const shown = at ? { ...at, source: at.cell_source! } : cell;
  const place = (one: Pick<ICaller, 'execution_count' | 'file' | 'line'>) =>
    trans.__(
      '%1, line %2',
      one.file?.split('/').pop() ?? cellName(trans, one.execution_count),
      one.line
    );
  return (
    <Section
      title={trans.__('Where')}
      aside={<CellLink place={report} cell={shown} />}
    >
      <Code
        source={shown.source}
        line={shown.line}
        isNumbered
        label={trans.__('Source of %1', cellName(trans, shown.execution_count))}
      />
      {statement && (statement.via.length > 0 || statement.file) && (
        <p className="jp-KernelDoctor-quiet">
          {statement.file && trans.__('In %1.', place(statement))}{' '}
          {statement.via.length > 0 &&
            trans.__(
              'Called from %1.',
              [...statement.via].reverse().map(place).join(' · ')
            )}
        </p>
      )}
      {cell.truncated && (
        <p className="jp-KernelDoctor-quiet">
          {trans.__(
            'The cell is very long: only its start and end were recorded.'
          )}
        </p>
      )}
      {cell.line === null && !statement && (
        <p className="jp-KernelDoctor-quiet">
          {report.no_stacks
            ? trans.__('The line is not known: %1.', report.no_stacks)
            : trans.__('The line is not known.')}{' '}
          {report.loaded_by === 'server' && !report.no_stacks && (
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
