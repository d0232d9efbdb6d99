"""Tracks the cells of a kernel that has not loaded KernelDoctor, from requests and answers that pass the server.

A cell counts as started when its request is passed on to an idle kernel or when the cell before it has ended, so that
a cell whose first statement kills the kernel is known. It has ended when the kernel has replied or is idle. The cells
that wait behind it are reported, too: the reply may be lost with the kernel. A cell that did not run, because the one
before it failed, is withdrawn when the kernel says so.
"""

import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jupyter_kerneldoctor.recording.cell_source import WHOLE_CHARACTERS, shortened

from .messages import Answer, Request

_ERROR_TYPE = re.compile(r"[A-Za-z_][\w.]{0,99}", re.ASCII)
"""Some kernels put more than the type's name into `ename`, which may be the user's data."""

_MAX_FINISHED = 64

_REPORTED_AHEAD = 8
"""Cells that wait are reported once they are so near: there may be hundreds, and the sidecar's socket is small."""

_NEWEST_EVENTS = 32
_NEWEST_S = 10.0
"""How long the sidecar may take to write an event down, if its machine is busy."""


@dataclass(slots=True)
class _Cell:
    message_id: str
    source: str
    cell_id: str | None
    has_number: bool
    seq: int | None = None
    """None: not reported yet."""
    started_mono_s: float | None = None
    count: int | None = None
    ran: bool = False
    error: str | None = None


class CellTracker:
    """The cells of one kernel process, as events for its recording."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._pass_on = send
        self._sent: deque[dict[str, Any]] = deque(maxlen=_NEWEST_EVENTS)
        self._waiting: dict[str, _Cell] = {}
        """By message id, in the order of execution; the first is running."""
        self._finished: dict[str, bool] = {}
        """By message id, whether the number that the kernel gave the cell was never heard."""
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

    def newest_events(self) -> list[dict[str, Any]]:
        """Return what was sent last: a sidecar that ended with the kernel may not have written it down."""
        since_mono_s = time.monotonic() - _NEWEST_S
        return [event for event in self._sent if event["mono_s"] >= since_mono_s]

    def newest_cells(self) -> list[list[Any]]:
        """Return number, start and end (None: not yet) of the cells that ran last."""
        cells: dict[int, list[Any]] = {}
        for event in self._sent:
            if event["event"] == "cell_start":
                cells.setdefault(event["seq"], [event["seq"], event["mono_s"], None])
            elif event["seq"] in cells and event["event"] in ("cell_end", "cell_withdrawn"):
                cells[event["seq"]][2] = event["mono_s"]
        return list(cells.values())

    def events_to_repeat(self) -> list[dict[str, Any]]:
        """Return what a sidecar may not have written down before it was killed, and the start of what runs."""
        runs = [seq for seq, _, ended in self.newest_cells() if ended is None]
        newest = self.newest_events()
        return [
            event
            for event in self._sent
            if event in newest or (event["event"], event["seq"]) == ("cell_start", *runs[-1:])
        ]

    def answered(self, answer: Answer) -> None:
        """Note that the kernel published something about a request, or replied to it."""
        self._publishes_inputs |= answer.kind == "execute_input"
        if answer.parent_id in self._finished:  # several connections carry the same answers
            if answer.count is not None and not answer.aborted and self._finished[answer.parent_id]:
                self._finished[answer.parent_id] = False
                self._count = answer.count
            return
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
        """Report the first cell as started, and those behind it as waiting."""
        count = self._count
        for place, cell in enumerate(islice(self._waiting.values(), 1 + _REPORTED_AHEAD)):
            if cell.started_mono_s is not None:
                count = cell.count or count
                continue
            count += cell.has_number
            cell.count = count if cell.has_number else None
            is_new = cell.seq is None
            if is_new:
                self._seq += 1
                cell.seq = self._seq
            if place == 0:
                cell.started_mono_s = time.monotonic()
                self._send_start(cell)
            elif is_new:
                self._send_source("cell_queued", time.monotonic(), cell)

    def _send_start(self, cell: _Cell) -> None:
        self._send_source("cell_start", cell.started_mono_s, cell)

    def _send_source(self, kind: str, mono_s: float | None, cell: _Cell) -> None:
        whole = len(cell.source) <= WHOLE_CHARACTERS
        source = {"source": cell.source} if whole else shortened(cell.source, WHOLE_CHARACTERS)
        known = {"execution_count": cell.count, "cell_id": cell.cell_id}
        self._send({"event": kind, "seq": cell.seq, "mono_s": mono_s, **known, **source})

    def _send(self, event: dict[str, Any]) -> None:
        self._sent.append(event)
        self._pass_on(event)

    def _finish(self, cell: _Cell, *, aborted: bool = False) -> None:
        del self._waiting[cell.message_id]
        self._finished[cell.message_id] = cell.has_number and not cell.ran
        if len(self._finished) > _MAX_FINISHED:
            del self._finished[next(iter(self._finished))]
        if cell.seq is None:
            return
        has_run = cell.started_mono_s is not None and not aborted and (cell.ran or not self._publishes_inputs)
        kind = "cell_end" if has_run else "cell_withdrawn"
        error = {} if cell.error is None else {"error": cell.error}
        self._send({"event": kind, "seq": cell.seq, "mono_s": time.monotonic(), **error})
