/* Recordings have paths from the root of the disk, open notebooks from the server's folder. */

/** Compare a recorded path, from the root of the disk, with an open one, from the server's folder. */
export function samePath(
  recorded: string,
  open: string,
  root: string
): boolean {
  const path = `${root.replace(/\/+$/, '')}/${open}`;
  if (root.startsWith('/')) {
    return recorded === path;
  }
  // A folder below the user's home is given as `~/work`.
  return recorded === open || recorded.endsWith(path.replace(/^~/, ''));
}

/** Return a recorded path from the server's folder; null for a notebook outside of it. */
export function openPath(recorded: string | null, root: string): string | null {
  const folder = root.replace(/^~/, '').replace(/\/+$/, '') + '/';
  if (recorded === null || !recorded.startsWith('/')) {
    return recorded;
  }
  const at = root.startsWith('/') ? 0 : recorded.indexOf(folder);
  return at >= 0 && recorded.startsWith(folder, at)
    ? recorded.slice(at + folder.length)
    : null;
}
