import React from 'react';

/** A button that looks like a link. */
export function Link(
  props: React.ButtonHTMLAttributes<HTMLButtonElement>
): JSX.Element {
  return <button type="button" className="jp-KernelDoctor-link" {...props} />;
}
