import React from 'react';
import { Button as ToolkitButton } from '@jupyter/react-components';

interface IProps extends React.HTMLAttributes<HTMLElement> {
  /** Whether this is what most users will want. */
  accept?: boolean;
}

/** A button as JupyterLab has them. */
export function Button({ accept, ...rest }: IProps): JSX.Element {
  return <ToolkitButton appearance={accept ? 'accent' : 'neutral'} {...rest} />;
}
