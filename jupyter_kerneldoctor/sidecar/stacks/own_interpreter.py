"""This process's own interpreter: where it is, and stacks that are known because they are its own.

It needs `ctypes`, so that only the discovery's child imports it.
"""

from __future__ import annotations

import _thread
import ctypes
import sys
import types

from .layout import Runtime


def own_runtime() -> Runtime:
    """The addresses that `layout.Runtime` names, of this process."""
    return Runtime(interpreter_state(), id(types.CodeType), id(str), id(bytes), id(None))


def thread_state() -> int:
    """The address of this thread's PyThreadState."""
    return _call("PyThreadState_Get")


def interpreter_state() -> int:
    """The address of the PyInterpreterState."""
    return _call("PyInterpreterState_Get")


def _call(name: str) -> int:
    function = getattr(ctypes.PyDLL(None), name)
    function.restype = ctypes.c_void_p
    return int(function())


def callers(frame: types.FrameType | None) -> list[types.FrameType]:
    """A frame and those that called it, innermost first."""
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


class Waiting:
    """A thread that waits in a function of its own, until it is let go."""

    def __init__(self) -> None:
        self._begun, self._hold, self._over = (_thread.allocate_lock() for _ in range(3))
        for lock in (self._begun, self._hold, self._over):
            lock.acquire()
        self.state = self.native_id = 0
        self.frame: types.FrameType | None = None
        _thread.start_new_thread(self._run, ())
        self._begun.acquire()

    def _run(self) -> None:
        self.state, self.native_id = thread_state(), _thread.get_native_id()
        self.frame = sys._getframe()  # noqa: SLF001
        self._begun.release()
        self._hold.acquire()
        self._over.release()

    def end(self) -> None:
        """Let it go, and wait until it has gone."""
        self._hold.release()
        self._over.acquire()
