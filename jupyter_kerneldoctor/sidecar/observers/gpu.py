"""Writes what the threads of `gpu.reader` find into the journal, and notes a call that hangs."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from ...recording.token_bucket import TokenBucket
from ..gpu import driver
from ..observer import Observer

if TYPE_CHECKING:
    from ..gpu.reader import GpuReader
    from ..gpu.samples import GpuSampleWriter
    from ..observer import Watched

HUNG_S = 5.0
"""A call that takes longer counts as hung; if it returns after all, another event says so."""

_GPUS_BURST, _GPUS_REFILL_S = 20, 600.0
_XIDS_BURST, _XIDS_REFILL_S = 100, 60.0
"""For each code: a card that is broken may report it all the time."""

_FIRST_LOOK_S = 0.05
_LOOK_S = 1.0
_PATIENCE_S = 0.05


class GpuObserver(Observer):
    """Does nothing, and loads nothing, where there is no driver."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._reader: GpuReader | None = None
        self._samples: GpuSampleWriter | None = None
        self._gpus: dict[str, Any] = {"driver": {}, "devices": []}
        self._buckets: dict[int | None, TokenBucket] = {None: TokenBucket(_GPUS_BURST, _GPUS_REFILL_S)}
        """By the code of an error event; None for the `gpus` events."""
        self._newest_unwritten: dict[int | None, tuple[str, dict[str, Any]]] = {}
        self._hung = False
        self._wait_s = _FIRST_LOOK_S
        self.due_mono_s = 0.0 if driver.may_be_installed() else math.inf

    def turn(self, now_mono_s: float) -> None:
        """Write what is new."""
        if self._reader is None:
            self._start()
        else:
            if not self._reader.is_running:  # no card, or NVML cannot be used; its last news is still noted
                self._wait_s = math.inf
            self._note_news(now_mono_s)
            self._look_for_hang(now_mono_s)
        self.due_mono_s = now_mono_s + self._wait_s
        self._wait_s = min(_LOOK_S, 2 * self._wait_s)

    def heard(self, event: dict[str, Any], now_mono_s: float) -> None:  # noqa: ARG002
        """Read the cards more often while a cell runs."""
        if self._reader is not None and event["event"] in ("cell_start", "cell_end"):
            self._reader.set_busy(busy=event["event"] == "cell_start")

    def at_end(self) -> dict[str, Any]:
        """Write what the reader has found. Reading again is no use: the kernel's memory is free by now."""
        if self._reader is not None and self._samples is not None:
            self._note_news(time.monotonic())
            for event, fields in self._newest_unwritten.values():
                self._watched.note(event, **fields)
            self._samples.flush(_PATIENCE_S)
        return {}

    def stop(self) -> None:
        """End the reader; one that hangs in the driver stays as it is."""
        if self._reader is not None:
            self._reader.stop()

    def _start(self) -> None:
        from ..gpu.reader import GpuReader  # noqa: PLC0415 - nothing of it where there is no driver
        from ..gpu.samples import GpuSampleWriter  # noqa: PLC0415

        try:
            self._samples = GpuSampleWriter(self._watched.directory)
            reader = GpuReader(self._watched.kernel.pid, self._samples)
            reader.start()
        except (OSError, RuntimeError) as error:
            self._wait_s = math.inf
            self._watched.note("gpus", driver={"error": f"cannot be read: {error}"}, devices=[])
            return
        self._reader = reader
        reader.set_busy(busy=self._watched.is_busy)

    def _note_news(self, now_mono_s: float) -> None:
        assert self._reader is not None
        while self._reader.news:
            event, fields = self._reader.news.popleft()
            if event == "gpus":
                self._gpus = fields
            self._note(event, fields, now_mono_s)

    def _note(self, event: str, fields: dict[str, Any], now_mono_s: float) -> None:
        """Write an event; of too many of a kind, keep the newest for the end."""
        kind = fields.get("code")
        if kind not in self._buckets:
            self._buckets[kind] = TokenBucket(_XIDS_BURST, _XIDS_REFILL_S)
        if self._buckets[kind].take(now_mono_s):
            self._newest_unwritten.pop(kind, None)
            self._watched.note(event, **fields)
        else:
            self._newest_unwritten[kind] = event, fields

    def _look_for_hang(self, now_mono_s: float) -> None:
        assert self._reader is not None
        call = self._reader.pending_call
        hung = call is not None and now_mono_s - call.since_mono_s > HUNG_S
        if hung == self._hung:
            return
        self._hung = hung
        gpus = self._gpus
        if hung and call is not None:
            error = f"NVML does not answer ({call.function})"
            gpus = {**gpus, "driver": {**gpus["driver"], "error": error}}
        self._note("gpus", gpus, now_mono_s)
