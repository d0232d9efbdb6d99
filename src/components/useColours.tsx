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
  return lines.map((line, i) => (
    <Line
      key={i}
      line={line}
      tokens={(found?.of === code && found.tokens[i]) || [{ text: line }]}
    />
  ));
}

/** Shows a line with its indent apart: a long line does not go on below before it has begun. */
function Line(props: { line: string; tokens: IToken[] }): JSX.Element {
  const { line, tokens } = props;
  const [indent] = line.match(/^\s*/)!;
  let left = indent.length;
  return (
    <>
      {indent && <span className="jp-mod-indent">{indent}</span>}
      {tokens.map(({ text, className }, i) => {
        const shown = text.slice(left);
        left = Math.max(0, left - text.length);
        return (
          <span key={i} className={className}>
            {shown}
          </span>
        );
      })}
    </>
  );
}
