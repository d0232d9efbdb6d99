import React, { useMemo } from 'react';
import { useDoctor } from '../context';
import { parseDiff } from '../diff';
import { visible } from '../text';

const SIGNS = { same: ' ', add: '+', remove: '-', gap: '⋯' };

interface IProps {
  diff: string;
  label: string;
}

/** A unified diff, line by line; the sign is text too, so that colour is not needed to read it. */
export function Diff({ diff, label }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const lines = useMemo(() => parseDiff(diff), [diff]);
  const spoken = {
    same: undefined,
    add: trans.__('added'),
    remove: trans.__('removed'),
    gap: trans.__('lines left out')
  };
  return (
    <pre
      className="jp-KernelDoctor-diff"
      role="group"
      aria-label={label}
      tabIndex={0}
    >
      {lines.map(({ kind, text }, i) => (
        <code key={i} className={`jp-mod-${kind}`}>
          <span role={spoken[kind] && 'img'} aria-label={spoken[kind]}>
            {SIGNS[kind]}
          </span>
          {visible(text)}
        </code>
      ))}
    </pre>
  );
}
