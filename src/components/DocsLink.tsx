import React from 'react';
import { useDoctor } from '../context';

/** Links to the reference page of a cause or fix. */
export function DocsLink(props: {
  path: string | null | undefined;
}): JSX.Element | null {
  const { trans, docsUrl } = useDoctor();
  return props.path ? (
    <a href={docsUrl(props.path)} target="_blank" rel="noopener noreferrer">
      {trans.__('Details')}
    </a>
  ) : null;
}
