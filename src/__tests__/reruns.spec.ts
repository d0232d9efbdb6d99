import { NotebookActions } from '@jupyterlab/notebook';
import { ILive, ILiveFeed } from '../live';
import { Notebooks } from '../notebooks';
import { Reruns } from '../reruns';
import { OLD, openNotebook, report, trackerOf } from './fixtures';

it('counts the cells as they will be numbered', () => {
  const { panel } = openNotebook([
    { id: 'c1', source: '# Training', text: true },
    { id: 'c2', source: 'import torch' },
    { id: 'c3', source: ' ' },
    { id: 'c8', source: OLD },
    { id: 'c9', source: 'later()' }
  ]);
  const tracker = trackerOf(panel);
  const notebooks = new Notebooks(tracker, jest.fn(), '/srv/notebooks');
  const reruns = new Reruns(notebooks, {} as ILiveFeed);
  expect(reruns.lastCell(report())).toBe(2);
});

it('runs only what was changed and what failed in a kernel that lives', async () => {
  const run = jest.spyOn(NotebookActions, 'runCells').mockResolvedValue(true);
  const { panel } = openNotebook([
    { id: 'c2', source: 'import torch' },
    { id: 'c8', source: OLD }
  ]);
  const restartKernel = jest.fn();
  Object.assign(panel.sessionContext, { isReady: true, restartKernel });
  const notebooks = new Notebooks(
    trackerOf(panel),
    jest.fn(),
    '/srv/notebooks'
  );
  const reruns = new Reruns(notebooks, {} as ILiveFeed);
  const alive = report({ state: 'survived' });

  expect(reruns.changedCells(report())).toBeNull();
  expect(reruns.changedCells(alive)).toBe(1);
  await reruns.goOn(alive);

  expect(restartKernel).not.toHaveBeenCalled();
  expect(run.mock.calls[0][1]).toEqual([panel.content.widgets[1]]);
  expect(reruns.stateOf(alive)?.kind).toBe('lived');
  run.mockRestore();
});

describe('after the cells ran again', () => {
  const GIB = 1024 ** 3;
  const cell = (cell_id: string, peak: number, end_s: number | null) => ({
    cell_id,
    end_s,
    peak_bytes: end_s === null ? null : peak * GIB
  });
  const shown = (recording: string, cells: unknown[]) =>
    ({ kernel_id: 'k1', recording, cells, limit: { bytes: 4 * GIB } }) as ILive;

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('says at once that they lived, and the peak when the last of them is told of', async () => {
    jest.useFakeTimers();
    jest.spyOn(NotebookActions, 'runCells').mockResolvedValue(true);
    const { panel } = openNotebook([
      { id: 'c2', source: 'import torch' },
      { id: 'c8', source: OLD }
    ]);
    Object.assign(panel.sessionContext, {
      isReady: true,
      restartKernel: () => Promise.resolve()
    });
    const live = { shown: shown('r1', [cell('c8', 3, 5)]) };
    const notebooks = new Notebooks(
      trackerOf(panel),
      jest.fn(),
      '/srv/notebooks'
    );
    const reruns = new Reruns(notebooks, live as unknown as ILiveFeed);

    void reruns.start(report());
    await jest.advanceTimersByTimeAsync(3000);
    const unknown = { kind: 'lived', peak_bytes: null, limit_bytes: null };
    expect(reruns.stateOf(report())).toEqual(unknown);
    live.shown = shown('r2', []);
    await jest.advanceTimersByTimeAsync(7000);
    live.shown = shown('r2', [cell('c2', 1, 1), cell('c8', 2, null)]);
    await jest.advanceTimersByTimeAsync(3000);
    expect(reruns.stateOf(report())).toEqual(unknown);
    live.shown = shown('r2', [cell('c2', 1, 1), cell('c8', 2, 4)]);
    await jest.advanceTimersByTimeAsync(1000);

    expect(reruns.stateOf(report())).toEqual({
      kind: 'lived',
      peak_bytes: 2 * GIB,
      limit_bytes: 4 * GIB
    });
  });
});
