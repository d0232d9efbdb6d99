import { ITimeline } from './api';
import { IGap, lastMoment, TimeAxis } from './timeAxis';

/** A timeline ready to draw: one unit, the visible range, the height of the axis. */
export interface IChartData {
  unit: 'GiB' | 'MiB';
  axis: TimeAxis;
  /** Seconds since the kernel's start, and memory in `unit`; of the visible range only: a day has 500 cells. */
  data: [number[], (number | null)[]];
  /** The visible range, on the axis. */
  from: number;
  to: number;
  top: number;
  /** In `unit`; null when there is none, or when drawing it would flatten the curve. */
  limit: number | null;
  death: { at: number; memory: number | null } | null;
  bands: {
    label: string;
    from: number;
    to: number;
    odd: boolean;
    fatal: boolean;
  }[];
  gaps: readonly IGap[];
}

export type Range = [from: number, to: number];

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** Above this multiple of the highest sample, the limit is written and not drawn. */
const LIMIT_IN_VIEW = 4;

/** No closer look: samples are taken some ten times a second. */
const CLOSEST_S = 0.5;

/** Return what to draw of this range; by default of what is of interest. */
export function chartData(
  timeline: ITimeline,
  range: Range | null = null
): IChartData {
  const { t_s, memory_bytes } = timeline.samples;
  const axis = new TimeAxis(timeline);
  const last = lastMoment(timeline);
  const [from, to] = range ?? [startOfInterest(timeline, axis), axis.end];
  const drawn = t_s.map(time => axis.drawn(time));
  const seen = memory_bytes.filter(
    (memory, i): memory is number =>
      memory !== null && drawn[i] >= from && drawn[i] <= to
  );
  // The neighbours are needed, too: the curve comes from them.
  const isNear = (_: unknown, i: number) =>
    (drawn[i + 1] ?? to) >= from && (drawn[i - 1] ?? from) <= to;
  const isVisible = (one: { from: number; to: number }) =>
    axis.drawn(one.to) >= from && axis.drawn(one.from) <= to;
  const peak = Math.max(1, ...seen);
  const limit = timeline.limit?.bytes ?? null;
  const limitInView = limit !== null && limit <= peak * LIMIT_IN_VIEW;
  const high = limitInView ? Math.max(limit, peak) : peak;
  const scale = high >= GIB ? GIB : MIB;
  return {
    unit: scale === GIB ? 'GiB' : 'MiB',
    axis,
    data: [
      t_s.filter(isNear),
      memory_bytes
        .filter(isNear)
        .map(memory => (memory === null ? null : memory / scale))
    ],
    from,
    to,
    top: (high / scale) * 1.18,
    limit: limitInView ? limit / scale : null,
    death:
      timeline.death_s === null
        ? null
        : {
            at: timeline.death_s,
            memory: seen.length ? seen[seen.length - 1] / scale : null
          },
    bands: timeline.cells
      .map((cell, at, cells) => ({
        label: cell.execution_count === null ? '' : `[${cell.execution_count}]`,
        from: cell.start_s,
        // A cell without an end that another one follows has ended unseen.
        to: cell.end_s ?? cells[at + 1]?.start_s ?? last,
        odd: at % 2 === 1,
        fatal:
          cell.end_s === null &&
          at === cells.length - 1 &&
          timeline.death_s !== null
      }))
      .filter(isVisible),
    gaps: axis.gaps.filter(isVisible)
  };
}

/** Return where what is of interest starts: near the last cell, where that was a small part of the time. */
export function startOfInterest(timeline: ITimeline, axis: TimeAxis): number {
  const last = timeline.cells[timeline.cells.length - 1];
  const until = last?.end_s ?? lastMoment(timeline);
  const ran = last ? axis.drawn(until) - axis.drawn(last.start_s) : 0;
  const room = Math.max(60, 4 * ran);
  return axis.end > 1.5 * room ? axis.end - room : 0;
}

/** Return a range within the axis, of which this is the middle. */
export function zoomed(
  { from, to, axis }: IChartData,
  factor: number,
  middle: number
): Range {
  const width = Math.max(CLOSEST_S, (to - from) * factor);
  const start = Math.min(middle - width / 2, axis.end - width);
  return [Math.max(0, start), Math.min(axis.end, Math.max(0, start) + width)];
}

/** Return some four round numbers from 0 to below the top of the axis. */
export function ticks(top: number): number[] {
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough) ?? rough;
  const count = Math.floor(top / step + 1e-9);
  // Multiples of a tenth are not exact, and would be written in full.
  return Array.from(
    { length: count + 1 },
    (_, i) => +(i * step).toPrecision(6)
  );
}

/** Return the measurement nearest a time, and the cell that ran then. */
export function nearest(
  timeline: ITimeline,
  time: number
): { t_s: number; memory_bytes: number | null; cell: string } | null {
  const { t_s, memory_bytes } = timeline.samples;
  if (t_s.length === 0) {
    return null;
  }
  const i = t_s.reduce(
    (best, t, i) =>
      Math.abs(t - time) < Math.abs(t_s[best] - time) ? i : best,
    0
  );
  const cell = timeline.cells.find(
    ({ start_s, end_s }) => start_s <= t_s[i] && t_s[i] <= (end_s ?? Infinity)
  );
  return {
    t_s: t_s[i],
    memory_bytes: memory_bytes[i],
    cell:
      typeof cell?.execution_count === 'number'
        ? `[${cell.execution_count}]`
        : ''
  };
}
