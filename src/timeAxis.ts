import { ITimeline } from './api';

/** A stretch without a running cell that is drawn shorter than it was; in seconds since the kernel's start. */
export interface IGap {
  from: number;
  to: number;
  /** The seconds it takes on the axis. */
  drawn: number;
}

/** The shares of the time with running cells that a stretch without may take, and all of them together. */
const SHARE = 1 / 8;
const SHARE_OF_ALL = 1 / 4;
/** A chart needs a width, even if no cell took any time. */
const SHORTEST_S = 0.1;

/** Time as it is drawn: seconds in which cells ran, and little of those in which none did. */
export class TimeAxis {
  constructor(timeline: ITimeline) {
    this.gaps = idleGaps(timeline);
    let left_out = 0;
    this._starts = this.gaps.map(({ from, to, drawn }) => {
      const start = from - left_out;
      left_out += to - from - drawn;
      return start;
    });
    this.end = this.drawn(lastMoment(timeline));
  }

  readonly gaps: readonly IGap[];
  readonly end: number;

  /** Return where a moment is drawn. */
  drawn(t_s: number): number {
    const i = countUpTo(this.gaps.length, i => this.gaps[i].from, t_s) - 1;
    if (i < 0) {
      return t_s;
    }
    const { from, to, drawn } = this.gaps[i];
    return t_s < to
      ? this._starts[i] + ((t_s - from) * drawn) / (to - from)
      : this._starts[i] + drawn + t_s - to;
  }

  /** Return the moment that is drawn there. */
  time(at: number): number {
    const i = countUpTo(this._starts.length, i => this._starts[i], at) - 1;
    if (i < 0) {
      return at;
    }
    const { from, to, drawn } = this.gaps[i];
    const beyond = at - this._starts[i];
    return beyond < drawn
      ? from + (beyond * (to - from)) / drawn
      : to + beyond - drawn;
  }

  /** Where each gap is drawn. */
  private readonly _starts: readonly number[];
}

/** Return how many of these rising values are at most this: a day has hundreds of gaps, and each point asks. */
function countUpTo(
  count: number,
  value: (i: number) => number,
  most: number
): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(middle) <= most) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function idleGaps(timeline: ITimeline): IGap[] {
  const { cells } = timeline;
  const last = lastMoment(timeline);
  const idle: { from: number; to: number }[] = [];
  let busyUntil = 0;
  const add = (to: number) => {
    if (to > busyUntil) {
      idle.push({ from: busyUntil, to });
    }
  };
  cells.forEach((cell, i) => {
    add(cell.start_s);
    const end = cell.end_s ?? cells[i + 1]?.start_s ?? last;
    busyUntil = Math.max(busyUntil, end);
  });
  if (cells.length === 0) {
    return [];
  }
  add(last);
  const lengths = idle.map(({ from, to }) => to - from);
  const busy = last - lengths.reduce((sum, length) => sum + length, 0);
  const drawn = longest(lengths, Math.max(SHORTEST_S, busy));
  return idle
    .filter(({ from, to }) => to - from > drawn)
    .map(gap => ({ ...gap, drawn }));
}

/** Return how long a stretch without a cell is drawn at most, beside cells that ran for so long. */
function longest(lengths: number[], busy: number): number {
  let left = busy * SHARE_OF_ALL;
  const rising = [...lengths].sort((a, b) => a - b);
  for (const [i, length] of rising.entries()) {
    const share = left / (rising.length - i);
    if (length > share) {
      return Math.min(busy * SHARE, share);
    }
    left -= length;
  }
  return busy * SHARE;
}

export function lastMoment(timeline: ITimeline): number {
  const { t_s } = timeline.samples;
  const last = timeline.cells[timeline.cells.length - 1];
  return Math.max(
    timeline.death_s ?? 0,
    t_s[t_s.length - 1] ?? 0,
    last?.end_s ?? last?.start_s ?? 0,
    SHORTEST_S
  );
}
