"""This process's own interpreter: its addresses, and stacks that are known because they are its own.

It imports `ctypes`, so only the child of `discovery_process` imports it.
"""

import _thread
import ctypes
import sys
import types

from .layout import Runtime


def own_runtime() -> Runtime:
    """Return the addresses in this process."""
    return Runtime(interpreter_state(), id(types.CodeType), id(str), id(bytes), id(None))


def thread_state() -> int:
    """Return the address of this thread's PyThreadState."""
    return _call("PyThreadState_Get")


def interpreter_state() -> int:
    """Return the address of the PyInterpreterState."""
    return _call("PyInterpreterState_Get")


def _call(name: str) -> int:
    function = getattr(ctypes.PyDLL(None), name)
    function.restype = ctypes.c_void_p
    return int(function())


def callers(frame: types.FrameType | None) -> list[types.FrameType]:
    """Return a frame and its callers, innermost first."""
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


class WaitingThread:
    """A thread that waits in a function of its own until `end` is called."""

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
        """Let the thread end, and wait for that."""
        self._hold.release()
        self._over.acquire()
