import React from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { sourceNote } from '../format';
import { plain } from '../text';
import { DocsLink } from './DocsLink';
import { Prose } from './Prose';
import { Section } from './Section';

interface IProps {
  report: IReport;
}

/** Each line of evidence with its number and where that was read; then what it was not. */
export function Evidence({ report }: IProps): JSX.Element | null {
  const { trans } = useDoctor();
  const cause =
    report.causes.find(({ id }) => id === report.cause) ?? report.causes[0];
  const evidence = cause?.evidence ?? [];
  const ruledOut = report.ruled_out ?? [];
  if (evidence.length + ruledOut.length === 0) {
    return null;
  }
  return (
    <Section
      title={trans.__('Why we think so')}
      aside={<DocsLink path={cause?.docs} />}
    >
      <ul className="jp-KernelDoctor-evidence">
        {evidence.map((line, i) => (
          <li key={i}>
            <Prose text={line.text} />
            <small>{plain(sourceNote(trans, line))}</small>
          </li>
        ))}
        {ruledOut.length > 0 && (
          <li>
            <small>{trans.__('Ruled out:')}</small>
            {ruledOut.map((sentence, i) => (
              <div key={i}>
                <Prose text={sentence} />
              </div>
            ))}
          </li>
        )}
      </ul>
    </Section>
  );
}
