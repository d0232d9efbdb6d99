"""What runs in a kernel that tells nothing itself: from the requests that pass through the server, and its answers.

A cell counts as started when its request is passed on to an idle kernel, or when the cell before it has ended: a cell
whose first statement kills the kernel would else not be known. It has ended when the kernel has replied or is idle. A
cell that did not run after all, because the one before it failed, is withdrawn when the kernel says so.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.recording.sources import WHOLE_CHARACTERS, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from .messages import Answer, Request

_ERROR_TYPE = re.compile(r"[A-Za-z_][\w.]{0,99}", re.ASCII)
"""Some kernels put more than the type's name into `ename`, and with it the user's data."""

_REMEMBERED = 64


@dataclass(slots=True)
class _Cell:
    message_id: str
    source: str
    cell_id: str | None
    counts: bool
    seq: int | None = None
    started_mono_s: float = 0.0
    count: int | None = None
    ran: bool = False
    error: str | None = None


class CellTracker:
    """The cells of one kernel process, as events for its recording."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self._waiting: dict[str, _Cell] = {}
        """By message id, in the order in which they run; the first runs now."""
        self._done: dict[str, None] = {}
        self._seq = 0
        self._count = 0
        """The last number in `[n]`."""
        self._tells_inputs = False

    def requested(self, request: Request) -> None:
        """A client asks for the execution of a cell."""
        if request.message_id in self._waiting or request.message_id in self._done:
            return
        self._waiting[request.message_id] = _Cell(
            request.message_id, request.source, request.cell_id, counts=request.store_history
        )
        self._begin_next()

    def answered(self, answer: Answer) -> None:
        """The kernel published something about a request, or replied to it."""
        self._tells_inputs |= answer.kind == "execute_input"
        if answer.parent_id in self._done:
            return  # several connections carry the same answers
        if answer.kind == "execute_input":
            self._runs(answer)
        cell = self._waiting.get(answer.parent_id)
        if cell is None:
            return
        if answer.error and _ERROR_TYPE.fullmatch(answer.error):
            cell.error = answer.error
        if answer.kind in ("busy", "reply"):
            self._reached(cell)
        if answer.kind == "reply" and not answer.aborted:
            self._ran(cell, answer.count)
        if answer.kind in ("idle", "reply"):
            self._finish(cell, aborted=answer.aborted)
            self._begin_next()

    def _runs(self, answer: Answer) -> None:
        cell = self._waiting.get(answer.parent_id)
        if cell is None:  # of a client that does not speak through this server
            cell = self._waiting[answer.parent_id] = _Cell(answer.parent_id, answer.source or "", None, counts=True)
        self._reached(cell)
        self._ran(cell, answer.count)

    def _ran(self, cell: _Cell, count: int | None) -> None:
        cell.ran = True
        if cell.counts and count is not None:
            self._count = count
            if cell.count != count:
                cell.count = count
                self._tell_start(cell)

    def _reached(self, cell: _Cell) -> None:
        """The kernel works at this cell, so those before it are through: an answer may have been lost."""
        for earlier in list(self._waiting.values()):
            if earlier is cell:
                break
            self._finish(earlier)
        self._begin_next()

    def _begin_next(self) -> None:
        cell = next(iter(self._waiting.values()), None)
        if cell is None or cell.seq is not None:
            return
        self._seq += 1
        cell.seq, cell.started_mono_s = self._seq, time.monotonic()
        cell.count = self._count + 1 if cell.counts else None
        self._tell_start(cell)

    def _tell_start(self, cell: _Cell) -> None:
        whole = len(cell.source) <= WHOLE_CHARACTERS
        source = {"source": cell.source} if whole else shortened(cell.source, WHOLE_CHARACTERS)
        known = {"execution_count": cell.count, "cell_id": cell.cell_id}
        self._tell({"event": "cell_start", "seq": cell.seq, "mono_s": cell.started_mono_s, **known, **source})

    def _finish(self, cell: _Cell, *, aborted: bool = False) -> None:
        del self._waiting[cell.message_id]
        self._done[cell.message_id] = None
        if len(self._done) > _REMEMBERED:
            del self._done[next(iter(self._done))]
        if cell.seq is None:
            return
        kind = "cell_withdrawn" if aborted or (self._tells_inputs and not cell.ran) else "cell_end"
        error = {} if cell.error is None else {"error": cell.error}
        self._tell({"event": kind, "seq": cell.seq, "mono_s": time.monotonic(), **error})
