import React, { useState } from 'react';
import { IReport } from '../api';
import { useDoctor } from '../context';
import { timestamp } from '../format';
import { survivedBefore } from '../incidents';
import { plain } from '../text';
import { Prose } from './Prose';
import { Section } from './Section';

const FEW = 5;

/** Lists what the kernel survived before. */
export function Incidents(props: { report: IReport }): JSX.Element | null {
  const { trans } = useDoctor();
  const [all, setAll] = useState(false);
  const survived = survivedBefore(props.report);
  if (survived.length === 0) {
    return null;
  }
  const shown = all ? survived : survived.slice(0, FEW);
  return (
    <Section title={trans.__('Survived before')}>
      <ul className="jp-KernelDoctor-evidence">
        {shown.map((incident, i) => (
          <li key={i}>
            <Prose text={incident.headline} />
            <small>
              {plain(incident.error)}
              {incident.time !== null && `, ${timestamp(incident.time)}`}
            </small>
          </li>
        ))}
      </ul>
      {shown.length < survived.length && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all %1', survived.length)}
        </button>
      )}
    </Section>
  );
}
