import { IFrame, IThread } from './rest';

/**
 * Whether a thread runs code of the user, or of a library that the user called.
 *
 * The main thread does while a cell runs, and otherwise only in a callback.
 */
export function isUserThread(thread: IThread, inCell: boolean): boolean {
  if (thread.main) {
    return inCell || thread.frames.some(frame => frame.in_cell);
  }
  return !thread.serves_the_kernel && thread.frames.length > 0;
}

/** Return the functions to show first: the innermost, and all in cells. */
export function shortStack(frames: IFrame[], few: number): IFrame[] {
  return frames.filter((frame, i) => i < few || frame.in_cell);
}
