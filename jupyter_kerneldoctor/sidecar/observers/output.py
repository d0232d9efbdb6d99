"""Records what the kernel process wrote to its file descriptors 1 and 2, up to the last byte.

The kernel shares two things for each of them: a ring buffer into which it reads (`recording.ring`), and the pipe from
which it reads. Whatever was written before the death is in one of the two. The pipe is the kernel's own: while the
kernel lives, the sidecar takes nothing from it and changes nothing about it.
"""

from __future__ import annotations

import codecs
import math
import os
import time
from typing import TYPE_CHECKING, Any

from ...recording.layout import OUTPUT
from ...recording.ring import RingReader
from ...recording.rotating_log import RotatingLog
from ..inbox import Message
from ..observer import Observer

if TYPE_CHECKING:
    from ..observer import Watched

_LOOK_S = 2.0
_IDLE_LOOK_S = 5.0
_PIPE_BYTES = 256 * 1024  # at most; a child that lives on may write without end
_FILE_BYTES = 64 * 1024
_WAKE = b"\0"  # with it the kernel wakes its own thread; it is no text
_PIECE_CHARACTERS = 1024  # of at most six bytes each in JSON, so that a piece is a short line for `RotatingLog`


class OutputObserver(Observer):
    """Reads seldom, as the ring buffer keeps the newest text. Begins when the kernel shares its output."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._streams: list[_Stream] = []
        self._file: RotatingLog | None = None
        self._message: Message | None = None
        self._was_open = True
        self._ended = False
        self._stamp_s = 0.0

    def turn(self, now_mono_s: float) -> None:
        """Write what is new. Close the pipes when the kernel has closed its link, as after an `os.exec`.

        Else whoever writes to a pipe would not learn that nobody reads it. The end of the kernel closes the link as
        well, a moment before it is seen; so the link has to be closed at two turns.
        """
        self.due_mono_s = now_mono_s + (_LOOK_S if self._watched.is_busy else _IDLE_LOOK_S)
        self._write(now_mono_s, at_end=False)
        is_open = self._message is not None and self._message.sender.is_open
        if not is_open and not self._was_open:
            self.stop()
        self._was_open = is_open

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:
        """Begin when an event brings descriptors. Read at a cell's end, so that no text counts as the next cell's."""
        if event["event"] == "cell_end":
            self._write(now_mono_s, at_end=False)
        elif event["event"] == "cell_start" and self._streams:
            self.due_mono_s = min(self.due_mono_s, now_mono_s + _LOOK_S)
        if event["event"] != "last_words" or not isinstance(event, Message):
            return
        numbers, begins = event.get("fds"), event.get("begins")
        if not (isinstance(numbers, list) and isinstance(begins, list)):
            return
        if not len(event.descriptors) == len(numbers) + len(begins) == 2 * len(numbers):
            return  # some did not arrive: this process may not open so many files
        self.stop()
        shared, event.descriptors[:] = event.descriptors[:], []
        for number, begin, ring, pipe in zip(numbers, begins, shared[::2], shared[1::2], strict=True):
            self._streams.append(_Stream(number, RingReader(ring, begin), pipe, (ring, pipe)))
        self._message, self._was_open, self.due_mono_s = event, True, now_mono_s + _LOOK_S

    def at_end(self) -> dict[str, Any]:
        """Write the rest of the output."""
        self._ended = True
        self.stop()
        return {}

    def stop(self) -> None:
        """Write what is new, and close the descriptors."""
        self._write(time.monotonic(), at_end=self._ended)
        while self._streams:
            self._streams.pop().close()
        self.due_mono_s = math.inf

    def _write(self, mono_s: float, *, at_end: bool) -> None:
        for stream in self._streams:
            text = stream.take(at_end=at_end)
            for begin in range(0, len(text), _PIECE_CHARACTERS):
                self._stamp_s = max(mono_s, self._stamp_s + 1e-6)  # no two are equal: readers sort by it
                piece = {"mono_s": round(self._stamp_s, 6), "fd": stream.number}
                self._append({**piece, "text": text[begin : begin + _PIECE_CHARACTERS]})

    def _append(self, piece: dict[str, Any]) -> None:
        try:
            if self._file is None:  # most kernels write nothing at all
                self._file = RotatingLog(self._watched.directory, OUTPUT, _FILE_BYTES)
            self._file.write(piece)
        except OSError:
            pass


class _Stream:
    """File descriptor `number` of the kernel: its ring buffer and its pipe."""

    def __init__(self, number: int, ring: RingReader, pipe: int, descriptors: tuple[int, ...]) -> None:
        self.number = number
        self._ring = ring
        self._pipe = pipe
        self._descriptors = descriptors
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, *, at_end: bool) -> str:
        """Return the new text; after the kernel's end also what was left in the pipe."""
        data = self._ring.take()
        if at_end:
            data += self._ring.take_uncounted() + self._rest_of_pipe()
        return self._decoder.decode(data.replace(_WAKE, b""), final=at_end)

    def _rest_of_pipe(self) -> bytes:
        os.set_blocking(self._pipe, False)
        rest = b""
        try:
            while len(rest) < _PIPE_BYTES and (data := os.read(self._pipe, _PIPE_BYTES)):
                rest += data
        except OSError:
            pass  # it is empty, and another process still has it open
        return rest

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
