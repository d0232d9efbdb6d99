import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { IRecordingRow } from '../api';
import { CulpritLine } from '../culpritLine';
import { CulpritMarks, IMark } from '../culpritMarks';
import { incident, OLD, report, row, survivor, trans } from './fixtures';

const REFUSED = incident({
  id: 'allocation-refused',
  family: 'memory',
  title: 'The process asked for memory and was refused',
  headline: 'Memory was refused in cell [8].'
});
const STUCK = incident({
  id: 'hang',
  family: 'stuck',
  title: 'The cell waits for something that will not come',
  headline: 'The kernel was stuck in cell [8].'
});

/** A notebook whose one cell is as it ran, and the lines below it. */
function marked(first: IRecordingRow) {
  const lines: { mark: IMark; close: () => void; line: Widget }[] = [];
  const cell = {
    model: { id: 'c8', sharedModel: { getSource: () => OLD } },
    node: document.createElement('div'),
    ready: new Promise(() => undefined),
    addClass: () => undefined,
    removeClass: () => undefined
  } as unknown as Cell;
  const panel = { content: { widgets: [cell] } } as unknown as NotebookPanel;
  const model = {
    cases: [first],
    changed: new Signal<never, void>({} as never)
  };
  new CulpritMarks(
    model,
    { find: () => [panel], changed: new Signal<never, void>({} as never) },
    async () =>
      report({
        ...survivor([{ ...REFUSED, headline: model.cases[0].survived! }])
      }),
    (mark, close) => {
      const line = new Widget();
      lines.push({ mark, close, line });
      return line;
    }
  );
  const now = async (next: IRecordingRow) => {
    model.cases = [next];
    model.changed.emit();
    await new Promise(resolve => setTimeout(resolve));
    return lines.filter(({ line }) => !line.isDisposed);
  };
  return now;
}

const survived = (headline: string, change: Partial<IRecordingRow> = {}) =>
  row({
    state: 'survived',
    headline,
    survived: headline,
    cell_id: 'c8',
    ...change
  });

afterEach(() => localStorage.clear());

it('marks the cell of an error that the kernel survived, and each such error anew', async () => {
  const now = marked(survived(REFUSED.headline));
  const [first] = await now(survived(REFUSED.headline));
  expect(first.mark.role).toBe('ran');
  first.close();
  expect(await now(survived(REFUSED.headline))).toEqual([]);
  const again = 'Memory was refused in cell [9].';
  expect(await now(survived(again))).toHaveLength(1);
});

it('marks it also after the kernel was ended as asked, but nothing for an ordinary end', async () => {
  const now = marked(survived(REFUSED.headline));
  const shut = `${REFUSED.headline} The kernel was shut down later.`;
  const ended = survived(REFUSED.headline, { state: 'ended', headline: shut });
  expect(await now(ended)).toHaveLength(1);
  const headline = 'The kernel was shut down, as requested.';
  expect(await now({ ...ended, headline })).toEqual([]);
  expect(await now({ ...ended, state: 'running', headline })).toEqual([]);
});

async function said(change: Parameters<typeof report>[0]): Promise<string> {
  const line = new CulpritLine(
    { report: report(change), role: 'ran' },
    trans,
    () => undefined,
    () => undefined
  );
  Widget.attach(line, document.body);
  await line.renderPromise;
  const text = line.node.textContent ?? '';
  line.dispose();
  return text;
}

it('says below the cell what went wrong in it', async () => {
  expect(await said(survivor([REFUSED]))).toContain(
    'Last time, this cell failed: The process asked for memory and was refused.'
  );
  expect(await said(survivor([STUCK]))).toContain(
    'Last time, this cell got stuck: The cell waits for something'
  );
  const ended = {
    state: 'ended' as const,
    cause: 'ordinary-end',
    headline: `${STUCK.headline} The kernel was restarted later, as requested.`,
    incidents: [STUCK]
  };
  expect(await said(ended)).toMatch(/this cell got stuck: .*Show the fix/);
  expect(await said({})).toContain(
    'this cell ended the kernel: Out of memory.'
  );
});

it('blames no cell for what came from outside', async () => {
  const [cause] = report({}).causes;
  const outside = {
    ...cause,
    id: 'killed-externally',
    family: 'outside',
    title: 'Ended from outside'
  };
  const text = await said({ cause: outside.id, causes: [outside] });
  expect(text).toBe(
    'Last time, the kernel ended while this cell ran: Ended from outside. Show why'
  );
});
