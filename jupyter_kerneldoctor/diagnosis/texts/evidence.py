"""Evidence that several causes give."""

import itertools
from collections.abc import Iterator
from pathlib import PurePath

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from ..analysis.last_words import quoted
from ..analysis.oom_log import OomKill
from ..analysis.statements import statement_name
from ..death import Death
from ..family import Family
from ..postmortem import Evidence, iso
from ..units import cell_name, duration, of_size, quote, sentence, signal_name, size
from .timeline import ran_s

CRASH_REPORT = "crash report of Python's faulthandler"

_SIGNALS = {
    "SIGKILL": "the signal that ends a program at once and cannot be caught",
    "SIGTERM": "the signal that asks a program to end",
    "SIGHUP": "the signal for a terminal or session that was closed",
    "SIGINT": "the signal of an interrupt",
    "SIGQUIT": "the signal of a quit key",
    "SIGSEGV": "the signal for an invalid memory address (segmentation fault)",
    "SIGABRT": "the signal with which a program ends itself after an error",
    "SIGBUS": "the signal for mapped memory whose file or storage is gone (bus error)",
    "SIGFPE": "the signal for an arithmetic error in machine code",
    "SIGILL": "the signal for an instruction the processor does not know",
    "SIGXCPU": "the signal for a program that has used up its processor time",
    "SIGXFSZ": "the signal for a file that grew beyond the size limit",
    "SIGALRM": "the signal of a timer that has run out",
    "SIGVTALRM": "the signal of a timer that counts the program's own processor time",
    "SIGPROF": "the signal of a profiler's timer",
    "SIGUSR1": "a signal that programs give a meaning of their own",
    "SIGUSR2": "a signal that programs give a meaning of their own",
    "SIGPIPE": "the signal for writing to a pipe that nobody reads",
    "SIGTRAP": "the signal of a stop for a debugger",
    "SIGSYS": "the signal for a system call that is not allowed",
    "SIGIO": "the signal that input is waiting",
    "SIGPWR": "the signal for a failing power supply",
}


def last_words(death: Death, cause: str) -> Iterator[Evidence]:
    """Yield the line that the process wrote before its end, if it names this cause."""
    words = death.said(cause) if death.is_unasked_end else None
    if words is not None:
        yield words.evidence


def standard(death: Death, family: Family) -> Iterator[Evidence]:
    """Yield what the answer to every unasked end shows: the crash report, the exit status, the cell that ran.

    Of a kernel that never started there is none of these, or the server told it.
    """
    if death.is_unasked_end and family != Family.START:
        yield from crash_report(death)
        yield from exit_status(death)
        yield from running_cell(death)


def exit_status(death: Death) -> Iterator[Evidence]:
    """Say how the process ended, who saw that, and whether the server saw the same."""
    status, returncode = death.status, death.recording.server.returncode
    if status.signal is not None:
        meaning = f", {_SIGNALS[status.signal]}" if status.signal in _SIGNALS else ""
        yield Evidence(f"The process was ended by {status.signal}{meaning}.", status.signal, None, status.source)
        agrees = returncode is not None and returncode < 0 and signal_name(-returncode) == status.signal
    elif status.exit_code is not None:
        yield Evidence(f"The process left with exit code {status.exit_code}.", status.exit_code, None, status.source)
        agrees = returncode == status.exit_code
    else:
        yield Evidence("The exit status is not known: nobody could read it.")
        return
    if agrees and status.source != "Jupyter server":
        yield Evidence("The Jupyter server saw the same status.", returncode, None, "exit status of the child process")


def counts_of_kills(death: Death) -> Iterator[Evidence]:
    """Say that the out-of-memory kill count of the kernel's container or session rose when it died, if it did."""
    kills = death.memory.kills
    if kills is None or not kills.oom_kills:
        return  # that it did not rise is an exclusion
    name = death.memory.group_name if death.memory.has_group_limit else None
    whose = "The" if name is None else f"{sentence(name)}'s"
    rose = f"rose from {kills.oom_kills_before} to {kills.oom_kills_after}"
    text = f"{whose} out-of-memory kill count {rose} when the kernel died."
    yield Evidence(text, kills.oom_kills, "processes", f"{PurePath(kills.source).name}: oom_kill")


