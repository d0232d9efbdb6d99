import {
  bytes,
  cellName,
  duration,
  expectedPeak,
  fileName,
  inLocalTime,
  sourceNote,
  timestamp
} from '../format';
import { IEvidence } from '../api';
import { trans } from './fixtures';

const GIB = 2 ** 30;

describe('bytes', () => {
  it.each([
    [0, '0 bytes'],
    [512, '512 bytes'],
    [1536, '1.5 KiB'],
    [53.4 * 2 ** 20, '53 MiB'],
    [2 ** 30, '1.0 GiB'],
    // Not "1024 MiB".
    [2 ** 30 - 1, '1.0 GiB'],
    [-(2 ** 31), '-2.0 GiB'],
    [3000 * 2 ** 40, '2.9 PiB']
  ])('writes %d as %s', (value, text) => {
    expect(bytes(value)).toBe(text);
  });
});

it.each([
  [0.014, '14 ms'],
  [2.43, '2.4 s'],
  [29.4, '29 s'],
  [59.7, '1 min'],
  [185, '3 min 5 s'],
  [7440, '2 h 4 min']
])('writes %d seconds as %s', (seconds, text) => {
  expect(duration(trans, seconds)).toBe(text);
});

it('writes the day of a time only where it is not today', () => {
  const now = new Date();
  const time = now.toLocaleTimeString([], { timeStyle: 'short' });
  expect(timestamp(now)).toBe(time);
  expect(timestamp('2020-11-22T12:20:59+01:00')).toMatch(/2020.*:20/);
});

it('gives the times in a sentence in the same way', () => {
  const at = '2020-11-19T14:03:00Z';
  expect(inLocalTime('It died 3 times, last at 2020-11-19 14:03 UTC.')).toBe(
    `It died 3 times, last at ${timestamp(at)}.`
  );
  expect(inLocalTime('It died on 2020-11-19.')).toBe('It died on 2020-11-19.');
});

it('shows what is no date as it is', () => {
  expect(timestamp('never')).toBe('never');
});

it('names a cell, with or without its number', () => {
  expect(cellName(trans, 8)).toBe('cell [8]');
  expect(cellName(trans, 0)).toBe('cell [0]');
  expect(cellName(trans, null)).toBe('the cell');
});

it('takes the file name of a path', () => {
  expect(fileName('/srv/notebooks/a b.ipynb')).toBe('a b.ipynb');
  expect(fileName('a.ipynb')).toBe('a.ipynb');
});

describe('the small print of an evidence line', () => {
  const nothing: IEvidence = {
    text: '',
    value: null,
    unit: null,
    source: null,
    certainty: 'strong'
  };
  const print = (evidence: Partial<IEvidence>) =>
    sourceNote(trans, { ...nothing, ...evidence });

  it.each<[string, Partial<IEvidence>]>([
    ['', {}],
    [
      'memory.max: 1.0 GiB',
      { value: GIB, unit: 'bytes', source: 'memory.max' }
    ],
    ['oom_kill: 0 → 1', { value: '0 → 1', source: 'oom_kill' }],
    ['0 kills', { value: 0, unit: 'kills' }],
    ['stack: line 2', { value: 2, unit: 'line', source: 'stack' }]
  ])('has the number with its unit, and where it was read: %s', (all, line) => {
    expect(print(line)).toBe(all);
  });

  it.each([
    ['It held 1.0 GiB at the end.', GIB, 'bytes', 'memory.max'],
    ['Line 2 was running.', 2, 'line', 'memory.max'],
    ['It was ended by SIGKILL.', 'SIGKILL', null, 'memory.max']
  ])('does not repeat what the line says: %s', (text, value, unit, source) => {
    expect(print({ text, value, unit, source })).toBe(source);
  });

  it.each([
    ['journal', 'recorded by KernelDoctor'],
    ['samples', 'measured by KernelDoctor'],
    ['/proc/4242/stat', 'exit status, read by KernelDoctor'],
    ['/proc/4242/maps', '/proc/4242/maps']
  ])('calls %s what it is', (source, name) => {
    expect(print({ source })).toBe(name);
  });
});

describe('the memory that a fixed cell will need', () => {
  it('is a range, and says when it is an estimate', () => {
    expect(
      expectedPeak(trans, { low: 2 * GIB, high: 2.5 * GIB, basis: 'fitted' })
    ).toBe('Expected peak: 2.0 GiB to 2.5 GiB.');
    expect(
      expectedPeak(trans, { low: GIB, high: GIB, basis: 'estimated' })
    ).toBe('Expected peak: 1.0 GiB, estimated.');
  });

  it('is never a bound shown as a number', () => {
    expect(
      expectedPeak(trans, { low: null, high: 2 * GIB, basis: 'at-most' })
    ).toBe('Expected peak: at most 2.0 GiB.');
  });

  it('is left out when it is not known', () => {
    expect(expectedPeak(trans, null)).toBeNull();
    expect(
      expectedPeak(trans, { low: null, high: null, basis: 'fitted' })
    ).toBeNull();
  });
});
