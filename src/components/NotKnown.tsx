import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { Prose } from './Prose';
import { Section } from './Section';

interface IProps {
  report: IReport;
}

/** Shows what an answer leaves open, and the usual reasons, each with the check that would tell. */
export function NotKnown({ report }: IProps): JSX.Element | null {
  const { trans } = useDoctor();
  const isCase = ['died', 'stuck', 'survived'].includes(report.state);
  const cause = report.causes[0];
  if (!isCase || !cause?.not_known) {
    return null;
  }
  return (
    <Section title={trans.__('What is not known')}>
      <p>
        <Prose text={cause.not_known} />
      </p>
      <ul className="jp-KernelDoctor-evidence">
        {(cause.usual_reasons ?? []).map(({ text, check }, i) => (
          <li key={i}>
            <Prose text={text} />
            <small>
              <Prose text={trans.__('Check: `%1`', check)} />
            </small>
          </li>
        ))}
      </ul>
    </Section>
  );
}
