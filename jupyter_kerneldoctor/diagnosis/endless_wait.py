"""A cell that waits for ever: whether nobody is left who could wake it, how sure that is, and how it is told."""

import re

from jupyter_kerneldoctor.recording.events import Child

from .analysis.awaited_flags import awaited_flags
from .analysis.cluster_tasks import SCHEDULED_S, runs_a_task, wanted_resources
from .analysis.failed_children import failed_children
from .analysis.held_pipe import waits_for_the_background
from .analysis.last_look import written
from .analysis.lost_workers import WORKERS
from .analysis.own_copies import own_copy
from .analysis.stuck_cell import StuckCell
from .certainty import Certainty
from .code.endless_loops import makes_file
from .code.open_writes import open_write
from .code.timers import timers
from .death import Death
from .units import cell_name, quote, statement

_NOT_FOUND = re.compile(r"AttributeError: Can't get attribute '(\w+)' on <module '__main__'")
"""What a process that was started anew says of a function that is defined in a cell (multiprocessing/spawn.py)."""
_WIDGETS = re.compile(r"(?i:widget)|\b(?:ipyevents|jupyter_ui_poll|jupyter_rfb|ipycanvas|comm|on_click|observe)\b")
_ASKS_A_DATABASE = re.compile(r"\.(?:execute\w*|commit)\(")
_SWITCHED_OFF = re.compile(r"[(,]\s*0(?:\.0*)?\s*\)")
_HANDLES_A_SIGNAL = re.compile(r"\bsignal\s*\(\s*[\w.]*SIG(?!INT|TERM)|\badd_signal_handler\s*\(")

Judgement = tuple[Certainty, str]
"""How sure, and why: the rest of the headline."""


def judged(still: StuckCell, death: Death) -> Judgement | None:
    """Return how sure it is and why; None where somebody can still end the wait."""
    kind = still.main.kind
    if kind == "stopped":
        return Certainty.PROVEN, "the process was stopped, as by `kill -STOP` or a debugger"
    if failed := failed_workers(still):
        if (missing := _NOT_FOUND.search(written(still.recording))) is not None:
            why = f"its worker processes cannot find `{missing[1]}`, which only this notebook has"
            return Certainty.PROVEN, why
        how = "Linux has killed for memory" if any(one.oom_kills for one in failed) else "have failed"
        return Certainty.STRONG, f"it waits for worker processes that {how}"
    found = _of_a_failed_thread(still, death) or _of_what_is_seen(still, death) or _of_a_flag(still, death)
    found = found or _of_own_copies(still, death)
    if found is not None:
        return found
    if kind in ("program", "group", "file-lock", "partner", "cluster"):
        return _of_others(still)
    if still.main.needs_its_own_process and still.nobody_can_end_it and still.children_have_ended:
        return Certainty.LIKELY, "it reads from a connection whose other end is its own, and nothing there writes"
    if kind in ("memory", "running", "sleep", "input", "answer") or (kind == "event" and _may_be_clicked(still)):
        return None
    if kind == "disk":
        return Certainty.POSSIBLE, "it waits for a disk or a network drive that does not answer"
    if (again := death.lock_taken_again) is not None and still.nobody_can_end_it:
        return Certainty.STRONG, f"it awaits a lock that is not given back, as {again.told}"
    return None if still.main.has_a_timeout or _a_timer_runs(death) else _of_each_other(still)


def _may_be_clicked(still: StuckCell) -> bool:
    """Whether the notebook has widgets: an event may come from the browser."""
    return any(_WIDGETS.search(cell.source) for cell in still.recording.cells)


def _of_what_is_seen(still: StuckCell, death: Death) -> Judgement | None:
    """Judge a pool whose thread is gone, two that both send, a pipe that is held, and a database locked from here."""
    if waits_for_the_background(still):
        return Certainty.STRONG, "the program it ran has ended, and one that this left in the background has its pipe"
    if still.lost_its_results:
        return Certainty.STRONG, "a worker sent an error or a result that cannot be unpickled, and its pool gave up"
    if still.all_send:
        return Certainty.STRONG, "it and its child process both send, and neither reads what the other one sends"
    if still.main.kind == "sleep" and (write := _open_write(still, death)) is not None:
        told = f"the database is locked by another connection of this notebook, which wrote {write} and did not commit"
        return Certainty.LIKELY, told
    if still.main.kind == "sleep" and still.nobody_can_end_it and not (still.others or still.stuck.children):
        return _of_a_poll(death)
    return None


