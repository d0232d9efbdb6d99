import React from 'react';
import { IEvidence, IReport } from '../api';
import { useDoctor } from '../context';
import { sourceNote } from '../format';
import { plain } from '../text';
import { DocsLink } from './DocsLink';
import { Prose } from './Prose';
import { Section } from './Section';

/** The evidence comes strongest first; the rest is folded. */
const SHOWN = 3;

interface IProps {
  report: IReport;
}

/** Shows the strongest evidence; the rest, and what was ruled out, is folded. */
export function Evidence({ report }: IProps): JSX.Element | null {
  const { trans } = useDoctor();
  const cause =
    report.causes.find(({ id }) => id === report.cause) ?? report.causes[0];
  const evidence = cause?.evidence ?? [];
  const more = evidence.slice(SHOWN);
  const ruledOut = report.ruled_out ?? [];
  if (evidence.length + ruledOut.length === 0) {
    return null;
  }
  const counts = [
    more.length > 0 && trans._n('1 more fact', '%1 more facts', more.length),
    ruledOut.length > 0 &&
      trans._n('1 cause ruled out', '%1 causes ruled out', ruledOut.length)
  ];
  return (
    <Section
      title={trans.__('Why we think so')}
      aside={<DocsLink path={cause?.docs} />}
    >
      <Facts evidence={evidence.slice(0, SHOWN)} />
      {counts.some(Boolean) && (
        <details className="jp-KernelDoctor-details">
          <summary>{counts.filter(Boolean).join(', ')}</summary>
          <Facts evidence={more} />
          <ul className="jp-KernelDoctor-evidence">
            {ruledOut.map((sentence, i) => (
              <li key={i}>
                <Prose text={sentence} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}

function Facts({ evidence }: { evidence: IEvidence[] }): JSX.Element {
  const { trans } = useDoctor();
  return (
    <ul className="jp-KernelDoctor-evidence">
      {evidence.map((fact, i) => (
        <li key={i}>
          <Prose text={fact.text} />
          <small>{plain(sourceNote(trans, fact))}</small>
        </li>
      ))}
    </ul>
  );
}
