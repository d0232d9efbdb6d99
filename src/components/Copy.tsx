import React, { useState } from 'react';
import { useDoctor } from '../context';

export function Copy({ text }: { text: string }): JSX.Element {
  const { trans, copy } = useDoctor();
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="jp-KernelDoctor-button"
      aria-live="polite"
      onBlur={() => setCopied(false)}
      onClick={() => {
        copy(text);
        setCopied(true);
      }}
    >
      {copied ? trans.__('Copied') : trans.__('Copy')}
    </button>
  );
}
