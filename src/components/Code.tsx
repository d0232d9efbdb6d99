import React, { useState } from 'react';
import { useDoctor } from '../context';
import { visible } from '../text';
import { useColours } from './useColours';

/** Longer cells are folded around the culprit. */
const LINES = 16;
/** Longer lines are cut: they are data, nothing to read. */
const COLUMNS = 400;

interface IProps {
  source: string;
  /** 1-based; null when not known. */
  line: number | null;
  label: string;
  /** Whether it stands in a cell, where lines have numbers. */
  isNumbered?: boolean;
}

/** Shows a cell's source, with one line marked. */
export function Code({ source, line, label, isNumbered }: IProps): JSX.Element {
  const { trans } = useDoctor();
  const [unfolded, setUnfolded] = useState(false);
  const lines = source.trimEnd().split(/\r?\n/);
  const coloured = useColours(lines.map(text => shorten(visible(text))));
  const first = unfolded ? 0 : firstLine(lines.length, line);
  const shown = unfolded ? coloured : coloured.slice(first, first + LINES);
  return (
    <>
      <pre className="jp-KernelDoctor-code" role="group" aria-label={label}>
        {shown.map((text, i) => {
          const number = first + i + 1;
          const marked = number === line;
          return (
            <code
              key={number}
              data-line={isNumbered ? number : undefined}
              className={marked ? 'jp-mod-culprit' : undefined}
              aria-current={marked ? 'location' : undefined}
              title={marked ? trans.__('Line %1', number) : undefined}
            >
              {text}
            </code>
          );
        })}
      </pre>
      {shown.length < lines.length && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => setUnfolded(true)}
        >
          {trans.__('Show all %1 lines', lines.length)}
        </button>
      )}
    </>
  );
}

function firstLine(count: number, line: number | null): number {
  const wanted = (line ?? 1) - 1 - Math.floor(LINES / 2);
  return Math.max(0, Math.min(wanted, count - LINES));
}

function shorten(text: string): string {
  return text.length > COLUMNS ? `${text.slice(0, COLUMNS)} …` : text;
}
