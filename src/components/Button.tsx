import React from 'react';

interface IProps extends React.HTMLAttributes<HTMLElement> {
  /** Whether this is what most users will want. */
  accept?: boolean;
}

/** A button as this JupyterLab has them: from its toolkit, or before 4.1 the browser’s own. */
export function Button({ accept, ...rest }: IProps): JSX.Element {
  return customElements.get('jp-button') ? (
    React.createElement('jp-button', {
      appearance: accept ? 'accent' : 'neutral',
      ...rest
    })
  ) : (
    <button
      className={accept ? 'jp-mod-styled jp-mod-accept' : 'jp-mod-styled'}
      {...rest}
    />
  );
}
