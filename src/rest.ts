/* Written by docs/rest_types.py from the server's own classes: change those. */

export type State =
  'died' | 'stuck' | 'survived' | 'running' | 'ended' | 'unknown';

export type Certainty =
  'proven' | 'strong' | 'likely' | 'possible' | 'weak';

export type Refusal =
  'gone' | 'not-recorded' | 'no-answer' | 'not-permitted';

/** One row of `GET kerneldoctor/recordings`. */
export interface IRecordingRow {
  survived?: string | null;
  cell_id?: string | null;
  started_by?: string | null;
  recording: string;
  kernel_id: string | null;
  pid: number | null;
  notebook: string | null;
  started: string;
  ended: string | null;
  cause: string;
  headline: string;
  state: State;
  died: boolean;
  loaded_by: 'startup' | 'magic' | 'server' | null;
}

/** How the process ended. */
export interface IEnding {
  kind: 'signal' | 'exit' | 'shutdown' | 'restart' | 'unknown' | 'running';
  signal: string | null;
  exit_code: number | null;
  /** A few words: "Killed by Linux at the container limit". */
  summary: string;
  /** False: it was not recorded, and `ended` is the last that is known of the kernel. */
  seen: boolean;
}

/** A kernel that the same cell ended before. */
export interface IEarlierDeath {
  recording: string;
  ended: string | null;
  cause: string;
  title: string;
  execution_count: number | null;
  /** The highest resident memory that was seen. */
  peak_bytes: number | null;
}

/** Earlier kernels that the same cell ended. */
export interface IRecurrence {
  text: string;
  /** Newest first. */
  deaths: IEarlierDeath[];
}

/** One fact: a sentence, the number in it, its unit, and where it was read. */
export interface IEvidence {
  text: string;
  value: number | string | null;
  unit: string | null;
  source: string | null;
  certainty: Certainty;
}

/** A usual reason for an end of which only the way is known, and the check that would tell. */
export interface IReason {
  text: string;
  /** A command or a line of code, with this user's names. */
  check: string;
}

/** A cause that fits, how sure that is, and the evidence for it. */
export interface ICause {
  id: string;
  family: string;
  confidence: number;
  certainty: Certainty;
  /** It only says how the kernel ended, and not why. */
  general: boolean;
  title: string;
  docs: string;
  evidence: IEvidence[];
  /** What a general cause leaves open. */
  not_known: string | null;
  usual_reasons: IReason[];
}

/** The cell that was running, and the line. */
export interface ICulprit {
  execution_count: number | null;
  cell_id: string | null;
  source: string;
  truncated: boolean;
  line: number | null;
  line_source: string | null;
}

/** A frame of the user's on the way from the cell that ran to the statement. */
export interface ICaller {
  execution_count: number | null;
  cell_id: string | null;
  line: number;
  /** null for the top level of a cell. */
  function: string | null;
  /** Of a module of the user's; null for a cell. */
  file: string | null;
}

/** The user's own innermost statement: in a function of another cell, too, or in a file beside the notebook. */
export interface IStatement {
  execution_count: number | null;
  cell_id: string | null;
  /** Its first line in the cell or file; `end_line` its last, null where that is not known. */
  line: number;
  end_line: number | null;
  source: string | null;
  /** `Encoder.forward`; null for the top level of a cell. */
  function: string | null;
  file: string | null;
  /** The frames from the cell that ran down to it. */
  via: ICaller[];
  /** The whole cell it stands in; null for a file. */
  cell_source: string | null;
}

/** An object that memory grew in, or that held much of it when the cell began. */
export interface IGrown {
  /** As the user would write it: `kept`, `self.seen`. */
  name: string;
  type: string | null;
  /** How many items a list, dict or the like had. */
  length: number | null;
  shape: number[] | null;
  dtype: string | null;
  /** null where nobody looked, and only the code shows that it keeps what grew. */
  bytes: number | null;
  /** How much of that was added while the cell ran; null where that is not known. */
  grew_bytes: number | null;
  /** "local of fit, cell [4]". */
  where: string | null;
  length_before: number | null;
  item_type: string | null;
  /** Whether it keeps PyTorch's graphs for gradients, which are not in `bytes`. */
  with_graph: boolean;
  /** Whether its items keep memory of a library's own, which is not in `bytes`. */
  unmeasured: boolean;
}

