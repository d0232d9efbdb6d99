import React, { useState } from 'react';
import { useDoctor } from '../context';
import { Button } from './Button';

export function Copy({ text }: { text: string }): JSX.Element {
  const { trans, copy } = useDoctor();
  const [copied, setCopied] = useState(false);
  return (
    <Button
      aria-live="polite"
      onBlur={() => setCopied(false)}
      onClick={() => {
        copy(text);
        setCopied(true);
      }}
    >
      {copied ? trans.__('Copied') : trans.__('Copy')}
    </Button>
  );
}