def logged_kill(found: OomKill | None) -> Iterator[Evidence]:
    """Say what the system's log tells of a kill for memory."""
    if found is None:
        return
    held = "" if found.held_bytes is None else f", which held {size(found.held_bytes)},"
    why = {"cgroup": " at its memory limit", "machine": " because the machine had no memory left"}.get(found.scope, "")
    text = f"The system's log says that {found.service or 'Linux'} killed the kernel{held}{why}."
    yield Evidence(text, found.short, None, "system log")


def last_measurement(death: Death) -> Iterator[Evidence]:
    """Say what was in use of the limit that the kernel shares, and what it held itself, at the last measurement."""
    last = death.memory.last
    if last is None:
        return
    end = death.recording.end
    when = f", {duration(end.mono_s - last.mono_s)} before the end" if end and end.mono_s >= last.mono_s else ""
    when = when or " at the last measurement"
    if last.cgroup_bytes is not None and death.memory.has_group_limit and death.memory.limit_bytes:
        used = of_size(last.cgroup_bytes, death.memory.limit_bytes)
        name = death.memory.group_name
        using = f"Memory in use was {used}" if name is None else f"{sentence(name)} was using {used}"
        yield Evidence(f"{using}{when}.", last.cgroup_bytes, "bytes", "samples")
    if last.rss_bytes is not None:
        yield Evidence(f"The kernel process held {size(last.rss_bytes)}{when}.", last.rss_bytes, "bytes", "samples")


def running_cell(death: Death) -> Iterator[Evidence]:
    """Say which cell ran, for how long, and in which line it was last seen, where that is known."""
    cell, end = death.cell, death.recording.end
    if death.stopped_early:
        yield from recorder_gone(death)
    elif death.last_cell_is_unknown:
        yield from _last_seen(death)
    elif death.cell_may_be_unheard:
        missed = "This kernel had not loaded KernelDoctor, so a cell that ends it at once can be missed."
        yield Evidence(f"No cell was seen to run. {missed}", source="journal")
    elif cell is None:
        yield Evidence("No cell was running.", source="journal")
    elif not cell.finished and end is not None and end.mono_s >= cell.started_mono_s:
        took = duration(ran_s(death.recording, cell, end.mono_s))
        yield Evidence(f"{sentence(cell_name(cell.execution_count))} had been running for {took}.", source="journal")
        yield from line_seen_from_outside(death)
        yield from _queued(death)


def _queued(death: Death) -> Iterator[Evidence]:
    """Say that the next cell may have begun."""
    if death.cell is not None and death.next_cell is not None:
        before, after = (cell_name(cell.execution_count) for cell in (death.cell, death.next_cell))
        not_told = f"The kernel ended before it could tell whether {before} was over and {after} had begun."
        yield Evidence(f"{sentence(after)} was queued behind it. {not_told}", source="journal")


def _last_seen(death: Death) -> Iterator[Evidence]:
    """Say which cell ran when the recording broke off: others may have followed."""
    cell = death.recording.running_cell
    ran = "no cell" if cell is None else cell_name(cell.execution_count)
    text = f"{sentence(ran)} was running when the kernel was last seen. What ran after that is not known."
    yield Evidence(text, source="journal")