/** A change of one cell. */
export interface IEdit {
  execution_count: number | null;
  cell_id: string | null;
  old_source: string;
  new_source: string;
  diff: string;
}

/** What the fixed cell will need; "at-most" when the number comes from a peak that was cut off by the kill. */
export interface IExpectedPeak {
  low: number | null;
  high: number | null;
  basis: 'fitted' | 'estimated' | 'at-most';
}

/** A fix for this user's cells, with its numbers. */
export interface IFix {
  id: string;
  title: string;
  why: string;
  applicability: 'safe' | 'suggested' | 'advice';
  snippet: string | null;
  edits: IEdit[];
  explained_bytes: number | null;
  expected_peak_bytes: IExpectedPeak | null;
  docs: string;
}

/** Something that went wrong and that the kernel survived: a cause with its cell and time. */
export interface IIncident {
  id: string;
  family: string;
  confidence: number;
  certainty: Certainty;
  general: boolean;
  title: string;
  docs: string;
  evidence: IEvidence[];
  not_known: string | null;
  usual_reasons: IReason[];
  headline: string;
  kind: string;
  error: string;
  time: string | null;
  cell: ICulprit | null;
}

/** Two lists of equal length. */
export interface ISamples {
  t_s: number[];
  memory_bytes: (number | null)[];
}

/** A limit, with its name in words. */
export interface IDrawnLimit {
  source?: string | null;
  bytes: number;
  name: string;
}

/** When a cell ran; `end_s` is null where it was still running at the end. */
export interface IDrawnCell {
  execution_count: number | null;
  start_s: number;
  end_s: number | null;
}

/** What a chart of the memory needs. Times are seconds since `started`. */
export interface ITimeline {
  started: string | null;
  samples: ISamples;
  limit: IDrawnLimit | null;
  cells: IDrawnCell[];
  death_s: number | null;
}

/** What `GET kerneldoctor/recordings/{id}` answers. */
export interface IReport {
  recording: string;
  kernel_id: string | null;
  pid: number | null;
  notebook: string | null;
  /** The program that started the kernel: "papermill", "run_all.py". */
  started_by: string | null;
  started: string;
  ended: string | null;
  state: State;
  died: boolean;
  loaded_by: 'startup' | 'magic' | 'server' | null;
  no_stacks: string | null;
  end: IEnding;
  cause: string;
  confidence: number;
  certainty: Certainty;
  general: boolean;
  headline: string;
  story: string | null;
  memory_shape: string | null;
  recurrence: IRecurrence | null;
  causes: ICause[];
  ruled_out: string[];
  cell: ICulprit | null;
  /** A cell queued behind it, where it is not known which of them was running. */
  other_cells: ICulprit[];
  statement: IStatement | null;
  grown: IGrown[];
  /** The most useful first, three at most. */
  fixes: IFix[];
  more_fixes: IFix[];
  /** Why no fixes were looked for. */
  fixes_left_out: string | null;
  /** Code that frees memory where a kernel lives with hardly any left. */
  free_first: string | null;
  /** Oldest first. */
  incidents: IIncident[];
  timeline: ITimeline | null;
}

/** The cell that is running now. */
export interface IRunningCell {
  execution_count: number | null;
  cell_id: string | null;
  source: string;
  line: number | null;
  line_source: string | null;
  running_s: number;
}

/** One function of a stack. */
export interface IFrame {
  file: string;
  short_file: string;
  /** In a cell: 1-based in its source. */
  line: number | null;
  function: string;
  in_cell: boolean;
  execution_count: number | null;
  /** The text of the line, in cells only. */
  code: string | null;
}

/** A thread of the kernel. */
export interface IThread {
  name: string | null;
  state: string | null;
  doing: string;
  waits_in: string | null;
  frames: IFrame[];
  thread_id: number;
  /** Whether it runs the cells. */
  main: boolean;
  /** Whether it belongs to the kernel itself or to KernelDoctor. */
  serves_the_kernel: boolean;
}

/** A child process of the kernel. */
export interface IChild {
  name: string | null;
  state: string | null;
  doing: string;
  waits_in: string | null;
  frames: IFrame[];
  pid: number;
  forked: boolean;
  rss_bytes: number | null;
  cpu_s: number | null;
}

