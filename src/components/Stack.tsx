import React, { useState } from 'react';
import { useDoctor } from '../context';
import { cellName } from '../format';
import { shortStack } from '../inspection';
import { IFrame } from '../rest';
import { plain, visible } from '../text';

const FEW = 3;

/** Shows the functions of a stack, innermost first. */
export function Stack({ frames }: { frames: IFrame[] }): JSX.Element | null {
  const { trans } = useDoctor();
  const [all, setAll] = useState(false);
  if (frames.length === 0) {
    return null;
  }
  const shown = all ? frames : shortStack(frames, FEW);
  return (
    <>
      <ol className="jp-KernelDoctor-stack">
        {shown.map((frame, i) => (
          <li key={i}>
            <Place frame={frame} />
            {frame.code !== null && (
              <code className={i === 0 ? 'jp-mod-innermost' : undefined}>
                {visible(frame.code)}
              </code>
            )}
          </li>
        ))}
      </ol>
      {shown.length < frames.length && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all %1 functions', frames.length)}
        </button>
      )}
    </>
  );
}

function Place({ frame }: { frame: IFrame }): JSX.Element {
  const { trans } = useDoctor();
  const file = frame.in_cell
    ? cellName(trans, frame.execution_count)
    : plain(frame.short_file);
  const place =
    frame.line === null ? file : trans.__('%1, line %2', file, frame.line);
  return (
    <span>
      {frame.function === '<module>'
        ? place
        : trans.__('%1 in %2', plain(frame.function), place)}
    </span>
  );
}
