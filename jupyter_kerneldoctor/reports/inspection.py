"""Asks the sidecar of a running kernel what each thread is doing, and describes it as a JSON document."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..diagnosis import diagnose
from ..diagnosis.analysis.busy_cell import busy_cell
from ..diagnosis.analysis.last_look import last_look
from ..diagnosis.analysis.thread_waits import ThreadWait
from ..diagnosis.code.cellfiles import CellFiles, user_line
from ..recording.decode import build
from ..recording.disk_reserve import storage_problem
from ..recording.events import ChildState, Frame, Stack, ThreadStack
from ..recording.journal import read_events_from
from ..recording.layout import ASKED, JOURNAL
from ..recording.model import Cell, Recording
from ..recording.private_files import open_private
from ..recording.processes import ProcessIdentity, is_alive
from ..recording.sidecar_launch import SHARED, directory_of, told_to_sidecar
from ..recording.store import Store

Document = dict[str, Any]

TIMEOUT_S = 2.0
_POLL_S = 0.01
_OURS = str(Path(__file__).parent.parent / "kernel") + os.sep
"""Where the code of KernelDoctor's own threads lies."""


class CannotInspectError(Exception):
    """The kernel could not be inspected. `str()` says why, `help` what to do, `reason` why in a word for programs."""

    help = ""
    reason = "no-answer"


class KernelGoneError(CannotInspectError):
    """The kernel is not running any more."""

    reason = "gone"
    help = "`jupyter kerneldoctor report` says how it ended."


class NotRecordedError(CannotInspectError):
    """The kernel is running, but it is not being recorded."""

    reason = "not-recorded"
    help = "Run `%kerneldoctor on` in the kernel. Interrupt it first if it is busy."


class NoAnswerError(CannotInspectError):
    """The recorder is running and did not answer in time."""

    help = "The machine may be out of memory or very busy. Try again in a moment."


class NothingKeptError(CannotInspectError):
    """The recorder is running and cannot write its answer."""

    help = "Free some disk space, or start a new recording: `%kerneldoctor off`, then `%kerneldoctor on` in the kernel."


class NotPermittedError(CannotInspectError):
    """The kernel belongs to another user."""

    reason = "not-permitted"
    help = "Run this as the user who started the kernel."


def inspect(store: Store, recording_id: str, timeout_s: float = TIMEOUT_S) -> Document:
    """Return what the kernel of a recording is doing. Raises CannotInspectError, UnknownRecordingError."""
    recording = store.open(recording_id, patience_s=0)
    if recording.alive is None:
        where = "on another machine or in another container"
        raise KernelGoneError(f"The kernel of {recording_id} runs {where}, {recording.kernel.hostname}.")
    if not recording.alive:
        raise KernelGoneError(f"The kernel of {recording_id} is not running any more.")
    directory = store.path(recording_id)
    sidecar = None if recording.stopped_early else recording.sidecar
    if sidecar is None or not is_alive(sidecar) or not _records_into(sidecar.pid, directory):
        raise NotRecordedError(f"The kernel of {recording_id} is running, but it is not being recorded.")
    stack = _request_stack(sidecar, directory / JOURNAL, timeout_s)
    if stack is None:
        if why := storage_problem(directory):
            raise NothingKeptError(f"The recorder of {recording_id} cannot write its answer: {why}.")
        raise NoAnswerError(f"The recorder of {recording_id} did not answer within {timeout_s:g} s.")
    return describe(store.open(recording_id, patience_s=0), stack)


def _request_stack(sidecar: ProcessIdentity, journal: Path, timeout_s: float) -> Stack | None:
    """Send SIGUSR1 and return the stack that the sidecar writes; None when it writes none in time.

    To one that watches many kernels, a file in the recording's directory says which of them is meant.
    """
    start_mono_s = time.monotonic()
    offset = journal.stat().st_size
    is_sent = False
    while time.monotonic() < start_mono_s + timeout_s:
        is_sent = is_sent or _signal(sidecar, journal.parent)
        events, offset = read_events_from(journal, offset)
        for event in events:
            if event["event"] == "stack" and event.get("reason") == "asked":
                return build(Stack, event)
        time.sleep(_POLL_S)
    return None


def _signal(sidecar: ProcessIdentity, directory: Path) -> bool:
    """Signal the sidecar; return False while it has no handler yet, as the signal would end it.

    The process id comes from the recording, so only a process that is the sidecar of this directory is signalled.
    """
    try:
        descriptor = os.pidfd_open(sidecar.pid)
    except OSError:
        return False
    try:
        if not is_alive(sidecar) or not _records_into(sidecar.pid, directory) or not _listens(sidecar.pid):
            return False
        if told_to_sidecar(sidecar.pid) == SHARED:
            with suppress(FileExistsError):
                os.close(open_private(directory / ASKED, os.O_EXCL))
        signal.pidfd_send_signal(descriptor, signal.SIGUSR1)
    except PermissionError:
        raise NotPermittedError("The kernel belongs to another user.") from None
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _records_into(pid: int, directory: Path) -> bool:
    kernel_pid = directory.name.split("-")[1:2]
    told = directory_of(pid, int(kernel_pid[0]) if kernel_pid and kernel_pid[0].isdigit() else 0)
    try:
        return told is not None and told.samefile(directory)
    except OSError:
        return False


