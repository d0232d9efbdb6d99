import { EditorLanguageRegistry } from '@jupyterlab/codemirror';
import { highlighter, tokensOf } from '../highlight';

it('colours each line as JupyterLab colours the whole cell', async () => {
  const languages = new EditorLanguageRegistry();
  EditorLanguageRegistry.getDefaultLanguages().forEach(language =>
    languages.addLanguage(language)
  );
  const lines = ['%matplotlib', 'text = """two', 'lines"""', '', 'x = 1'];
  const found = await highlighter(languages)(lines);
  expect(found.map(line => line.map(token => token.text).join(''))).toEqual(
    lines
  );
  const colours = found.map(line => line.map(token => token.className));
  // The string goes on in the next line.
  expect(colours[2]).toEqual([colours[1][colours[1].length - 1]]);
  expect(colours[4][colours[4].length - 1]).not.toBe(colours[2][0]);
});

it('takes code for text', () => {
  const host = document.createElement('pre');
  host.textContent = 'a = "<img src=x>"\nb';
  expect(tokensOf(host)).toEqual([
    [{ text: 'a = "<img src=x>"', className: undefined }],
    [{ text: 'b', className: undefined }]
  ]);
});