def _of_a_poll(death: Death) -> Judgement | None:
    """Judge a loop that sleeps until something changes, where nobody is left who could change it."""
    loop = death.endless_loop
    if loop is None or loop.kind not in ("polled", "file") or any(map(_HANDLES_A_SIGNAL.search, _texts(death))):
        return None
    if loop.kind == "polled":
        return Certainty.STRONG, f"{quote(loop.head)} asks for what only another thread could change, and there is none"
    failed = [one for one in death.recording.cells if one.error is not None]
    if not failed or not death.find(lambda code: makes_file(code, loop)):
        return None
    told = f"{quote(loop.head)} waits until a file is gone that this notebook makes itself"
    return Certainty.LIKELY, f"{told}, and {cell_name(failed[-1].execution_count)} failed before"


def _of_a_failed_thread(still: StuckCell, death: Death) -> Judgement | None:
    """Judge a wait, or a loop that looks again and again, for what a thread was to bring that has failed."""
    waits_for_good = still.main.kind == "lock" and not still.main.may_have_a_timeout
    looks_again = still.main.kind == "sleep" or still.main.has_a_timeout
    if not (waits_for_good or looks_again) or not still.nobody_can_end_it or not still.children_have_ended:
        return None
    if _handles_signals(still) or _a_timer_runs(death) or (failed := death.failed_thread) is None:
        return None
    told = f"it needs {quote(failed.awaited or '')}, and the thread of {failed.told(still.frames)}"
    return Certainty.STRONG if waits_for_good or _of_a_poll(death) is not None else Certainty.LIKELY, told


def _of_a_flag(still: StuckCell, death: Death) -> Judgement | None:
    """Judge a wait for threads that go round until a flag changes: who waits cannot change it."""
    flags = {one.flag: None for one in awaited_flags(still, death.find)}
    if not flags or _handles_signals(still) or _a_timer_runs(death):
        return None
    asked = " and ".join(map(quote, flags))
    return Certainty.STRONG, f"it waits for a thread that goes on until {asked} changes, and nobody is left to do that"


def _of_own_copies(still: StuckCell, death: Death) -> Judgement | None:
    """Judge a variable that is set in one process and asked in another, which has a copy of its own."""
    found = None if _handles_signals(still) or _a_timer_runs(death) else own_copy(still, death.find)
    if found is None:
        return None
    if found.asked_by_child:
        told = f"the process it waits for goes on until {quote(found.name)} changes"
        return Certainty.STRONG, f"{told}, and has a copy of its own, which nobody changes"
    return Certainty.STRONG, f"{quote(found.name)} is changed in a child process, which has a copy of its own"


def _texts(death: Death) -> list[str]:
    return [one.source for one in death.recording.cells]


def _open_write(still: StuckCell, death: Death) -> str | None:
    """Return where another connection to SQLite has written and not committed: SQLite sleeps while it is locked."""
    if not (_ASKS_A_DATABASE.search(still.main.code) and still.nobody_can_end_it):
        return None
    found = death.find(open_write)
    if found is None or found.text in still.main.code:
        return None
    return f"at {quote(statement(found.text))} ({death.code.cell_name(found.cell)})"


def _of_others(still: StuckCell) -> Judgement | None:
    """Judge a wait for what is no part of the kernel: a program, other processes, the holder of a file's lock."""
    if still.main.kind == "cluster":
        return _of_a_cluster(still)
    if still.main.kind == "program":
        asks = any(one.reads_terminal for one in still.stuck.children)
        return (
            (Certainty.STRONG, "the program it runs asks for an answer, and nobody can type one there")
            if asks
            else None
        )
    if still.main.kind == "group":
        told = "it waits for the other processes of its group, and it has started none"
        return None if still.stuck.children else (Certainty.LIKELY, told)
    if still.main.kind == "partner":
        is_own = any("mkfifo" in cell.source for cell in still.recording.cells) and still.nobody_can_end_it
        told = "it opens a named pipe, and no process that it started is there to open the other end"
        return (Certainty.LIKELY, told) if is_own else None
    if "lock" in (still.main.wchan or ""):
        return _of_a_files_lock(still)
    told = "it waits for a lock file, and no process that has one open is to be seen"
    return None if still.lock_file_is_held else (Certainty.LIKELY, told)