def _listens(pid: int) -> bool:
    """Whether a process has a handler for SIGUSR1 (SigCgt in proc_pid_status(5))."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) & 1 << (signal.SIGUSR1 - 1))


def describe(recording: Recording, stack: Stack) -> Document:
    """Return the cell and its line, and for each thread and child process what it does or waits for."""
    cell = recording.running_cell
    files = CellFiles(recording.cells)
    return {
        "recording": recording.id,
        "kernel_id": recording.kernel.kernel_id,
        "pid": recording.kernel.process.pid,
        "notebook": recording.kernel.notebook,
        "cell": None if cell is None else _cell(cell, stack),
        "threads": [_thread(files, thread, idle=cell is None) for thread in stack.threads],
        "children": [_child(files, child) for child in stack.children],
        "no_stacks": _why_no_stacks(recording, stack),
        "stuck": _why_stuck(recording),
    }


def _why_stuck(recording: Recording) -> str | None:
    """Return the headline of a kernel that is stuck; None of one that was not seen at the same for long."""
    is_suspect = last_look(recording) is not None or busy_cell(recording) is not None
    answer = diagnose(recording) if is_suspect else None
    return answer.cause.headline if answer is not None and answer.state == "stuck" else None


def _why_no_stacks(recording: Recording, stack: Stack) -> str | None:
    if any(thread.frames for thread in stack.threads):
        return None
    if recording.no_stacks is not None:
        return recording.no_stacks
    if recording.kernel.loaded_by == "server" and recording.kernel.language not in (None, "python"):
        return "the kernel is not Python"
    return "reading them is switched off or not ready yet; try again in a moment"


def _cell(cell: Cell, stack: Stack) -> Document:
    main = next((thread.frames for thread in stack.threads if thread.main), ())
    line = next((line for frame in main if (line := user_line(cell, frame)) is not None), None)
    return {
        "execution_count": cell.execution_count,
        "cell_id": cell.cell_id,
        "source": cell.source,
        "line": line,
        "line_source": None if line is None else cell.source.split("\n")[line - 1],
        "running_s": round(stack.mono_s - cell.started_mono_s, 3),
    }


def _thread(files: CellFiles, thread: ThreadStack, *, idle: bool) -> Document:
    waiting = _waiting(files, thread.frames, thread.state, thread.waits_in)
    for_work = idle and thread.main and waiting.kind in ("input", "event")
    is_ours = any(frame.file.startswith(_OURS) for frame in waiting.frames)
    return {
        "thread_id": thread.thread_id,
        "name": thread.name,
        "main": thread.main,
        "state": thread.state,
        "waits_in": thread.waits_in,
        "doing": "waits for the next cell" if for_work else waiting.doing,
        "serves_the_kernel": not thread.main and (waiting.serves_the_kernel or is_ours),
        "frames": _places(files, waiting.frames),
    }


def _child(files: CellFiles, child: ChildState) -> Document:
    waiting = _waiting(files, child.stack, child.state, child.waits_in)
    return {
        "pid": child.pid,
        "name": child.name,
        "state": child.state,
        "waits_in": child.waits_in,
        "doing": "has ended; its parent has not read the exit status yet" if child.state == "Z" else waiting.doing,
        "rss_bytes": child.rss_bytes,
        "cpu_s": child.cpu_s,
        "forked": child.forked,
        "frames": _places(files, waiting.frames),
    }


def _waiting(files: CellFiles, frames: tuple[Frame, ...], state: str | None, wchan: str | None) -> ThreadWait:
    places = _places(files, frames[:1])
    return ThreadWait(frames, state, wchan, (places[0]["code"] or "") if places else "")


def _places(files: CellFiles, frames: tuple[Frame, ...]) -> list[Document]:
    """Return the frames; those of cells have the cell's number and the line in it."""
    found = []
    for frame in frames:
        cell = files.cell_of(frame)
        line = frame.line if cell is None else user_line(cell, frame)
        code = cell.source.split("\n")[line - 1].strip() if cell is not None and line is not None else None
        place = {"file": frame.file, "short_file": frame.short_file, "line": line, "function": frame.function}
        number = None if cell is None else cell.execution_count
        found.append({**place, "in_cell": cell is not None, "execution_count": number, "code": code})
    return found
