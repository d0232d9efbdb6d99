import React, { useState } from 'react';
import { useDoctor } from '../context';
import { fileName, timestamp } from '../format';
import { plain } from '../text';
import { Prose } from './Prose';
import { Section } from './Section';

const FEW = 8;

/** Lists the other cases; a click shows one. */
export function CaseList(props: { shown: string | null }): JSX.Element | null {
  const { trans, model } = useDoctor();
  const [all, setAll] = useState(false);
  const others = model.cases.filter(row => row.recording !== props.shown);
  if (others.length === 0) {
    return null;
  }
  const newestShown = model.cases[0].recording === props.shown;
  const rows = all ? others : others.slice(0, FEW);
  const title = others.every(row => row.state === 'died')
    ? trans.__('Other deaths')
    : trans.__('Other events');
  return (
    <Section title={newestShown ? trans.__('Earlier') : title}>
      <ul className="jp-KernelDoctor-cases">
        {rows.map(row => (
          <li key={row.recording}>
            <button
              type="button"
              onClick={() => void model.open(row.recording)}
            >
              <span>
                <Prose
                  text={
                    row.state === 'died' || row.state === 'stuck'
                      ? row.headline
                      : trans.__('Survived: %1', row.survived ?? '')
                  }
                />
                {row.notebook !== null && ` (${plain(fileName(row.notebook))})`}
              </span>
              <small>{timestamp(row.ended ?? row.started)}</small>
            </button>
          </li>
        ))}
      </ul>
      {rows.length < others.length && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all %1', others.length)}
        </button>
      )}
    </Section>
  );
}
