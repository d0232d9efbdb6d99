"""Tracks the cells of a kernel that has not loaded KernelDoctor, from requests and answers that pass the server.

A cell counts as started when its request is passed on to an idle kernel or when the cell before it has ended, so that
a cell whose first statement kills the kernel is known. It has ended when the kernel has replied or is idle. A cell
that did not run, because the one before it failed, is withdrawn when the kernel says so.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jupyter_kerneldoctor.recording.cell_source import WHOLE_CHARACTERS, shortened

from .messages import Answer, Request

_ERROR_TYPE = re.compile(r"[A-Za-z_][\w.]{0,99}", re.ASCII)
"""Some kernels put more than the type's name into `ename`, which may be the user's data."""

_MAX_FINISHED = 64


@dataclass(slots=True)
class _Cell:
    message_id: str
    source: str
    cell_id: str | None
    has_number: bool
    seq: int | None = None
    started_mono_s: float = 0.0
    count: int | None = None
    ran: bool = False
    error: str | None = None


class CellTracker:
    """The cells of one kernel process, as events for its recording."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._waiting: dict[str, _Cell] = {}
        """By message id, in the order of execution; the first is running."""
        self._finished: dict[str, None] = {}
        self._seq = 0
        self._count = 0
        """The last number in `[n]`."""
        self._publishes_inputs = False

    def requested(self, request: Request) -> None:
        """Note that a client asked for the execution of a cell."""
        if request.message_id in self._waiting or request.message_id in self._finished:
            return
        self._waiting[request.message_id] = _Cell(
            request.message_id, request.source, request.cell_id, has_number=request.store_history
        )
        self._begin_next()

    def answered(self, answer: Answer) -> None:
        """Note that the kernel published something about a request, or replied to it."""
        self._publishes_inputs |= answer.kind == "execute_input"
        if answer.parent_id in self._finished:
            return  # several connections carry the same answers
        if answer.kind == "execute_input":
            self._on_input(answer)
        cell = self._waiting.get(answer.parent_id)
        if cell is None:
            return
        if answer.error and _ERROR_TYPE.fullmatch(answer.error):
            cell.error = answer.error
        if answer.kind in ("busy", "reply"):
            self._finish_before(cell)
        if answer.kind == "reply" and not answer.aborted:
            self._mark_run(cell, answer.count)
        if answer.kind in ("idle", "reply"):
            self._finish(cell, aborted=answer.aborted)
            self._begin_next()

    def _on_input(self, answer: Answer) -> None:
        cell = self._waiting.get(answer.parent_id)
        if cell is None:  # of a client that is not connected through this server
            cell = self._waiting[answer.parent_id] = _Cell(answer.parent_id, answer.source or "", None, has_number=True)
        self._finish_before(cell)
        self._mark_run(cell, answer.count)

    def _mark_run(self, cell: _Cell, count: int | None) -> None:
        cell.ran = True
        if cell.has_number and count is not None:
            self._count = count
            if cell.count != count:
                cell.count = count
                self._send_start(cell)

    def _finish_before(self, cell: _Cell) -> None:
        """End the cells before this one, as the kernel has reached it: an answer may have been lost."""
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
        cell.count = self._count + 1 if cell.has_number else None
        self._send_start(cell)

    def _send_start(self, cell: _Cell) -> None:
        whole = len(cell.source) <= WHOLE_CHARACTERS
        source = {"source": cell.source} if whole else shortened(cell.source, WHOLE_CHARACTERS)
        known = {"execution_count": cell.count, "cell_id": cell.cell_id}
        self._send({"event": "cell_start", "seq": cell.seq, "mono_s": cell.started_mono_s, **known, **source})

    def _finish(self, cell: _Cell, *, aborted: bool = False) -> None:
        del self._waiting[cell.message_id]
        self._finished[cell.message_id] = None
        if len(self._finished) > _MAX_FINISHED:
            del self._finished[next(iter(self._finished))]
        if cell.seq is None:
            return
        kind = "cell_withdrawn" if aborted or (self._publishes_inputs and not cell.ran) else "cell_end"
        error = {} if cell.error is None else {"error": cell.error}
        self._send({"event": kind, "seq": cell.seq, "mono_s": time.monotonic(), **error})
