export interface IDiffLine {
  kind: 'same' | 'add' | 'remove' | 'gap';
  text: string;
}

/** Return the lines of a unified diff, without the file names above the first hunk. */
export function parseDiff(diff: string): IDiffLine[] {
  const lines: IDiffLine[] = [];
  let inHunk = false;
  for (const line of diff.split('\n')) {
    if (line.startsWith('@@')) {
      if (inHunk) {
        lines.push({ kind: 'gap', text: '' });
      }
      inHunk = true;
    } else if (inHunk && line.startsWith('+')) {
      lines.push({ kind: 'add', text: line.slice(1) });
    } else if (inHunk && line.startsWith('-')) {
      lines.push({ kind: 'remove', text: line.slice(1) });
    } else if (inHunk && line.startsWith(' ')) {
      lines.push({ kind: 'same', text: line.slice(1) });
    }
  }
  return lines;
}
