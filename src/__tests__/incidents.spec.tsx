import { incident, report, row, survivor } from './fixtures';
import { all, click, dispose, show, text } from './harness';

afterEach(dispose);

it('shows what a living kernel survived like a death', async () => {
  const first = incident({ headline: 'The disk was full in cell [2].' });
  await show({
    rows: [
      row({ state: 'survived', ended: null, survived: incident().headline })
    ],
    report: report(survivor([first, incident()]))
  });
  expect(all('h2')[0].textContent).toBe(incident().headline);
  expect(text()).toContain('strong evidence');
  expect(text()).toContain('Survived, still running');
  expect(all('time')).toHaveLength(1);
  expect(all('h3').map(node => node.textContent)).toEqual([
    'Where',
    'Survived before'
  ]);
  expect(text()).toContain('The disk was full in cell [2].');
  expect(text()).toContain('torch.OutOfMemoryError');
});

it('says how sure it is of the error before a shutdown, and tells that once', async () => {
  const error = incident({ headline: 'Memory was refused.' });
  const ended = {
    kind: 'shutdown' as const,
    summary: 'MemoryError, then shut down'
  };
  const before = report();
  await show({
    report: report({
      state: 'ended',
      end: { ...before.end, ...ended },
      cause: 'ordinary-end',
      headline: 'Memory was refused. The kernel was shut down later.',
      incidents: [error]
    })
  });
  expect(text()).toContain('strong evidence');
  expect(text()).toContain('MemoryError, then shut down');
  expect(text()).not.toContain('Survived before');
  // The cell in which it went wrong is shown, as of a kernel that died.
  expect(all('h3').map(node => node.textContent)).toEqual([
    'Where',
    'What to change',
    'Why we think so'
  ]);
});

it('says what to free first in a kernel that has hardly any memory left', async () => {
  const full = { ...survivor([incident()]), free_first: 'history.clear()' };
  await show({ report: report(full) });
  expect(text()).toContain('free it first: history.clear()');
});

it('shows the place and the fix of an error before a shutdown', async () => {
  const error = incident({ headline: 'Memory was refused.' });
  const headline = 'The kernel was shut down. Earlier: Memory was refused.';
  await show({
    report: report({ state: 'ended', headline, incidents: [error] })
  });
  const titles = all('h3').map(node => node.textContent);
  expect(titles).toContain('Where');
  expect(titles).toContain('What to change');
});

it('tells with a death what the kernel had survived', async () => {
  const many = Array.from({ length: 7 }, (_, i) =>
    incident({ headline: `Incident ${i}.` })
  );
  await show({ report: report({ incidents: many }) });
  expect(text()).toContain('Incident 6.');
  expect(text()).not.toContain('Incident 0.');
  await click('Show all 7');
  expect(text()).toContain('Incident 0.');
});

it('lists a kernel that is stuck, but none that was shut down or whose end is unknown', async () => {
  const alive = { ended: null, survived: 'The disk was full.' };
  const stuck = row({ ...alive, recording: 'r0', state: 'stuck' });
  const gone = row({ recording: 'r1', ended: null, state: 'unknown' });
  // Its sidecar was killed before: when it was shut down is not known.
  const shutDown = row({ recording: 'r2', ended: null, state: 'ended' });
  await show({ rows: [row(), stuck, gone, shutDown] });
  const earlier = all('.jp-KernelDoctor-cases button');
  expect(earlier).toHaveLength(1);
  expect(earlier[0].textContent).not.toContain('Survived');
});

it('lists what other kernels survived', async () => {
  const other = row({
    recording: 'r0',
    state: 'ended',
    headline: 'The kernel was shut down, as requested.',
    survived: 'The disk was full in cell [2].'
  });
  await show({ rows: [row(), other] });
  expect(all('.jp-KernelDoctor-cases button')[0].textContent).toContain(
    'Survived: The disk was full in cell [2].'
  );
});
