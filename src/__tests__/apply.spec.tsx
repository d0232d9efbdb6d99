import { fix, NEW, report } from './fixtures';
import { button, click, dispose, settled, show, text } from './harness';

afterEach(dispose);

it('applies a fix, and says how to undo it', async () => {
  const { document } = await show({});
  await click('Apply to cell [8]');
  expect(document.cells[0].getSource()).toBe(NEW);
  expect(text()).toMatch(/Applied\. Undo with (Ctrl\+Z|⌘ ?Z)\./);
  expect(button('Apply to cell [8]')).toBeUndefined();
});

it('offers a copy instead when the cell has changed', async () => {
  const { document, copied } = await show({ source: 'something else' });
  expect(button('Apply to cell [8]')).toBeUndefined();
  expect(text()).toContain('is no longer the code that ran');
  await click('Copy');
  expect(copied).toEqual([NEW]);
  expect(document.cells[0].getSource()).toBe('something else');
});

it('checks again at the click: the cell may have changed since', async () => {
  const { document } = await show({});
  const apply = button('Apply to cell [8]')!;
  document.cells[0].setSource('edited meanwhile');
  apply.click();
  await settled();
  expect(document.cells[0].getSource()).toBe('edited meanwhile');
});

it('shows advice with its example', async () => {
  const snippet = 'for chunk in pd.read_csv(f, chunksize=100_000): ...';
  const { copied } = await show({
    report: report({ fixes: [fix({ edits: [], snippet })] })
  });
  expect(text()).toContain(snippet);
  await click('Copy');
  expect(copied).toEqual([snippet]);
});
