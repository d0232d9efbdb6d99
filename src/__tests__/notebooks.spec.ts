import { Notebooks } from '../notebooks';
import { edit, NEW, OLD, openNotebook, trackerOf } from './fixtures';

const place = { kernel_id: 'k1', notebook: '/srv/notebooks/work/train.ipynb' };
const cells = [
  { id: 'c7', source: 'import torch' },
  { id: 'c8', source: OLD }
];

function setUp(...open: ReturnType<typeof openNotebook>[]) {
  const activate = jest.fn();
  const tracker = trackerOf(...open.map(({ panel }) => panel));
  const notebooks = new Notebooks(tracker, activate, '/srv/notebooks');
  return { activate, notebooks };
}

it('knows the kernel of the notebook in front', () => {
  expect(setUp().notebooks.currentKernel).toBeNull();
  expect(setUp(openNotebook(cells)).notebooks.currentKernel).toEqual({
    kernel_id: 'k1',
    path: 'work/train.ipynb',
    status: 'busy'
  });
});

describe('finding the cell', () => {
  it('by the kernel, wherever the notebook lies now', () => {
    const { notebooks } = setUp(openNotebook(cells, 'moved.ipynb', 'k1'));
    const ref = { cell_id: 'c8', source: OLD };
    expect(notebooks.cellState(place, ref)).toBe('ready');
    expect(notebooks.cellState(place, { ...ref, cell_id: 'x' })).toBe(
      'missing'
    );
  });

  it('by the path when the kernel is another one', () => {
    const { notebooks } = setUp(openNotebook(cells, 'work/train.ipynb', 'k2'));
    expect(notebooks.cellState(place, { cell_id: 'c8', source: '' })).toBe(
      'ready'
    );
  });

  it('not in a notebook that only ends alike', () => {
    const { notebooks } = setUp(openNotebook(cells, 'rain.ipynb', 'k2'));
    expect(notebooks.cellState(place, { cell_id: 'c8', source: '' })).toBe(
      'closed'
    );
  });

  it('not in a copy of the same name in another folder', () => {
    const copy = openNotebook(cells, 'train.ipynb', 'k2');
    const ref = { cell_id: 'c8', source: OLD };
    expect(setUp(copy).notebooks.cellState(place, ref)).toBe('closed');
    expect(setUp(copy).notebooks.apply(place, [edit()])).toBe('closed');
    expect(copy.document.cells[1].getSource()).toBe(OLD);
  });

  it.each([
    ['~/notebooks', 'work/train.ipynb', 'ready'],
    ['~/notebooks', 'train.ipynb', 'closed'],
    ['', 'work/train.ipynb', 'ready'],
    ['/', 'srv/notebooks/work/train.ipynb', 'ready'],
    ['/srv', 'work/train.ipynb', 'closed']
  ])('below the folder %s of the server: %s', (root, path, expected) => {
    const tracker = trackerOf(openNotebook(cells, path, 'k2').panel);
    const notebooks = new Notebooks(tracker, jest.fn(), root);
    const ref = { cell_id: 'c8', source: OLD };
    expect(notebooks.cellState(place, ref)).toBe(expected);
  });

  it('without an id: by its source, when only one cell has it', () => {
    const ref = { cell_id: null, source: OLD };
    expect(setUp(openNotebook(cells)).notebooks.cellState(place, ref)).toBe(
      'ready'
    );
    const twice = openNotebook([...cells, { id: 'c9', source: OLD }]);
    expect(setUp(twice).notebooks.cellState(place, ref)).toBe('missing');
  });

  it('goes to the line', async () => {
    const open = openNotebook(cells);
    const { notebooks, activate } = setUp(open);
    await notebooks.goTo(place, { cell_id: 'c8', source: OLD }, 2);
    const cell = open.panel.content.widgets[1];
    expect(activate).toHaveBeenCalledWith(open.panel.id);
    expect(open.panel.content.scrollToCell).toHaveBeenCalledWith(
      cell,
      'center'
    );
    expect(cell.editor?.setCursorPosition).toHaveBeenCalledWith({
      line: 1,
      column: 0
    });
  });
});

describe('applying a fix', () => {
  it('changes the cell, and undo brings it back', () => {
    const open = openNotebook(cells);
    const { notebooks } = setUp(open);
    expect(notebooks.apply(place, [edit()])).toBe('applied');
    const cell = open.document.cells[1];
    expect(cell.getSource()).toBe(NEW);
    cell.undo();
    expect(cell.getSource()).toBe(OLD);
    expect(notebooks.editState(place, [edit()])).toBe('ready');
  });

  it('refuses when the cell has changed since', () => {
    const open = openNotebook([{ id: 'c8', source: `${OLD}# mine` }]);
    const { notebooks } = setUp(open);
    expect(notebooks.apply(place, [edit()])).toBe('changed');
    expect(open.document.cells[0].getSource()).toBe(`${OLD}# mine`);
  });

  it('of two cells changes both or none', () => {
    const both = [
      edit({ cell_id: 'c7', old_source: 'import torch', new_source: 'pass' }),
      edit()
    ];
    const half = openNotebook([
      { id: 'c7', source: 'import torch' },
      { id: 'c8', source: 'changed' }
    ]);
    expect(setUp(half).notebooks.apply(place, both)).toBe('changed');
    expect(half.document.cells[0].getSource()).toBe('import torch');

    const whole = openNotebook(cells);
    expect(setUp(whole).notebooks.apply(place, both)).toBe('applied');
    expect(whole.document.cells.map(cell => cell.getSource())).toEqual([
      'pass',
      NEW
    ]);
  });

  it('leaves a read-only cell alone', () => {
    const open = openNotebook([{ id: 'c8', source: OLD, editable: false }]);
    expect(setUp(open).notebooks.apply(place, [edit()])).toBe('locked');
    expect(open.document.cells[0].getSource()).toBe(OLD);
  });

  it('leaves a read-only notebook alone', () => {
    const open = openNotebook(cells);
    Object.assign(open.panel.context.model, { readOnly: true });
    expect(setUp(open).notebooks.apply(place, [edit()])).toBe('locked');
    expect(open.document.cells[1].getSource()).toBe(OLD);
  });

  it('says when the notebook is not open or the cell is gone', () => {
    expect(setUp().notebooks.apply(place, [edit()])).toBe('closed');
    const other = openNotebook([{ id: 'c1', source: '' }]);
    expect(setUp(other).notebooks.apply(place, [edit()])).toBe('missing');
  });

  it('knows a cell without an id again after the change', () => {
    const open = openNotebook(cells);
    const { notebooks } = setUp(open);
    expect(notebooks.apply(place, [edit({ cell_id: null })])).toBe('applied');
  });
});
