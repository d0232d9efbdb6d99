import React, { useEffect, useState } from 'react';
import { useDoctor } from '../context';
import { IToken } from '../highlight';

/** Return each of these lines of code, coloured as soon as that is known. */
export function useColours(lines: string[]): JSX.Element[] {
  const { highlight } = useDoctor();
  const [found, setFound] = useState<{ of: string; tokens: IToken[][] }>();
  const code = lines.join('\n');
  useEffect(() => {
    let isWanted = true;
    void highlight(code.split('\n'))
      .then(tokens => isWanted && setFound({ of: code, tokens }))
      // Code without colours is code all the same.
      .catch(error => console.warn('KernelDoctor cannot colour code.', error));
    return () => {
      isWanted = false;
    };
  }, [code, highlight]);
  return lines.map((text, i) => (
    <React.Fragment key={i}>
      {found?.of === code && found.tokens[i]
        ? found.tokens[i].map((token, i) => (
            <span key={i} className={token.className}>
              {token.text}
            </span>
          ))
        : text}
    </React.Fragment>
  ));
}
