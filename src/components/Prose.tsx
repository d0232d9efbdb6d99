import React from 'react';
import { inLocalTime } from '../format';
import { plain } from '../text';

/** Shows a sentence as text, its times where the user lives; what stands in backticks is set as code. */
export function Prose({ text }: { text: string }): JSX.Element {
  const parts = plain(text).split(/`([^`\n]+)`/);
  return (
    <>
      {parts.map((part, i) =>
        i % 2 ? <code key={i}>{part}</code> : inLocalTime(part)
      )}
    </>
  );
}