def line_seen_from_outside(death: Death) -> Iterator[Evidence]:
    """Say in which line the cell was when its stack was last read."""
    last, cell = death.last_stack, death.cell
    if last is None or cell is None:
        return
    code = cell.source.split("\n")[last.line - 1]
    at = "" if death.in_function is None else statement_name(death.in_function, cell)
    innermost, inside = last.frames[0] if last.frames else None, ""
    if death.user_frames and innermost is not None and innermost is not death.user_frames[0].frame:
        within = death.frames.name(innermost) if is_cell_file(innermost.file) else innermost.module
        inside = f", inside {within or innermost.short_file}"
    was = f"the kernel was {at}" if at else f"the cell was in line {last.line}: {quote(code, 100)}"
    text = f"{duration(last.age_s)} before the end {was}{inside}."
    yield Evidence(text, last.line, "line", "stack read from outside the process")


def recorder_gone(death: Death) -> Iterator[Evidence]:
    """Say that the kernel found its recorder gone, and when."""
    if death.recording.lost_wall_s is not None:
        text = "The kernel's recorder ended before the kernel: nothing was recorded from then on."
        yield Evidence(text, iso(death.recording.lost_wall_s), None, "the kernel's own note")


def said_last(line: str | None) -> Iterator[Evidence]:
    """Quote a last line that names no cause."""
    if line is not None:
        yield quoted(line, "Before it ended, the process wrote")


def said_at_the_end(death: Death) -> Iterator[Evidence]:
    """Quote the last line that reads like giving up, and the very last one: it may be the reason, or not."""
    yield from said_last(death.farewell)
    if death.last_line is not None and death.last_line != death.farewell:
        yield quoted(death.last_line, "The last line it wrote")


def child_memory(death: Death) -> Iterator[Evidence]:
    """Say what the processes below the kernel held."""
    found = death.memory.children
    if found is None:
        return
    who = f"{found.count} child processes" if found.count else "child processes"
    held = f"child process held {size(found.bytes)}" if found.count == 1 else f"{who} held {size(found.bytes)} together"
    text = f"The kernel's {held}; that counts towards the same limit."
    yield Evidence(text, found.bytes, "bytes", "samples")


def crash_report(death: Death) -> Iterator[Evidence]:
    """Say what Python wrote while it crashed: the innermost function, and the cell's line that led there."""
    innermost, report = death.innermost, death.traceback
    if report is None:
        return
    is_that_line = death.crash_line is not None and is_cell_file(innermost.file if innermost is not None else "")
    if innermost is not None and not (is_that_line and innermost.function == "<module>"):
        text = f"The last Python function before the crash was {death.frames.name(innermost)}."
        yield Evidence(text, innermost.function, None, CRASH_REPORT)
    own = _own_module(death)
    if own is not None:
        at = PurePath(own.file).name + ("" if own.line is None else f", line {own.line}")
        yield Evidence(f"It was called from {at} (function {own.function}).", own.line, "line", CRASH_REPORT)
    if death.background is not None:
        within = "" if death.background is innermost else f", within {death.frames.name(death.background)}"
        text = f"It crashed in a background thread{within}, not in the thread that runs the cells."
        yield Evidence(text, source=CRASH_REPORT)
    if death.native_thread:
        text = "A native library started the thread that crashed, maybe in an earlier cell."
        yield Evidence(text, source=CRASH_REPORT)
    if report.library is not None:
        text = f"The native library nearest to the crash is {report.library}."
        yield Evidence(text, report.library, None, "C stack trace")
    if death.crash_line is not None and death.cell is not None:
        code = death.cell.source.split("\n")[death.crash_line - 1]
        name = cell_name(death.cell.execution_count)
        text = f"{sentence(name)} was at line {death.crash_line}"
        if death.background is not None:
            text = f"That thread was at line {death.crash_line} of {name}"
        yield Evidence(f"{text}: {quote(code, 100)}.", death.crash_line, "line", CRASH_REPORT)


def _own_module(death: Death) -> Frame | None:
    """Return the innermost function of a module of the user's; None where that is the innermost of all."""
    frames = death.traceback.current.frames if death.traceback is not None else ()
    for frame in itertools.takewhile(lambda one: not is_cell_file(one.file), frames):
        if frame.module is None and not frame.file.startswith("<"):
            return None if frame is frames[0] else frame
    return None
