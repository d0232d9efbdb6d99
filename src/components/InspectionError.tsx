import React from 'react';
import { useDoctor } from '../context';
import { Refusal } from '../rest';
import { InspectionResult } from '../inspector';
import { plain } from '../text';

/** Says why a kernel could not be inspected, and what to do. */
export function InspectionError(props: {
  result: Exclude<InspectionResult, { kind: 'inspected' }>;
}): JSX.Element {
  const { trans } = useDoctor();
  const { result } = props;
  if (result.kind === 'error') {
    return (
      <p role="alert">
        {trans.__('The kernel could not be asked.')}{' '}
        <small>{plain(result.error.message)}</small>
      </p>
    );
  }
  if (result.why === 'not-recorded') {
    return (
      <div role="alert">
        <p>
          {trans.__(
            'This kernel is not recorded, so it cannot be asked. Interrupt it if it is busy, then run this in its notebook:'
          )}
        </p>
        <pre>{'%load_ext kerneldoctor'}</pre>
      </div>
    );
  }
  const texts: Record<Exclude<Refusal, 'not-recorded'>, string> = {
    gone: trans.__('This kernel is no longer running.'),
    'no-answer': trans.__(
      'No answer within two seconds. The machine may be out of memory or very busy. Ask again in a moment.'
    ),
    'not-permitted': trans.__('This kernel belongs to another user.')
  };
  return <p role="alert">{texts[result.why]}</p>;
}
