import { ITimeline } from '../api';
import { dayTimeline } from './day';
import { chartData, zoomed } from '../chart';

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
  const { unit, data, limit, top, to } = chartData(timeline());
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
    })
  );
  expect(small.limit).toBeNull();
  expect(small.unit).toBe('MiB');
  expect(small.top).toBeGreaterThan(90);
  expect(small.top).toBeLessThan(120);
});

it('marks the death at the last memory that was seen', () => {
  expect(chartData(timeline()).death).toEqual({ at: 20.5, memory: 3 });
  expect(chartData(timeline({ death_s: null })).death).toBeNull();
});

it('draws a cell that never ended up to the end, as the fatal one', () => {
  const { bands } = chartData(timeline());
  expect(bands).toEqual([
    { label: '[5]', from: 1, to: 5, odd: false, fatal: false },
    { label: '[6]', from: 6, to: 20.5, odd: true, fatal: true }
  ]);
  const [, alive] = chartData(timeline({ death_s: null })).bands;
  expect(alive.fatal).toBe(false);
});

it('ends a cell whose end nobody saw where the next one begins', () => {
  const cells = [
    { execution_count: 5, start_s: 1, end_s: null },
    { execution_count: 6, start_s: 6, end_s: 7 }
  ];
  expect(chartData(timeline({ cells })).bands).toEqual([
    { label: '[5]', from: 1, to: 6, odd: false, fatal: false },
    { label: '[6]', from: 6, to: 7, odd: true, fatal: false }
  ]);
});

it('gives a short last cell room after hours of others', () => {
  const long = timeline({
    samples: { t_s: [0, 7190, 7200], memory_bytes: [9 * GIB, GIB, GIB] },
    cells: [
      { execution_count: 5, start_s: 0, end_s: 7190 },
      { execution_count: 6, start_s: 7190, end_s: null }
    ],
    death_s: 7200
  });
  const near = chartData(long);
  expect(near.from).toBe(7140);
  // What lies before it does not squeeze what is seen.
  expect(near.top).toBeLessThan(5);
  expect(chartData(long, [0, near.axis.end]).from).toBe(0);
});

it('draws hours in which no cell ran short, and knows what time is where', () => {
  const cells = [
    { execution_count: 5, start_s: 2, end_s: 10 },
    { execution_count: 6, start_s: 7190, end_s: null }
  ];
  const samples = { t_s: [0, 7200], memory_bytes: [GIB, GIB] };
  const { axis } = chartData(timeline({ cells, samples, death_s: 7200 }));
  expect(axis.gaps).toEqual([{ from: 10, to: 7190, drawn: 2.25 }]);
  expect(axis.end).toBe(22.25);
  for (const t_s of [0, 1, 10, 100, 7190, 7195]) {
    expect(axis.time(axis.drawn(t_s))).toBeCloseTo(t_s);
  }
});

it.each([
  [0.05, 1.5],
  [0.2, 10],
  [3, 1]
])(
  'gives cells of %s s most of the width, with pauses of %s s between them',
  (ran, paused) => {
    const cells = Array.from({ length: 12 }, (_, i) => ({
      execution_count: i + 1,
      start_s: paused + i * (ran + paused),
      end_s: (i + 1) * (ran + paused)
    }));
    const end = 12 * (ran + paused) + 600;
    const samples = { t_s: [0, end], memory_bytes: [GIB, GIB] };
    const { axis } = chartData(timeline({ cells, samples, death_s: null }));
    expect(12 * ran).toBeGreaterThan(0.75 * axis.end);
    expect(axis.drawn(end)).toBe(axis.end);
    // A short pause beside long cells is drawn as it was, beside one that is not.
    const lengths = axis.gaps.map(gap => Math.round(gap.to - gap.from));
    expect(lengths).toContain(600);
  }
);

it('finds its way through the hundreds of pauses of a day', () => {
  const { axis } = chartData(dayTimeline());
  const { t_s } = dayTimeline().samples;
  expect(axis.gaps.length).toBeGreaterThan(499);
  const [{ drawn }] = axis.gaps;
  expect(axis.end).toBeCloseTo(500 * 5 + axis.gaps.length * drawn);
  let last = -1;
  for (const t of t_s.filter(t => t < 85_000)) {
    expect(axis.drawn(t)).toBeGreaterThan(last);
    last = axis.drawn(t);
    expect(axis.time(last)).toBeCloseTo(t);
  }
});

it('takes of a day only what is seen of it, and where the curve comes from', () => {
  const day = dayTimeline();
  const end = chartData(day);
  const all = chartData(day, [0, end.axis.end]);
  expect([all.bands.length, all.data[0].length]).toEqual([500, 600]);
  expect(end.bands.length).toBeLessThan(20);
  expect(end.gaps.length).toBeLessThan(20);
  expect(end.data[0].length).toBeLessThan(30);
  expect(end.axis.drawn(end.data[0][0])).toBeLessThan(end.from);
  expect(end.axis.drawn(end.data[0][1])).toBeGreaterThanOrEqual(end.from);
});

it('zooms into what is there', () => {
  const shown = chartData(timeline());
  expect(zoomed(shown, 0.5, 10)).toEqual([4.875, 15.125]);
  expect(zoomed(shown, 0.5, 20.5)).toEqual([10.25, 20.5]);
  expect(zoomed(shown, 2, 1)).toEqual([0, 20.5]);
  const [from, to] = zoomed(shown, 1e-9, 3);
  expect(to - from).toBeCloseTo(0.5);
});

it('survives a kernel of which nothing was measured', () => {
  const nothing = chartData(
    timeline({ samples: { t_s: [], memory_bytes: [] }, cells: [], death_s: 0 })
  );
  expect(nothing.to).toBeGreaterThan(nothing.from);
  expect(nothing.death).toEqual({ at: 0, memory: null });
});
