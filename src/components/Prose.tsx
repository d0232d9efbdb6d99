import React from 'react';
import { plain } from '../text';

/** A sentence; what stands between backticks in it is set as code. It is text all the same. */
export function Prose({ text }: { text: string }): JSX.Element {
  const parts = plain(text).split(/`([^`\n]+)`/);
  return (
    <>{parts.map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>
  );
}
