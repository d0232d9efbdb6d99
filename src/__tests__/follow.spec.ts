import { PostMortems } from '../model';
import { deathMessage } from '../notifications';
import { openPath } from '../paths';
import { Notebooks } from '../notebooks';
import { openNotebook, report, row, trackerOf, trans } from './fixtures';

describe('the model', () => {
  const rows = [
    row({ recording: 'r2', kernel_id: 'k2', notebook: '/srv/b.ipynb' }),
    row({ recording: 'r1', kernel_id: 'k1', notebook: '/srv/a.ipynb' })
  ];
  const server = {
    list: async () => rows,
    report: async (recording: string) => {
      const { kernel_id, notebook } = rows.find(
        row => row.recording === recording
      )!;
      return report({ recording, kernel_id, notebook });
    }
  };
  const shown = ({ view }: PostMortems) =>
    view.kind === 'report' ? view.report.recording : view.kind;
  const of = (kernel: string) => (place: { kernel_id: string | null }) =>
    place.kernel_id === kernel;

  it('shows the newest case of the notebook in front, and no other', async () => {
    const model = new PostMortems(server);
    model.follow(of('k1'));
    await model.refresh();
    expect([shown(model), model.isForeign]).toEqual(['r1', false]);
    model.follow(of('k9'));
    await model.refresh();
    expect(shown(model)).toBe('empty');
    model.follow(null);
    await model.refresh();
    expect(shown(model)).toBe('r2');
  });

  it('shows another case when it is picked, until another notebook comes to the front', async () => {
    const model = new PostMortems(server);
    model.follow(of('k1'));
    await model.open('r2');
    expect([shown(model), model.isForeign]).toEqual(['r2', true]);
    model.follow(of('k2'));
    await model.refresh();
    expect([shown(model), model.isForeign]).toEqual(['r2', false]);
    model.follow(of('k1'));
    await model.refresh();
    expect(shown(model)).toBe('r1');
  });
});

it('pins a notebook until it is unpinned', () => {
  const [a, b] = ['a.ipynb', 'b.ipynb'].map(
    path => openNotebook([], path, `k-${path}`).panel
  );
  const tracker = trackerOf(a, b);
  const notebooks = new Notebooks(tracker, () => undefined, '/srv');
  notebooks.isPinned = true;
  (tracker as { currentWidget: unknown }).currentWidget = b;
  expect(notebooks.front?.path).toBe('a.ipynb');
  expect(
    notebooks.isInFront({ kernel_id: null, notebook: '/srv/a.ipynb' })
  ).toBe(true);
  expect(notebooks.isInFront({ kernel_id: 'k-b.ipynb', notebook: null })).toBe(
    false
  );
  notebooks.isPinned = false;
  expect(notebooks.front?.path).toBe('b.ipynb');
});

it.each([
  ['/srv/work/a.ipynb', '/srv', 'work/a.ipynb'],
  ['/elsewhere/a.ipynb', '/srv', null],
  ['/srvother/a.ipynb', '/srv', null],
  ['/home/ada/work/b/a.ipynb', '~/work', 'b/a.ipynb'],
  ['a.ipynb', '/srv', 'a.ipynb'],
  [null, '/srv', null]
])('finds where %s is from %s', (recorded, root, path) => {
  expect(openPath(recorded, root)).toBe(path);
});

it('says the essential first', () => {
  const death = {
    recording: 'r1',
    kernel_id: 'k1',
    notebook: '/srv/orders.ipynb',
    headline: 'The kernel of this notebook ran out of memory in cell [3].',
    brief: 'Out of memory in cell [3]: `pd.read_csv("<b>")`',
    watched_after_restart: true
  };
  expect(deathMessage(trans, death)).toBe(
    'Out of memory in cell [3]: “pd.read_csv("<b>")” (orders.ipynb)'
  );
  expect(deathMessage(trans, { ...death, brief: null })).toBe(
    `The kernel of orders.ipynb died: ${death.headline}`
  );
});
