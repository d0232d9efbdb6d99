"""Hooks on the cells: what ran, when, and how much memory it took.

The start of a cell has left the process before its first bytecode runs, so that a cell which kills the kernel at once
is known. A cell run within a cell (`%%capture` does that) is part of it and not recorded apart. Threads may run cells
beside each other, as the subshells of ipykernel 7 do.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import IPython

from ..recording.cell_source import SHORT_CHARACTERS
from . import incidents, memory, messages
from .frameworks import FrameworkWatch
from .interrupts import PendingInterrupt
from .namespace import NamespaceWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

    from .link import Link
    from .newest_cell import NewestCell

_COUNTS_BEFORE_HOOK = IPython.version_info >= (9, 8)
"""Since 9.8 IPython raises `execution_count` before it calls `pre_run_cell`, until then at the cell's end."""


@dataclass(slots=True)
class _Running:
    seq: int
    info: ExecutionInfo | None
    message_id: str | None
    stretch: memory.Stretch
    asked_exit: bool = False


def _never_raises(hook: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(hook)
    def guarded(argument: Any) -> None:
        try:
            hook(argument)
        except Exception:  # noqa: S110 - rule one: the user's kernel must run, whatever is wrong with us
            pass

    return guarded


class CellHooks:
    """Sends the start and the end of each cell."""

    def __init__(
        self, shell: InteractiveShell, link: Link, newest: NewestCell, *, exact_peak: bool, namespace: bool = True
    ) -> None:
        self._shell = shell
        self._link = link
        self._newest = newest
        self._exact_peak = exact_peak
        self._frameworks = FrameworkWatch(link)
        self._namespace = NamespaceWatch() if namespace else None
        self._pid = os.getpid()
        self._seq = 0
        self._running: dict[int, _Running] = {}
        """By thread."""
        # The very same bound objects must be given back to IPython.
        self._interrupt = PendingInterrupt(shell)
        self._hooks = {
            "pre_run_cell": self._interrupt.uninterrupted(self._start),
            "post_run_cell": self._interrupt.uninterrupted(self._end),
        }
        self._exit_hook = _never_raises(self._exit_asked)

    def install(self) -> None:
        """Register with IPython. A cell that is running already, as with `%load_ext`, counts as just started."""
        for name, hook in self._hooks.items():
            self._shell.events.register(name, hook)
        if hasattr(self._shell, "kernel"):
            self._shell.observe(self._exit_hook, "exit_now")
        else:
            atexit.register(self._left)
        self._adopt_running_cell()

    def remove(self) -> None:
        """Give the hooks back."""
        self._interrupt.drop()
        self._newest.close()
        while self._running:
            self._running.popitem()[1].stretch.end()
        for name, hook in self._hooks.items():
            with suppress(ValueError):  # user code may have cleared IPython's callbacks
                self._shell.events.unregister(name, hook)
        if hasattr(self._shell, "kernel"):
            self._shell.unobserve(self._exit_hook, "exit_now")
        else:
            atexit.unregister(self._left)

    def running(self) -> dict[int, int]:
        """Return the cells that run: their numbers, by thread."""
        return {thread_id: running.seq for thread_id, running in self._running.copy().items()}

    def stretch(self) -> memory.Stretch | None:
        """Return what measures the cell that runs in this thread; None where none is recorded."""
        running = self._running.get(threading.get_ident())
        return None if running is None else running.stretch

    def _start(self, info: ExecutionInfo) -> None:
        """Begin, or go on where a signal interrupted this."""
        if os.getpid() != self._pid or (self._is_nested() and not self._is_begun(info)):
            return
        count = self._shell.execution_count - (1 if _COUNTS_BEFORE_HOOK else 0)
        self._send_start(info.raw_cell, info.cell_id, count if info.store_history else None, info)

    def _send_start(self, source: str, cell_id: str | None, count: int | None, info: ExecutionInfo | None) -> None:
        thread_id = threading.get_ident()
        if self._is_begun(info):
            beside = [running.seq for other, running in self._running.items() if other != thread_id]
            running = self._running[thread_id]
        else:
            beside = self._beside(thread_id) if self._running else []
            self._seq += 1
            stretch = memory.Stretch(exact=self._exact_peak)
            running = self._running[thread_id] = _Running(self._seq, info, _message_id(self._shell), stretch)
        start = running.seq, running.stretch, count, cell_id, source
        message = messages.cell_start(*start, beside=beside)
        has_room = self._newest.started(message)
        is_sent = self._link.send(message)
        if not (has_room and is_sent):
            short = messages.cell_start(*start, beside=beside, longest=SHORT_CHARACTERS)
            has_room or self._newest.started(short)
            is_sent or self._link.send(short)

    def _beside(self, thread_id: int) -> list[int]:
        """The cells that other threads are running. The end of one that is not among them was not told to us."""
        living = {thread.ident for thread in threading.enumerate()} - {thread_id}
        for other in [*self._running]:
            if other not in living:
                self._running.pop(other).stretch.end()
        return [running.seq for running in self._running.values()]

    def _end(self, result: ExecutionResult) -> None:
        thread_id = threading.get_ident()
        running = self._running.get(thread_id)
        if running is None or os.getpid() != self._pid or not _is_of(running, result):
            return
        error = result.error_in_exec or result.error_before_exec
        stretch = running.stretch if running.stretch.ended_mono_s is not None else running.stretch.end()
        message = messages.cell_end(running.seq, stretch, error, asked_exit=running.asked_exit)
        self._newest.ended(message)
        self._link.send(message)
        self._running.pop(thread_id, None)  # from here on the cell is over, should a signal interrupt this
        self._interrupt.drop()
        if error is not None:
            self._tell_incident(running.seq, error, stretch)
        self._frameworks.cell_ended(running.seq)
        if self._namespace is not None:
            self._namespace.look(self._shell, self._link, running.seq, stretch)

    def _tell_incident(self, seq: int, error: BaseException, stretch: memory.Stretch) -> None:
        told = incidents.describe(error)
        if told is not None:
            now = time.monotonic()
            self._link.send(messages.message("incident", now, cell_seq=seq, rss_bytes=stretch.after_bytes, **told))

    def _adopt_running_cell(self) -> None:
        message = execute_request(self._shell)
        if message is None:
            return
        content = message.get("content", {})
        with_history = content.get("store_history") and not content.get("silent")
        count = self._shell.execution_count - (1 if _COUNTS_BEFORE_HOOK else 0)
        cell_id = message.get("metadata", {}).get("cellId")
        self._send_start(content.get("code", ""), cell_id, count if with_history else None, None)

    def _is_begun(self, info: ExecutionInfo | None) -> bool:
        """Whether this thread has begun to tell of this very execution."""
        running = self._running.get(threading.get_ident())
        return running is not None and info is not None and running.info is info

    def _is_nested(self) -> bool:
        """Whether a cell that is recorded is still running. A new message means that its end was not told to us."""
        running = self._running.get(threading.get_ident())
        return running is not None and running.message_id == _message_id(self._shell)

    def _exit_asked(self, change: Any) -> None:
        """`exit()` in a cell and a shutdown_request both set `exit_now`, and both end with exit code 0."""
        if not change["new"] or os.getpid() != self._pid:
            return
        running = self._running.get(threading.get_ident())
        by, restart = "cell", None
        if running is not None:
            running.asked_exit = True
        else:
            by, restart = "message", bool(_message(self._shell, "control").get("content", {}).get("restart"))
        self._link.send(messages.message("exit_request", time.monotonic(), by=by, restart=restart))

    def _left(self) -> None:
        """IPython in a terminal ends when its user leaves; `os._exit` and signals do not come by here."""
        self._link.send(messages.message("exit_request", time.monotonic(), by="terminal"))


def _is_of(running: _Running, result: ExecutionResult) -> bool:
    """Whether a result is that of the cell, not of one that ran within it.

    Where IPython itself is interrupted, it makes up another description of the cell.
    """
    if running.info is None or running.info is result.info:
        return True
    return isinstance(result.error_in_exec, KeyboardInterrupt) and running.info.raw_cell == result.info.raw_cell


def execute_request(shell: InteractiveShell) -> dict[str, Any] | None:
    """The request of the cell that runs now; None between cells, at the kernel's start, and outside Jupyter."""
    message = _message(shell)
    return message if message.get("header", {}).get("msg_type") == "execute_request" else None


def _message(shell: InteractiveShell, channel: str = "shell") -> dict[str, Any]:
    """The message that the kernel is working on; empty outside a Jupyter kernel."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return {}
    try:
        message = kernel.get_parent(channel)
    except Exception:
        return {}  # not ipykernel: other kernels for Python have other methods of that name
    return message if isinstance(message, dict) else {}


def _message_id(shell: InteractiveShell) -> str | None:
    identity = _message(shell).get("header", {}).get("msg_id")
    return None if identity is None else str(identity)
