import { TrialNews } from '../trialClient';
import { ITrialPlan, ITrialStep } from '../rest';
import { all, button, click, dispose, show, text } from './harness';

afterEach(dispose);

const plan: ITrialPlan = {
  cells: [
    { execution_count: 7, is_changed: false },
    { execution_count: 8, is_changed: true }
  ],
  cells_text: 'cells [7] to [8]',
  directory: '/srv/notebooks',
  gone: null,
  copied_bytes: 3 << 20,
  left_out: [],
  limit_bytes: 2 ** 30,
  patience_s: 60,
  python: '/usr/bin/python3'
};

function step(more: Partial<ITrialStep>): ITrialStep {
  return {
    what: 'cell',
    number: 1,
    execution_count: 7,
    how: null,
    error: null,
    took_s: 0,
    memory_bytes: null,
    limited_by: '',
    ...more
  };
}

const news: TrialNews[] = [
  step({ what: 'started', number: 0, execution_count: null }),
  step({}),
  step({ what: 'cell over', how: 'ok', took_s: 0.5, memory_bytes: 80 << 20 }),
  step({ number: 2, execution_count: 8 })
];

it('says what a trial would run, and runs nothing before that is confirmed', async () => {
  await show({ plan, news });
  await click('Try it first');
  expect(text()).toContain(
    'cells [7] to [8] again, with the change in cell [8]'
  );
  expect(text()).toContain('a copy of /srv/notebooks (3.0 MiB)');
  expect(text()).toContain('at most 1.0 GiB of memory and 1 min of time');
  expect(text()).toContain('do again what they did');
  expect(all('progress')).toEqual([]);
  await click('Cancel');
  expect(text()).not.toContain('second kernel');
  expect(button('Try it first')).toBeDefined();
});

it('says that the directory of the notebook is gone', async () => {
  await show({ plan: { ...plan, gone: '/srv/deleted' }, news });
  await click('Try it first');
  expect(text()).toContain("Gonethe notebook's own directory, /srv/deleted");
});

it('shows how far a trial is, and stops it', async () => {
  await show({ plan, news });
  await click('Try it first');
  await click('Run them');
  expect(text()).toContain('cell [7]done, 0.5 s80 MiB');
  expect(text()).toContain('cell [8] runs (2 of 2)…');
  await click('Stop');
  expect(text()).toContain('Stopped. Its kernel and its files are removed.');
});

it('says what came of it, as text', async () => {
  const said = 'Lived: peak 0.6 GiB of 1.0 GiB <b>(before: killed)</b>.';
  await show({
    plan,
    news: [
      ...news,
      { what: 'over', kind: 'lived', lived: true, text: said, peak_bytes: 1 }
    ]
  });
  await click('Try it first');
  await click('Run them');
  expect(all('.jp-mod-lived')[0].textContent).toBe(said);
  await click('Try again');
  expect(button('Run them')).toBeDefined();
});

it('says why a fix cannot be tried', async () => {
  await show({
    plan: { what: 'refused', message: 'The cells are R.', help: 'Use Python.' }
  });
  await click('Try it first');
  expect(text()).toContain('The cells are R. Use Python.');
});
