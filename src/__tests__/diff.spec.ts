import { parseDiff } from '../diff';

it('reads the lines of a unified diff', () => {
  const lines = parseDiff('--- a\n+++ b\n@@ -1,2 +1,2 @@\n keep\n-old\n+new\n');
  expect(lines).toEqual([
    { kind: 'same', text: 'keep' },
    { kind: 'remove', text: 'old' },
    { kind: 'add', text: 'new' }
  ]);
});

it('takes a removed line that looks like a header for what it is', () => {
  const lines = parseDiff('--- a\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y');
  expect(lines).toEqual([
    { kind: 'remove', text: '-- x' },
    { kind: 'add', text: '++ y' }
  ]);
});

it('marks the gap between two hunks, and only there', () => {
  const lines = parseDiff('@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d');
  expect(lines.map(line => line.kind)).toEqual([
    'remove',
    'add',
    'gap',
    'remove',
    'add'
  ]);
});

it('keeps indentation and leaves out the note on the last newline', () => {
  const lines = parseDiff(
    '@@ -1 +1 @@\n-    x\n\\ No newline at end of file\n+\ty\n'
  );
  expect(lines).toEqual([
    { kind: 'remove', text: '    x' },
    { kind: 'add', text: '\ty' }
  ]);
});

it('finds nothing in what is no diff', () => {
  expect(parseDiff('')).toEqual([]);
  expect(parseDiff('hello\n+world')).toEqual([]);
});
