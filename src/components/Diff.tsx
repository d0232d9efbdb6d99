import React, { useMemo } from 'react';
import { useDoctor } from '../context';
import { parseDiff } from '../diff';
import { visible } from '../text';
import { useColours } from './useColours';

const SIGNS = { same: ' ', add: '+', remove: '-', gap: '⋯' };

interface IProps {
  diff: string;
  label: string;
}

/** Shows a unified diff line by line. The signs are text, so that it can be read without colours. */
export function Diff({ diff, label }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const lines = useMemo(() => parseDiff(diff), [diff]);
  const coloured = useColours(lines.map(({ text }) => visible(text)));
  const labels = {
    same: undefined,
    add: trans.__('added'),
    remove: trans.__('removed'),
    gap: trans.__('lines left out')
  };
  return (
    <pre className="jp-KernelDoctor-diff" role="group" aria-label={label}>
      {lines.map(({ kind }, i) => (
        <code key={i} className={`jp-mod-${kind}`}>
          <span role={labels[kind] && 'img'} aria-label={labels[kind]}>
            {SIGNS[kind]}
          </span>
          {coloured[i]}
        </code>
      ))}
    </pre>
  );
}
