import { Signal } from '@lumino/signaling';
import { IEnding } from '../rest';
import { IInspection } from '../rest';
import { Inspector } from '../inspector';
import { report, row } from './fixtures';
import { frame, inspection } from './inspections';
import { all, button, click, dispose, settled, show, text } from './harness';

afterEach(dispose);

const ASK = 'What is it doing?';
const living = row({
  recording: 'r2',
  started: '2026-11-21T14:05:00Z',
  ended: null,
  headline: 'The kernel is running.',
  state: 'running'
});
const stuckRow = row({ ...living, state: 'stuck' });
const running: IEnding = {
  kind: 'running',
  signal: null,
  exit_code: null,
  summary: '',
  seen: true
};

it('offers to ask the kernel of the notebook in front, also when nothing ever died', async () => {
  const { inspected } = await show({ rows: [living] });
  expect(text()).toContain('The kernel of train.ipynb is busy.');
  expect(text()).toContain('The kernel of train.ipynb has not died.');
  await click(ASK);
  expect(inspected).toEqual(['r2']);
});

it('asks only a kernel that runs a cell', async () => {
  const { panel } = await show({ rows: [living] });
  const { session, statusChanged } = panel.sessionContext;
  const change = async (status: string) => {
    Object.assign(session!.kernel!, { status });
    (statusChanged as Signal<unknown, string>).emit(status);
    await settled();
  };
  await change('idle');
  expect(button(ASK)).toBeUndefined();
  await change('busy');
  expect(button(ASK)).toBeDefined();
});

it('shows the cell with its line, each thread, the children', async () => {
  await show({ rows: [living] });
  await click(ASK);
  expect(text()).toContain('It has been in cell [8] for 25 s');
  expect(all('.jp-mod-culprit').map(node => node.textContent)).toEqual([
    '    lock.acquire()'
  ]);
  expect(all('.jp-KernelDoctor-threads h4').map(n => n.textContent)).toEqual([
    'The thread that runs the cells',
    'Child process 4711 (python), a copy of the kernel'
  ]);
  expect(text()).toContain('It waits for a lock or for another thread.');
  expect(all('.jp-KernelDoctor-stack')[0].textContent).toBe(
    'wait in cell [8], line 2lock.acquire()cell [8], line 3wait()'
  );
  expect(text()).toContain('40 MiB, 0.5 s of processor time');
  expect(text()).toContain('2 more threads belong to the kernel itself');
});

it('asks again, and dismisses the answer', async () => {
  const { inspected } = await show({ rows: [living] });
  await click(ASK);
  await click('Ask again');
  expect(inspected).toEqual(['r2', 'r2']);
  await click('Close');
  expect(all('.jp-KernelDoctor-threads')).toEqual([]);
  expect(button(ASK)).toBeDefined();
});

it('folds the functions of libraries, not those in cells', async () => {
  const [main] = inspection().threads;
  const library = Array.from({ length: 9 }, (_, i) => frame(`f${i}`, i, null));
  const frames = [...library, ...main.frames];
  await show({
    rows: [living],
    inspection: inspection({ threads: [{ ...main, frames }] })
  });
  await click(ASK);
  const [stack] = all('.jp-KernelDoctor-stack');
  expect(stack.textContent).toContain('f2 in selectors.py, line 2');
  expect(stack.textContent).not.toContain('f3');
  expect(stack.textContent).toContain('wait in cell [8]');
  await click('Show all 11 functions');
  expect(stack.textContent).toContain('f8');
});

it('says of an idle kernel that it waits for the next cell', async () => {
  const threads = inspection().threads.slice(1);
  await show({
    rows: [living],
    inspection: inspection({ cell: null, threads, children: [] })
  });
  await click(ASK);
  expect(text()).toContain('No cell is running.');
  expect(all('.jp-KernelDoctor-threads h4')).toEqual([]);
});

