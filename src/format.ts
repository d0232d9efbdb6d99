import { TranslationBundle } from '@jupyterlab/translation';
import { Certainty, IEvidence, IExpectedPeak } from './api';

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Return "500 MiB", "2.4 GiB", rounded as in the server's sentences. */
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

/** Return how sure a cause is, as the server's reports say it. */
export function certainty(trans: TranslationBundle, word: Certainty): string {
  switch (word) {
    case 'proven':
      return trans.__('cause proven');
    case 'strong':
      return trans.__('strong evidence');
    case 'likely':
      return trans.__('cause likely');
    case 'possible':
      return trans.__('cause possible');
    case 'weak':
      return trans.__('weak evidence');
  }
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
  if (whole < 3600 && whole % 60 === 0) {
    return trans.__('%1 min', whole / 60);
  }
  if (whole < 3600) {
    return trans.__('%1 min %2 s', Math.floor(whole / 60), whole % 60);
  }
  const minutes = Math.floor(whole / 60);
  return trans.__('%1 h %2 min', Math.floor(minutes / 60), minutes % 60);
}

/** Return "1:40 PM", with the day before it unless that is today, where the user lives; what is no date as it is. */
export function timestamp(when: Date | string): string {
  const date = new Date(when);
  if (Number.isNaN(date.getTime())) {
    return String(when);
  }
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday
    ? date.toLocaleTimeString([], { timeStyle: 'short' })
    : date.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

/** Return a sentence with its times as `timestamp` gives them: "last at 2026-11-19 14:03 UTC". */
export function inLocalTime(text: string): string {
  return text.replace(
    /(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC/g,
    (_, day, time) => timestamp(`${day}T${time}Z`)
  );
}

/** Return "cell [8]", or "the cell" for one without a number. */
export function cellName(
  trans: TranslationBundle,
  count: number | null
): string {
  return count === null ? trans.__('the cell') : trans.__('cell [%1]', count);
}

export function fileName(path: string): string {
  return path.split('/').pop() || path;
}

/** Return the source of a piece of evidence, and its number where the text does not have it. */
export function sourceNote(
  trans: TranslationBundle,
  { text, value, unit, source }: IEvidence
): string {
  const number = amount(value, unit);
  const isRepeated =
    text.toLowerCase().includes(number.toLowerCase()) ||
    text.includes(String(value));
  return [sourceName(trans, source), isRepeated ? '' : number]
    .filter(Boolean)
    .join(': ');
}

/** Return the name of a source; those named after our own files get a plain one. */
function sourceName(
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

/** Return "1.5 GiB", "2 processes", "line 2". */
function amount(value: IEvidence['value'], unit: string | null): string {
  if (unit === 'line') {
    return `${unit} ${value}`;
  }
  if (typeof value !== 'number') {
    return [value, unit].filter(Boolean).join(' ');
  }
  return unit === 'bytes'
    ? bytes(value)
    : [value.toLocaleString(), unitFor(unit, value)].filter(Boolean).join(' ');
}

/** Return the memory that the fixed cell will need; null when it is not known. */
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

/** Return the unit as it goes with the number: "1 process", "2 processes". */
function unitFor(unit: string | null, value: number): string | null {
  return value === 1 && unit
    ? unit.replace(/(?<=process)es$|(?<!s)s$/, '')
    : unit;
}
