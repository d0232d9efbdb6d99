"""A thread in the kernel that waits until the sidecar asks what the running cell holds, looks, and answers.

The sidecar asks a few times while a cell grows (`sidecar.observers.held`), by a byte in a pipe whose other end it was
given. Until then the thread waits in `read`, without the GIL. If the cell never gives the GIL away, there is no answer.

User code does not see the thread: `threading` does not know it, it takes no signals, and nothing waits for it when
Python ends. It ends when the pipe is closed, that is with the sidecar. A fork has no such thread, and an exec no pipe.
"""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import time
from contextlib import suppress
from types import BuiltinFunctionType
from typing import TYPE_CHECKING

from .descriptors import inode
from .messages import message
from .process_limits import process_limits

if sys.platform != "win32":
    from posix import read  # not that of `os`, which some libraries replace by one that runs other code meanwhile

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .cells import CellHooks
    from .held_objects import CellHoldings
    from .link import Link

_MOST_CPU_S = 0.02
"""A look that took more of it is the last of its cell."""
_LEAST_ROOM_BYTES = 256 << 20
"""Of address space, where that is limited: the thread's stack and heap take some of it."""

_FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS")
"""Blocking these would end the process without faulthandler's traceback."""


def start(link: Link, hooks: CellHooks, shell: InteractiveShell) -> None:
    """Start the thread, where that is possible without taking from the user what is scarce."""
    # gevent and eventlet replace the function: what it starts would stop the cell while it waits.
    is_real = type(_thread.start_new_thread) is BuiltinFunctionType
    if sys.platform != "linux" or not is_real or not _has_gil() or not _has_room():
        return
    thread = None
    try:
        thread = _LookThread(link, hooks, shell)
        _thread.start_new_thread(thread.run, ())
    except (OSError, RuntimeError):  # there may be no more files, or threads
        if thread is not None:
            thread.close()


_is_collector_off = False
"""Whether a look has switched the garbage collector off, which would run finalisers of the user's in our thread."""


def _keep_garbage() -> None:
    global _is_collector_off  # noqa: PLW0603 - the process has one collector
    _is_collector_off = gc.isenabled()
    gc.disable()


def _collect_garbage() -> None:
    """Switch the collector on again, in the thread that then waits: the next one to make an object will run it."""
    global _is_collector_off  # noqa: PLW0603
    if _is_collector_off:
        _is_collector_off = False
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_garbage)


class _LookThread:
    def __init__(self, link: Link, hooks: CellHooks, shell: InteractiveShell) -> None:
        self._link = link
        self._hooks = hooks
        self._shell = shell
        self._last: CellHoldings | None = None
        self._is_last_look = False
        self._reads, self._writes = os.pipe()
        self._inodes = inode(self._reads), inode(self._writes)

    def run(self) -> None:
        """Answer until the sidecar is gone. Never raises."""
        with suppress(BaseException):
            faults = {getattr(signal, name) for name in _FAULTS}
            signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - faults)
            me = message("look_thread", time.monotonic(), thread_id=_thread.get_native_id())
            is_heard = self._link.send(me, [self._writes], from_thread=True)
            self._close(1)
            # User code may have closed our end, and its number may be that of another file by now.
            while is_heard and inode(self._reads) == self._inodes[0]:
                _collect_garbage()
                if not read(self._reads, 64):
                    break
                _keep_garbage()
                self._answer()
        _collect_garbage()
        self.close()

    def close(self) -> None:
        """Close both ends of the pipe, if they are still ours."""
        self._close(0)
        self._close(1)

    def _close(self, end: int) -> None:
        descriptor = (self._reads, self._writes)[end]
        if self._inodes[end] is not None and inode(descriptor) == self._inodes[end]:
            os.close(descriptor)

    def _answer(self) -> None:
        """Look, and send what was found."""
        with suppress(Exception):  # no memory, or an object that is not as its library makes it
            found = self._look()
            if found is not None:
                self._link.send(found, from_thread=True)

    def _look(self) -> bytes | None:
        running = self._hooks.running()
        if not running or not _has_room():
            return None
        from .held_objects import CellHoldings  # noqa: PLC0415 - many kernels never need it

        seq = min(running.values())
        if self._last is None or self._last.seq != seq:
            self._last, self._is_last_look = CellHoldings(seq), False
        if self._is_last_look:
            return None
        begin_s, begin_cpu_s = time.monotonic(), time.thread_time()
        objects, complete = self._last.biggest(running, self._shell.user_ns, self._shell.user_ns_hidden)
        took_s = time.monotonic() - begin_s
        self._is_last_look = time.thread_time() - begin_cpu_s > _MOST_CPU_S
        fields = {"cell_seq": seq, "objects": objects, "complete": complete, "took_s": round(took_s, 4)}
        return message("held", time.monotonic(), **fields)


def _has_gil() -> bool:
    """Return whether nothing else runs while we look: there are builds of Python without the GIL."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _has_room() -> bool:
    """Return whether the limits of address space and data leave room; what we take there, the cell would miss."""
    return all(one.bytes - one.used_bytes >= _LEAST_ROOM_BYTES for one in process_limits())