def _of_a_cluster(still: StuckCell) -> Judgement | None:
    """Judge a wait for tasks none of which runs: a scheduler waits for ever for a node that has what they need."""
    if still.lasted_s < SCHEDULED_S or runs_a_task(still.stuck.children):
        return None
    wanted = wanted_resources(still.recording, still.stuck.children)
    told = f"its tasks ask for {quote(wanted or '')}, and no process of its cluster has begun one"
    return None if wanted is None else (Certainty.LIKELY, told)


def _of_a_files_lock(still: StuckCell) -> Judgement | None:
    """Judge a wait for a lock that the system keeps: it is given back when its process ends, so somebody lives."""
    if still.main.wakers:
        return None
    if still.main.wakers is None:
        return Certainty.POSSIBLE, "it waits for a file that somebody has locked"
    return Certainty.STRONG, "it waits for a file that it has locked itself, through another handle"


def _of_each_other(still: StuckCell) -> Judgement | None:
    if still.main.kind in ("child", "pipe") and still.held_up_by_pipes:
        return _of_pipes(still)
    if not still.nobody_can_end_it:
        return None
    if still.waits_for_what_nobody_reads:
        return Certainty.STRONG, "nobody reads the queue of the processes it waits for"
    if still.blocked_by_each_other:
        sure = Certainty.STRONG if still.all_were_seen_to_wait else Certainty.LIKELY
        return sure, "its processes wait for each other"
    if still.main.needs_an_event and not _handles_signals(still):
        return Certainty.STRONG, "it awaits what no timer, no connection and no other task is left to bring"
    if still.main.kind == "lock" and (held := still.holder) is not None:
        return Certainty.PROVEN, f"a deadlock, as {held}"
    return _of_a_lock(still)


def _of_pipes(still: StuckCell) -> Judgement | None:
    """A pipe holds 64 KiB: who writes more must be read from, and `wait()` does not read (subprocess, Popen.wait)."""
    waits = (still.main, *(child.waiting for child in still.held_up_by_pipes))
    writing = any(one.writes_to_a_pipe for one in waits)
    if still.main.kind == "pipe":
        return Certainty.LIKELY, "it and the process at the pipe wait for each other"
    if writing:
        return Certainty.STRONG, "nobody reads the full pipe of the process it waits for"
    if not any("stdin" in cell.source for cell in still.recording.cells):
        return None  # a pipe that the code did not make: somebody else may write to it
    return Certainty.LIKELY, "the process it waits for reads a pipe, and nobody writes"


def _of_a_lock(still: StuckCell) -> Judgement | None:
    kind = still.main.kind
    if still.main.writes_to_a_pipe:
        return Certainty.LIKELY, "it has filled a pipe that nobody reads"
    if kind == "pipe" and not (still.stuck.children or still.main.works_with_processes):
        return None  # a pipe with a name in the file system may be written to by anybody
    if kind == "pipe" and still.main.works_with_processes and still.children_have_ended:
        return Certainty.STRONG, "no process is left to write to the pipe it reads"
    if kind == "pipe" or (kind == "child" and still.stuck.children):
        return Certainty.LIKELY, "it waits for data from a process that sends none"
    if kind != "lock":
        return None
    if still.has_idle_workers:
        return Certainty.LIKELY, "it waits for its worker processes, and these for work"
    if still.main.is_native:
        return Certainty.POSSIBLE, f"native code in {still.innermost()} waits for a thread that does nothing"
    if still.main.may_have_a_timeout and not still.others:
        return None
    is_open = still.main.is_guessed or still.main.may_have_a_timeout or _handles_signals(still)
    sure = Certainty.POSSIBLE if is_open else Certainty.STRONG
    if still.others:
        return sure, "it waits for another thread, which waits as well"
    return sure, "no thread can wake it"


def _a_timer_runs(death: Death) -> bool:
    """Whether the signal of a timer will come, which a handler may end the wait on."""
    started = death.find(timers) or ()
    return bool(started) and not _SWITCHED_OFF.search(started[-1].text)


def _handles_signals(still: StuckCell) -> bool:
    """Whether a signal may come that the code has a use for: who sends it, and when, is not known."""
    return any(_HANDLES_A_SIGNAL.search(cell.source) for cell in still.recording.cells)


def failed_workers(still: StuckCell) -> tuple[Child, ...]:
    """Return the workers that have ended badly, if the kernel waits for workers, and none is at work any more.

    A program that a cell runs may end with an error, as `grep` does where it finds nothing: that is no worker.
    """
    if not still.main.works_with_processes or still.children_at_work:
        return ()
    return tuple(one for one in failed_children(still.recording) if one.name is None or WORKERS.search(one.name))
