/* What `POST kerneldoctor/recordings/{id}/inspect` answers. */

/** One function of a stack, the innermost first. */
export interface IFrame {
  short_file: string;
  /** In a cell: 1-based in its source. */
  line: number | null;
  function: string;
  in_cell: boolean;
  execution_count: number | null;
  /** The line itself, of a cell only. */
  code: string | null;
}

interface IThreadState {
  name: string | null;
  /** As the rest of "It ...": "waits for a lock on a file". */
  doing: string;
  /** The function of Linux that it sleeps in. */
  waits_in: string | null;
  frames: IFrame[];
}

export interface IThread extends IThreadState {
  thread_id: number;
  /** It runs the cells. */
  main: boolean;
  /** The user did not start it. */
  serves_the_kernel: boolean;
}

export interface IChild extends IThreadState {
  pid: number;
  forked: boolean;
  rss_bytes: number | null;
  cpu_s: number | null;
}

export interface IRunningCell {
  execution_count: number | null;
  cell_id: string | null;
  source: string;
  line: number | null;
  line_source: string | null;
  running_s: number;
}

export interface IInspection {
  recording: string;
  kernel_id: string | null;
  notebook: string | null;
  cell: IRunningCell | null;
  /** The one that runs the cells comes first. */
  threads: IThread[];
  children: IChild[];
  /** Why no Python functions can be shown. */
  no_stacks: string | null;
}

/** Why a kernel could not be asked. */
export type Refusal = 'gone' | 'not-recorded' | 'no-answer' | 'not-permitted';

export interface IRefusal {
  refused: Refusal;
}

/**
 * Whether a thread is the user's to know of: it runs code of the user's, or of a library that the user called.
 *
 * The one that runs the cells always does while there is a cell, and else in a callback.
 */
export function isUserThread(thread: IThread, inCell: boolean): boolean {
  if (thread.main) {
    return inCell || thread.frames.some(frame => frame.in_cell);
  }
  return !thread.serves_the_kernel && thread.frames.length > 0;
}

/** The functions to show at first: the innermost, and all that stand in cells. */
export function shortStack(frames: IFrame[], few: number): IFrame[] {
  return frames.filter((frame, i) => i < few || frame.in_cell);
}
