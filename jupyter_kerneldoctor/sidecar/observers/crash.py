"""The traceback of a crash that the kernel wrote to shared memory, as its disk might not have answered just then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...recording.layout import CRASH
from ...recording.private_files import open_private
from ..inbox import Message
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_MOST_BYTES = 256 * 1024


class CrashObserver(Observer):
    """Takes the memory that the kernel shares, and writes down what is in it when the kernel has ended."""

    def __init__(self, watched: Watched) -> None:
        self._path = watched.directory / CRASH
        self._descriptor: int | None = None

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:  # noqa: ARG002
        """Keep the descriptor that came along."""
        if event["event"] == "crash_memory" and isinstance(event, Message) and len(event.descriptors) == 1:
            self.stop()
            self._descriptor = event.descriptors.pop()

    def at_end(self) -> dict[str, Any]:
        """Write down the traceback, if there is one."""
        text = b"" if self._descriptor is None else os.pread(self._descriptor, _MOST_BYTES, 0)
        if text:
            file = open_private(self._path, os.O_APPEND)
            os.write(file, text)
            os.close(file)
        return {}

    def stop(self) -> None:
        """Let the memory go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
