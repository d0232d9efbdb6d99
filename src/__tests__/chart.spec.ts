import { ITimeline } from '../api';
import { chartData } from '../chart';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function timeline(change: Partial<ITimeline> = {}): ITimeline {
  return {
    started: '2026-11-21T14:02:11Z',
    samples: { t_s: [0, 10, 20], memory_bytes: [GIB, null, 3 * GIB] },
    limit: { bytes: 4 * GIB, name: 'container limit' },
    cells: [
      { execution_count: 5, start_s: 1, end_s: 5 },
      { execution_count: 6, start_s: 6, end_s: null }
    ],
    death_s: 20.5,
    ...change
  };
}

it('draws in GiB, with the limit in view', () => {
  const { unit, data, limit, top, to } = chartData(timeline(), false);
  expect(unit).toBe('GiB');
  expect(data).toEqual([
    [0, 10, 20],
    [1, null, 3]
  ]);
  expect(limit).toBe(4);
  expect(top).toBeGreaterThan(4);
  expect(to).toBe(20.5);
});

it('keeps a small kernel readable under a limit that is far away', () => {
  const small = chartData(
    timeline({
      samples: { t_s: [0, 10], memory_bytes: [80 * MIB, 90 * MIB] }
    }),
    false
  );
  expect(small.limit).toBeNull();
  expect(small.unit).toBe('MiB');
  expect(small.top).toBeGreaterThan(90);
  expect(small.top).toBeLessThan(120);
});

it('marks the death at the last memory that was seen', () => {
  expect(chartData(timeline(), false).death).toEqual({ at: 20.5, memory: 3 });
  expect(chartData(timeline({ death_s: null }), false).death).toBeNull();
});

it('draws a cell that never ended up to the end, as the fatal one', () => {
  const { bands } = chartData(timeline(), false);
  expect(bands).toEqual([
    { label: '[5]', from: 1, to: 5, fatal: false },
    { label: '[6]', from: 6, to: 20.5, fatal: true }
  ]);
  const [, alive] = chartData(timeline({ death_s: null }), false).bands;
  expect(alive.fatal).toBe(false);
});

it('ends a cell whose end nobody saw where the next one begins', () => {
  const cells = [
    { execution_count: 5, start_s: 1, end_s: null },
    { execution_count: 6, start_s: 6, end_s: 7 }
  ];
  expect(chartData(timeline({ cells }), false).bands).toEqual([
    { label: '[5]', from: 1, to: 6, fatal: false },
    { label: '[6]', from: 6, to: 7, fatal: false }
  ]);
});

it('gives a short last cell room after hours of nothing', () => {
  const long = timeline({
    samples: { t_s: [0, 7190, 7200], memory_bytes: [9 * GIB, GIB, GIB] },
    cells: [{ execution_count: 6, start_s: 7190, end_s: null }],
    death_s: 7200
  });
  const near = chartData(long, false);
  expect(near.from).toBe(7140);
  // What lies before it does not squeeze what is seen.
  expect(near.top).toBeLessThan(5);
  expect(chartData(long, true).from).toBe(0);
});

it('survives a kernel of which nothing was measured', () => {
  const nothing = chartData(
    timeline({ samples: { t_s: [], memory_bytes: [] }, cells: [], death_s: 0 }),
    false
  );
  expect(nothing.to).toBeGreaterThan(nothing.from);
  expect(nothing.death).toEqual({ at: 0, memory: null });
});
