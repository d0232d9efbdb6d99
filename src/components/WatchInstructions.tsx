import React from 'react';
import { useDoctor } from '../context';

/** Shows the two commands that start recording. */
export function WatchInstructions({ intro }: { intro: string }): JSX.Element {
  const { trans } = useDoctor();
  return (
    <>
      <p>{intro}</p>
      <pre>{'%load_ext kerneldoctor'}</pre>
      <p>
        {trans.__('To record every new kernel, run this once in a terminal:')}
      </p>
      <pre>{'jupyter kerneldoctor enable'}</pre>
    </>
  );
}
