/* What `POST kerneldoctor/recordings/{id}/inspect` answers. */

/** One function of a stack. */
export interface IFrame {
  short_file: string;
  /** In a cell: 1-based in its source. */
  line: number | null;
  function: string;
  in_cell: boolean;
  execution_count: number | null;
  /** The text of the line, in cells only. */
  code: string | null;
}

interface IThreadState {
  name: string | null;
  /** As the rest of "It ...": "waits for a lock on a file". */
  doing: string;
  /** The Linux kernel function in which it sleeps. */
  waits_in: string | null;
  frames: IFrame[];
}

export interface IThread extends IThreadState {
  thread_id: number;
  /** Whether it runs the cells. */
  main: boolean;
  /** Whether it belongs to the kernel itself or to KernelDoctor. */
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
  /** The main thread comes first. */
  threads: IThread[];
  children: IChild[];
  /** Why no Python functions can be shown, else null. */
  no_stacks: string | null;
}

/** Why a kernel could not be inspected. */
export type Refusal = 'gone' | 'not-recorded' | 'no-answer' | 'not-permitted';

export interface IRefusal {
  refused: Refusal;
}

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