it('names a child process as far as it is known', async () => {
  const [child] = inspection().children;
  const nameless = { ...child, pid: 9, name: null, forked: false };
  await show({
    rows: [living],
    inspection: inspection({ children: [child, nameless] })
  });
  await click(ASK);
  const titles = all('.jp-KernelDoctor-threads h4').map(h => h.textContent);
  expect(titles.slice(-2)).toEqual([
    'Child process 4711 (python), a copy of the kernel',
    'Child process 9'
  ]);
});

it('shows code and names as text, never as markup', async () => {
  const nasty = '<img src=x onerror="window.hacked=1">\u001b[31m';
  const thread = {
    ...inspection().threads[0],
    ...{ main: false, name: nasty, doing: nasty, waits_in: nasty },
    frames: [frame(nasty, 1, nasty, { short_file: nasty })]
  };
  await show({
    rows: [living],
    inspection: inspection({ threads: [thread], no_stacks: nasty })
  });
  await click(ASK);
  expect(all('img')).toEqual([]);
  expect(text()).not.toContain('\u001b');
  expect(text()).toContain('<img src=x');
});

it.each([
  ['gone', 'is no longer running'],
  ['not-recorded', '%load_ext kerneldoctor'],
  ['no-answer', 'Ask again in a moment'],
  ['not-permitted', 'belongs to another user']
] as const)('explains %s', async (refused, explanation) => {
  await show({
    rows: [living],
    inspection: { refused, message: '', help: '' }
  });
  await click(ASK);
  expect(all('[role=alert]')[0].textContent).toContain(explanation);
});

it('a kernel without a living recording is not recorded', async () => {
  const { inspected } = await show({ rows: [row()] });
  await click(ASK);
  expect(all('[role=alert]')[0].textContent).toContain('is not recorded');
  expect(inspected).toEqual([]);
});

it('shows the report of a kernel that is stuck, with the button in it', async () => {
  const { cell } = inspection();
  const state = { rows: [living] };
  const { model } = await show({
    ...state,
    report: report({
      state: 'stuck',
      ended: null,
      end: running,
      cell: cell && { ...cell, truncated: false }
    })
  });
  await click(ASK);
  expect(text()).toContain('has not died');
  state.rows[0] = stuckRow;
  await model.refresh();
  await settled();
  expect(model.view).toMatchObject({ report: { recording: 'r2' } });
  expect(text()).toContain('cause proven');
  // The answer is still there, below the cell, which is shown only once.
  expect(all('.jp-KernelDoctor-live')).toHaveLength(1);
  expect(all('article .jp-KernelDoctor-live')).toHaveLength(1);
  expect(all('.jp-mod-culprit')).toHaveLength(1);
  expect(all('.jp-KernelDoctor-threads h4')).toHaveLength(2);
});

it('leads to the report of the stuck kernel from an older one', async () => {
  const { model } = await show({ rows: [living, row()] });
  await model.open('r1');
  expect(text()).not.toContain('seems to be stuck');
  dispose();
  const stuck = await show({ rows: [stuckRow, row()] });
  await stuck.model.open('r1');
  await settled();
  await click('Show why');
  expect(stuck.model.view).toMatchObject({ report: { recording: 'r2' } });
});

it('a late answer does not come back after it was dismissed', async () => {
  let answer: (said: IInspection) => void = () => undefined;
  const inspector = new Inspector({
    list: async () => [living],
    inspect: () => new Promise(resolve => (answer = resolve))
  });
  const target = { kernel_id: 'k1' };
  const pending = inspector.inspect(target);
  await new Promise(resolve => setTimeout(resolve));
  expect(inspector.stateOf(target)).toEqual({
    isPending: true,
    result: null
  });
  inspector.dismiss(target);
  answer(inspection());
  await pending;
  expect(inspector.stateOf(target)).toBeNull();
});

it('says so when the server fails', async () => {
  const inspector = new Inspector({
    list: () => Promise.reject(new Error('boom')),
    inspect: async () => inspection()
  });
  await inspector.inspect({ kernel_id: 'k1' });
  expect(inspector.stateOf({ kernel_id: 'k1' })?.result).toMatchObject({
    kind: 'error'
  });
});
