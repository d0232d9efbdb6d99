import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';

/** A piece of a line, with the class that gives it its colour. */
export interface IToken {
  text: string;
  className?: string;
}

/** Return the tokens of each line of some code. */
export type Highlight = (lines: string[]) => Promise<IToken[][]>;

/** Leave code without colours. */
export const plainCode: Highlight = async lines =>
  lines.map(text => [{ text }]);

/** Colour Python as JupyterLab does in its cells. */
export function highlighter(languages: IEditorLanguageRegistry): Highlight {
  return async lines => {
    const host = document.createElement('pre');
    const python = languages.findBest('ipython');
    await languages.highlight(lines.join('\n'), python, host);
    return tokensOf(host);
  };
}

/** Return the tokens of highlighted code, cut at the ends of lines. */
export function tokensOf(host: Element): IToken[][] {
  const lines: IToken[][] = [[]];
  for (const node of Array.from(host.childNodes)) {
    const className = node instanceof Element ? node.className : undefined;
    for (const [i, text] of (node.textContent ?? '').split('\n').entries()) {
      if (i > 0) {
        lines.push([]);
      }
      if (text) {
        lines[lines.length - 1].push({ text, className });
      }
    }
  }
  return lines;
}
