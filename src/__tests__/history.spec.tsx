import { row } from './fixtures';
import { all, button, click, dispose, settled, show, text } from './harness';
import { matches, NO_FILTER, notebooksOf } from '../history';
import { StoredSet } from '../storedSet';

afterEach(dispose);

const ROWS = [
  row({ recording: 'r1', notebook: '/srv/notebooks/a.ipynb' }),
  row({ recording: 'r2', notebook: '/srv/notebooks/b.ipynb', cause: 'hang' }),
  row({ recording: 'r3', state: 'ended', survived: null })
];

it('finds a case by its words, its notebook and its cause', () => {
  const at = { ...NO_FILTER, notebook: '/srv/notebooks/a.ipynb' };
  expect(ROWS.filter(one => matches(at, one))).toEqual([ROWS[0]]);
  expect(matches({ ...NO_FILTER, cause: 'hang' }, ROWS[0])).toBe(false);
  expect(matches({ ...NO_FILTER, text: 'MEMORY a.ip' }, ROWS[0])).toBe(true);
  expect(matches({ ...NO_FILTER, text: 'memory b.ip' }, ROWS[0])).toBe(false);
});

it('tells notebooks of the same name apart', () => {
  const rows = ['/x/a.ipynb', '/y/a.ipynb', '/y/b.ipynb', null].map(notebook =>
    row({ notebook })
  );
  expect(notebooksOf(rows)).toEqual([
    ['/x/a.ipynb', '/x/a.ipynb'],
    ['/y/a.ipynb', '/y/a.ipynb'],
    ['/y/b.ipynb', 'b.ipynb']
  ]);
});

it('deletes one, those that were found, or all', async () => {
  const { deleted } = await show({ rows: ROWS });
  await click('Search or delete');
  expect(text()).toContain('3 recordings, also of kernels that ended as asked');
  expect(text()).toContain('3.0 MiB');

  (all('[aria-label^="Delete the recording"]')[1] as HTMLElement).click();
  await settled();
  expect(deleted).toEqual(['r2']);

  await click('Delete all…');
  expect(deleted.slice(1)).toEqual(['r1', 'r2', 'r3']);

  const [notebook] = all('select') as HTMLSelectElement[];
  notebook.value = '/srv/notebooks/b.ipynb';
  notebook.dispatchEvent(new Event('change', { bubbles: true }));
  await settled();
  await click('Delete this one…');
  expect(deleted.slice(4)).toEqual(['r2']);
  expect(button('Delete all…')).toBeUndefined();
});

it('passes a report on, and keeps it', async () => {
  const { copied } = await show({ rows: ROWS });
  await click('Copy as Markdown');
  expect(copied).toEqual(['r1']);
  expect(text()).toContain('Copied.');
});

it('remembers what was closed, and forgets the oldest', () => {
  const before = new StoredSet('test');
  for (let i = 0; i < 201; i++) {
    before.add(`r${i}`);
  }
  const after = new StoredSet('test');
  expect(after.has('r200')).toBe(true);
  expect(after.has('r0')).toBe(false);
});
