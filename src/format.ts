import { TranslationBundle } from '@jupyterlab/translation';
import { IEvidence, IExpectedPeak } from './api';

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Two or three figures, rounded as in the sentences that the server writes. */
export function bytes(value: number): string {
  if (Math.abs(value) < 1024) {
    return `${value} bytes`;
  }
  let size = value / 1024;
  let unit = 0;
  // 1023.5 would be printed as 1024 of the smaller unit.
  while (Math.abs(size) >= 1023.5 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const whole = Math.abs(size) >= 99.95 || (unit < 2 && Math.abs(size) >= 9.95);
  return `${size.toFixed(whole ? 0 : 1)} ${UNITS[unit]}`;
}

/** A confidence of 0.996 is not certainty, so it is not shown as 100. */
export function percent(share: number): number {
  return share >= 1 ? 100 : Math.min(99, Math.round(share * 100));
}

export function duration(trans: TranslationBundle, seconds: number): string {
  if (seconds < 0.095) {
    return trans.__('%1 ms', Math.round(seconds * 1000));
  }
  if (seconds < 9.95) {
    return trans.__('%1 s', seconds.toFixed(1));
  }
  const whole = Math.round(seconds);
  if (whole < 60) {
    return trans.__('%1 s', whole);
  }
  if (whole < 3600) {
    return trans.__('%1 min %2 s', Math.floor(whole / 60), whole % 60);
  }
  const minutes = Math.floor(whole / 60);
  return trans.__('%1 h %2 min', Math.floor(minutes / 60), minutes % 60);
}

/** The time of day, with seconds. */
export function clock(when: Date): string {
  return when.toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit'
  });
}

/** The moment as one says it today: "today 13:40", "yesterday 09:02", "21 Nov 2026 18:30". */
export function moment(
  trans: TranslationBundle,
  when: Date,
  now: Date = new Date()
): string {
  const time = when.toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit'
  });
  const yesterday = new Date(now);
  yesterday.setDate(now.getDate() - 1);
  if (when.toDateString() === now.toDateString()) {
    return trans.__('today %1', time);
  }
  if (when.toDateString() === yesterday.toDateString()) {
    return trans.__('yesterday %1', time);
  }
  const day = when.toLocaleDateString(undefined, { dateStyle: 'medium' });
  return `${day} ${time}`;
}

/** "cell [8]"; a cell without a number is "the cell". */
export function cellName(
  trans: TranslationBundle,
  count: number | null
): string {
  return count === null ? trans.__('the cell') : trans.__('cell [%1]', count);
}

export function fileName(path: string): string {
  return path.split('/').pop() || path;
}

/** The small print under an evidence line: where it was read, and the number if the line does not say it. */
export function sourceNote(
  trans: TranslationBundle,
  { text, value, unit, source }: IEvidence
): string {
  const number = amount(value, unit);
  const said =
    text.toLowerCase().includes(number.toLowerCase()) ||
    text.includes(String(value));
  return [origin(trans, source), said ? '' : number].filter(Boolean).join(': ');
}

/** What has a name only among our own files is called by what it is. */
function origin(
  trans: TranslationBundle,
  source: string | null
): string | null {
  switch (source?.replace(/^\/proc\/\d+\//, '/proc/N/')) {
    case 'journal':
      return trans.__('recorded by KernelDoctor');
    case 'samples':
      return trans.__('measured by KernelDoctor');
    case 'pidfd':
    case 'PIDFD_GET_INFO':
    case '/proc/N/stat':
      return trans.__('exit status, read by KernelDoctor');
    default:
      return source;
  }
}

/** "1.5 GiB", "2 processes", "line 2". */
function amount(value: IEvidence['value'], unit: string | null): string {
  if (unit === 'line') {
    return `${unit} ${value}`;
  }
  if (typeof value !== 'number') {
    return [value, unit].filter(Boolean).join(' ');
  }
  return unit === 'bytes'
    ? bytes(value)
    : [value.toLocaleString(), named(unit, value)].filter(Boolean).join(' ');
}

/** The memory that the fixed cell will need; null when that is not known. */
export function expectedPeak(
  trans: TranslationBundle,
  peak: IExpectedPeak | null
): string | null {
  const low = peak?.low ?? peak?.high;
  const high = peak?.high ?? peak?.low;
  if (!peak || typeof low !== 'number' || typeof high !== 'number') {
    return null;
  }
  const range =
    bytes(low) === bytes(high)
      ? bytes(high)
      : trans.__('%1 to %2', bytes(low), bytes(high));
  switch (peak.basis) {
    case 'at-most':
      return trans.__('Expected peak: at most %1.', bytes(high));
    case 'estimated':
      return trans.__('Expected peak: %1, estimated.', range);
    case 'fitted':
      return trans.__('Expected peak: %1.', range);
  }
}

/** "1 process", "2 processes". */
function named(unit: string | null, value: number): string | null {
  return value === 1 && unit
    ? unit.replace(/(?<=process)es$|(?<!s)s$/, '')
    : unit;
}
