import { ApiError } from '../api';
import { timestamp } from '../format';
import { dayTimeline } from './day';
import { fix, OLD, report, row } from './fixtures';
import {
  all,
  click,
  dispose,
  IServerState,
  settled,
  show,
  text
} from './harness';

afterEach(dispose);

it('tells the whole story in order', async () => {
  await show({});
  expect(all('h2').map(node => node.textContent)).toEqual([
    'The kernel ran out of memory in cell [8].'
  ]);
  expect(all('h3').map(node => node.textContent)).toEqual([
    'Where',
    'What to change',
    'Why we think so'
  ]);
  expect(text()).toContain('cause proven');
  expect(text()).toContain('Linux counted one out-of-memory kill.');
  expect(text()).toContain('memory.events: 4.0 GiB');
  expect(all('details')[0].textContent).toBe(
    '1 cause ruled outNobody stopped it by hand.'
  );
  expect(all('.jp-mod-culprit').map(node => node.textContent)).toEqual([
    '    losses.append(loss)'
  ]);
});

it('draws of a day what is seen first, and no more', async () => {
  await show({ report: report({ timeline: dayTimeline() }) });
  expect(all('figure svg *').length).toBeGreaterThan(10);
  expect(all('figure svg *').length).toBeLessThan(80);
});

it('says that the cell has killed a kernel before', async () => {
  const again = 'This cell has killed the kernel once before.';
  await show({ report: report({ recurrence: { text: again, deaths: [] } }) });
  expect(text()).toContain(again);
});

it('shows what a recording holds as text, never as markup', async () => {
  const nasty = '<img src=x onerror="window.hacked=1">\u001b[31m\u0000';
  await show({
    rows: [row(), row({ recording: 'r0', headline: nasty, notebook: nasty })],
    report: report({
      headline: nasty,
      story: nasty,
      notebook: nasty,
      ruled_out: [nasty],
      end: {
        kind: 'exit',
        signal: null,
        exit_code: 3,
        summary: nasty,
        seen: true
      },
      cell: {
        execution_count: 8,
        cell_id: 'c8',
        source: nasty,
        truncated: false,
        line: 1,
        line_source: nasty
      },
      causes: [
        {
          ...report().causes[0],
          id: 'oom-cgroup',
          confidence: 1,
          certainty: 'proven',
          general: false,
          title: nasty,
          evidence: [
            {
              text: nasty,
              value: nasty,
              unit: nasty,
              source: nasty,
              certainty: 'proven'
            }
          ]
        }
      ],
      fixes: [
        fix({
          title: nasty,
          why: nasty,
          snippet: nasty,
          edits: [
            {
              execution_count: 8,
              cell_id: 'c8',
              old_source: OLD,
              new_source: nasty,
              diff: `@@ -1 +1 @@\n+${nasty}`
            }
          ]
        })
      ]
    })
  });
  expect(all('img')).toEqual([]);
  expect(all('h2')[0].textContent).toContain('<img src=x onerror=');
  expect(all('.jp-KernelDoctor-code')[0].textContent).toContain('␛[31m␀');
  // eslint-disable-next-line no-control-regex
  expect(text()).not.toMatch(/[\u0000\u001b]/);
});

it('sets code in a sentence as code', async () => {
  await show({ report: report({ headline: 'It crashed on `f(<b>)` there.' }) });
  expect(all('h2')[0].textContent).toBe('It crashed on f(<b>) there.');
  expect(all('h2 code')[0].textContent).toBe('f(<b>)');
});

it('does not claim to be sure of what is unknown', async () => {
  await show({
    report: report({ cause: 'unknown', certainty: 'weak', cell: null })
  });
  expect(all('.jp-mod-sure')).toEqual([]);
  expect(text()).toContain('No cell was running');
});

