"""Checks a layout on stacks that are known, before it is used on any other."""

from __future__ import annotations

import _thread
import os
import sys
from typing import TYPE_CHECKING, Any

from .layout import UnexpectedLayoutError
from .memory import Memory
from .own_interpreter import WaitingThread, callers, own_runtime
from .reader import RawFrame, StackReader

if TYPE_CHECKING:
    import types

    from .layout import Layout


def check_layout(layout: Layout) -> None:
    """Read known stacks: through Python and C functions, a generator and a lambda, and one of another thread.

    Raises UnexpectedLayoutError, UnreadableError, OSError.
    """
    reader = StackReader(Memory(os.getpid()), layout, own_runtime())
    waiting = WaitingThread()
    try:
        threads = reader.threads()
        if list(threads) != [waiting.native_id, _thread.get_native_id()]:
            raise UnexpectedLayoutError("the list of threads")
        if reader.stack(threads[waiting.native_id]) != _expected(waiting.frame):
            raise UnexpectedLayoutError("the stack of a waiting thread")
        own = threads[_thread.get_native_id()]
        sorted([1], key=lambda _: _check_within(reader, own))
    finally:
        waiting.end()


def _check_within(reader: StackReader, own: int) -> int:
    def known() -> Any:
        yield _seen_by_another(reader, own)

    for found, expected in map(lambda pair: pair, known()):  # noqa: C417 - a lambda called from C is the point
        # The innermost function has gone on to another line since.
        if found[1:] != expected[1:] or found[0].function != expected[0].function:
            raise UnexpectedLayoutError("the stack of the main thread")
    return 0


def _seen_by_another(reader: StackReader, own: int) -> tuple[list[RawFrame], list[RawFrame]]:
    """Return this thread's stack twice: as another thread reads it while this one waits, and as it really is."""
    found: list[RawFrame] = []
    over = _thread.allocate_lock()
    over.acquire()

    def read() -> None:
        try:
            found.extend(reader.stack(own))
        finally:
            over.release()

    _thread.start_new_thread(read, ())
    over.acquire()
    if not found:
        raise UnexpectedLayoutError("the stack of a thread that waits in several functions")
    return found, _expected(sys._getframe())  # noqa: SLF001


def _expected(innermost: types.FrameType | None) -> list[RawFrame]:
    frames = callers(innermost)
    return [RawFrame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) for frame in frames]