/** What `POST kerneldoctor/recordings/{id}/inspect` answers. */
export interface IInspection {
  recording: string;
  kernel_id: string | null;
  pid: number;
  notebook: string | null;
  cell: IRunningCell | null;
  /** The main thread comes first. */
  threads: IThread[];
  children: IChild[];
  /** Why no Python functions can be shown, else null. */
  no_stacks: string | null;
  /** Where and why the kernel is stuck, in a sentence, else null. */
  stuck: string | null;
}

/** Why a kernel could not be inspected. */
export interface IInspectionRefusal {
  refused: Refusal;
  message: string;
  help: string;
}

/** A limit, with its name in words. */
export interface ILiveLimit {
  bytes: number;
  name: string;
}

/** The cell that is running now. */
export interface ILiveRunning {
  execution_count: number | null;
  cell_id: string | null;
  seq: number | null;
}

/** Whether a running kernel is recorded, and what it uses. */
export interface ILiveSummary {
  recording?: string;
  loaded_by?: 'startup' | 'magic' | 'server' | null;
  own_bytes?: number | null;
  limit?: ILiveLimit | null;
  used_bytes?: number | null;
  left_bytes?: number | null;
  reserved_bytes?: number | null;
  level?: 'ok' | 'low' | 'critical' | null;
  lasts_s?: number | null;
  running?: ILiveRunning | null;
  noted_mono_s?: number | null;
  kernel_id: string | null;
  is_recorded: boolean;
}

/** What a cell did to the memory. */
export interface ILiveCell {
  execution_count: number | null;
  start_s: number;
  end_s: number | null;
  cell_id: string | null;
  peak_bytes: number | null;
  took_bytes: number | null;
  kept_bytes: number | null;
  source: string;
  error: string | null;
}

/** A large variable. */
export interface ILiveVariable {
  name: string;
  type: string;
  bytes: number;
  shape: number[];
  items: number | null;
  device: string | null;
  /** Kept by IPython or a library, not by a variable. */
  hidden: boolean;
}

/** The largest variables, and the cell after which they were measured. */
export interface ILiveVariables {
  execution_count: number | null;
  objects: ILiveVariable[];
}

/** The child processes. */
export interface ILiveChildren {
  count: number;
  bytes: number | null;
}

/** A graphics card. */
export interface ILiveGpu {
  index: number;
  name: string | null;
  total_bytes: number | null;
  used_bytes: number | null;
  own_bytes: number | null;
}

/** Another kernel of this server below the same limit. */
export interface ILiveOther {
  kernel_id: string | null;
  bytes: number | null;
}

/** What is shown where the panel is open. */
export interface ILiveDetail {
  timeline: ITimeline;
  cells: ILiveCell[];
  variables: ILiveVariables | null;
  children: ILiveChildren | null;
  gpus: ILiveGpu[];
  others: ILiveOther[];
}

/** A cell that a trial would run. */
export interface ITrialCell {
  execution_count: number | null;
  is_changed: boolean;
}

/** What `GET kerneldoctor/recordings/{id}/trials/{fix}` answers: what a trial would run. */
export interface ITrialPlan {
  cells: ITrialCell[];
  /** "cells [1] to [4]" */
  cells_text: string;
  directory: string;
  /** The notebook's own directory where that is gone: then `directory` is the server's. */
  gone: string | null;
  copied_bytes: number;
  /** Links out of the directory, which the copy lacks. */
  left_out: string[];
  /** Null where the limit of the recorded kernel is not known. */
  limit_bytes: number | null;
  patience_s: number;
  python: string;
}

/** How far a trial is: the kernel is ready, a cell begins, a cell is over. */
export interface ITrialStep {
  what: 'started' | 'cell' | 'cell over';
  /** Which of the cells, from 1. */
  number: number;
  execution_count: number | null;
  how: 'ok' | 'error' | 'died' | 'cut off' | null;
  error: string | null;
  took_s: number;
  memory_bytes: number | null;
  limited_by: string;
}

/** What came of a trial. */
export interface ITrialOutcome {
  what: 'over';
  lived: boolean;
  /** A sentence or two. */
  text: string;
  kind: string;
  peak_bytes: number | null;
}

/** Why a fix cannot be tried, and what to do. */
export interface ITrialRefusal {
  what: 'refused';
  message: string;
  help: string;
}
