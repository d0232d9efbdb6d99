import React from 'react';
import { useDoctor } from '../context';

/** The two commands that make a kernel watched. */
export function WatchInstructions({ intro }: { intro: string }): JSX.Element {
  const { trans } = useDoctor();
  return (
    <>
      <p>{intro}</p>
      <pre>%load_ext kerneldoctor</pre>
      <p>
        {trans.__(
          'To have every new kernel watched, run this once in a terminal:'
        )}
      </p>
      <pre>jupyter kerneldoctor enable</pre>
    </>
  );
}
