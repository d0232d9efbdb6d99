import React from 'react';
import { useDoctor } from '../context';

/** Links to the reference page of a cause or fix. */
export function DocsLink(props: {
  path: string | null | undefined;
}): JSX.Element | null {
  const { trans, docsUrl, openPage } = useDoctor();
  const { path } = props;
  return path ? (
    <a
      href={docsUrl(path)}
      onClick={event => {
        event.preventDefault();
        openPage(path);
      }}
    >
      {trans.__('Details')}
    </a>
  ) : null;
}