it('does not say how sure it is of how the kernel ended: that is a fact', async () => {
  const usual_reasons = [{ text: 'It may be `a`.', check: 'print(a)' }];
  const not_known = 'Why is not known.';
  const causes = [{ ...report().causes[0], not_known, usual_reasons }];
  await show({ report: report({ cause: 'segfault', general: true, causes }) });
  expect(all('.jp-mod-sure')).toEqual([]);
  expect(text()).toContain('Why is not known.');
  expect(text()).toContain('It may be a.Check: print(a)');
});

it('knows an end that nobody saw only as not earlier than it was last seen', async () => {
  const end = { ...report().end, seen: false };
  const started = '2026-11-21T14:02:11Z';
  const cells = [{ execution_count: 8, start_s: 20, end_s: null }];
  const timeline = {
    ...{ started, cells, limit: null, death_s: 57 },
    samples: { t_s: [0, 57], memory_bytes: [1e8, 2e8] }
  };
  await show({ report: report({ end, timeline }) });
  expect(all('time')[0].textContent).toBe(
    `last seen ${timestamp(report().ended!)}, after at least 37 s in the cell`
  );
});

it('does not say what ran when nobody recorded the end', async () => {
  const end = { ...report().end, seen: false };
  await show({ report: report({ cause: 'unknown', cell: null, end }) });
  expect(text()).toContain('It is not known which cell');
  expect(text()).not.toContain('No cell was running');
});

it('does not ask where a kernel was that never started', async () => {
  const [cause] = report().causes;
  const causes = [{ ...cause, id: 'startup-failure', family: 'start' }];
  await show({
    report: report({ cause: 'startup-failure', causes, cell: null })
  });
  expect(text()).not.toContain('No cell was running');
});

it('shows no death for a kernel that lives', async () => {
  const { model } = await show({
    report: report({ state: 'running', cell: null })
  });
  await model.open('r1');
  await settled();
  expect(all('.jp-mod-sure')).toEqual([]);
  expect(all('h3').map(node => node.textContent)).not.toContain('Where');
});

it('says how to watch the restarted kernel, until that was done', async () => {
  const magic = report({ loaded_by: 'magic' });
  await show({ report: magic });
  expect(text()).toContain('The restarted kernel is not recorded');
  dispose();
  const alive = row({
    recording: 'r2',
    started: '2026-11-21T14:05:00Z',
    ended: null,
    state: 'running'
  });
  await show({ report: magic, rows: [alive, row()] });
  expect(text()).not.toContain('The restarted kernel is not recorded');
});

it('says of a kernel that loaded nothing how more can be known', async () => {
  const cell = { ...report().cell!, line: null };
  await show({ report: report({ loaded_by: 'server', cell }) });
  expect(text()).toContain('%load_ext kerneldoctor in a Python kernel');
  expect(text()).not.toContain('The restarted kernel is not recorded');
});

it('lists earlier deaths and shows one on a click', async () => {
  const earlier = row({ recording: 'r0', headline: 'Two OpenMP runtimes.' });
  const { model } = await show({ rows: [row(), earlier] });
  await click(all('.jp-KernelDoctor-cases button')[0].textContent!);
  expect(model.view).toMatchObject({ report: { recording: 'r0' } });
  expect(text()).toContain('Other deaths');
});

it('explains what to do when there is nothing yet', async () => {
  await show({ rows: [] });
  expect(text()).toContain('No kernel has died');
  expect(text()).toContain('%load_ext kerneldoctor');
});

it.each([
  ['unreachable', 'The server does not answer'],
  ['not-installed', 'Kernel Doctor is missing on the server'],
  ['deleted', 'This post-mortem is gone']
] as const)('explains %s', async (failure, title) => {
  await show({ error: new ApiError(failure, 'raw details') });
  expect(all('[role=alert] h2')[0].textContent).toBe(title);
  expect(text()).not.toContain('raw details');
});

it('tries again', async () => {
  const state: IServerState = { error: new ApiError('failed', 'boom') };
  await show(state);
  expect(text()).toContain('boom');
  state.error = undefined;
  await click('Try again');
  expect(text()).toContain('The kernel ran out of memory');
});
