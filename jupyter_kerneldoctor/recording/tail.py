"""Reads a recording on while it grows: each call reads only what was added since the one before."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from .decode import build_all
from .events import GpuSample
from .journal import values
from .layout import GPU, JOURNAL, RECENT, SAMPLES
from .private_files import read_part
from .reader import assemble
from .samples import Sample, SampleRows, bounded

if TYPE_CHECKING:
    from pathlib import Path

_HEAD_BYTES = 64 << 10
_END_BYTES = 512 << 10
"""How much is read of the beginning and of the end of a file that is already long: the last hours."""

_STEP_BYTES = 1 << 20
"""The most that is read at once: of what was added beyond it, only the end."""

_KEPT_EVENTS = 2000
_KEPT_BYTES = 8 << 20
_KEPT_SAMPLES = 400
"""How many of the newest are kept as they are; older samples are thinned to as many."""

_MOST_CARDS = 64

_LASTING = frozenset({"start", "limits", "gpus", "surroundings"})
_OF_CELLS = frozenset({"cell_start", "cell_withdrawn", "cell_end", "namespace", "held", "stuck", "incident"})
_KINDS = _LASTING | _OF_CELLS | {"thread_error", "off", "end"}


class FileTail:
    """The lines of a file that grows, or is emptied and grows again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.read_bytes = 0
        """How long the lines were that were read last."""

    def lines(self) -> list[Any]:
        """Return the whole lines that were added; of a long file at first both ends, of a jump the end."""
        found: list[Any] = []
        self.read_bytes = 0
        try:
            size = os.stat(self._path, follow_symlinks=False).st_size
            if size < self._offset:
                self._offset = 0
            if self._offset == 0 and size > _HEAD_BYTES + _END_BYTES:
                head = _whole(read_part(self._path, 0, _HEAD_BYTES))
                self.read_bytes = len(head)
                found += values(head)
                self._offset = size - _END_BYTES  # the line that is cut here is passed over
            elif size - self._offset > _STEP_BYTES:
                self._offset = size - _END_BYTES
            if size > self._offset:
                added = _whole(read_part(self._path, self._offset, size - self._offset))
                self._offset += len(added)
                self.read_bytes += len(added)
                found += values(added)
        except OSError:  # deleted, or not there yet
            pass
        return found


class RecordingTail:
    """What a running kernel used and did lately, without the rest of its recording."""

    def __init__(self, directory: Path) -> None:
        self._journal = FileTail(directory / JOURNAL)
        self._long_ago: tuple[FileTail, ...] = (FileTail(directory / SAMPLES),)
        self._recent = [(FileTail(directory / name), SampleRows()) for name in RECENT]
        self._gpu = [FileTail(directory / name) for name in GPU]
        self._lasting: list[dict[str, Any]] = []
        self._newest: deque[tuple[int, list[dict[str, Any]]]] = deque()
        """What each reading brought, with its bytes."""
        self.recording = assemble(directory.name, [])
        self.version = 0
        """Counts the times that something was added."""

    def read_on(self) -> None:
        """Read what was added."""
        events = [event for event in self._journal.lines() if isinstance(event, dict) and event.get("event") in _KINDS]
        samples = self._new_samples()
        cards = build_all(GpuSample, [line for file in self._gpu for line in file.lines()])
        if events:
            self._keep(events)
            read = assemble(self.recording.id, [*self._lasting, *chain.from_iterable(new for _, new in self._newest)])
            self.recording = replace(read, samples=self.recording.samples, gpu_samples=self.recording.gpu_samples)
        if samples:
            known = [*self.recording.samples, *samples]
            if len(known) > 3 * _KEPT_SAMPLES:
                known = [*bounded(known[:-_KEPT_SAMPLES], _KEPT_SAMPLES), *known[-_KEPT_SAMPLES:]]
            self.recording = replace(self.recording, samples=tuple(known))
        if cards:
            newest_of = {card.index: card for card in (*self.recording.gpu_samples, *cards)}
            self.recording = replace(self.recording, gpu_samples=tuple(newest_of.values())[-_MOST_CARDS:])
        self.version += bool(events or samples or cards)

    def _keep(self, events: list[dict[str, Any]]) -> None:
        """Keep what was read now, and of what came long ago only what lasts."""
        self._newest.append((self._journal.read_bytes, events))
        while len(self._newest) > 1 and (
            sum(size for size, _ in self._newest) > _KEPT_BYTES
            or sum(len(new) for _, new in self._newest) > _KEPT_EVENTS
        ):
            self._lasting = _lasting(self._lasting + self._newest.popleft()[1])

    def _new_samples(self) -> list[Sample]:
        rows = [sample for file, rows in self._recent for sample in rows.samples(file.lines())]
        for file in self._long_ago:
            rows += SampleRows().samples(file.lines())
        self._long_ago = ()  # from now on all of them have been recent
        last_s = self.recording.samples[-1].mono_s if self.recording.samples else float("-inf")
        found = {sample.mono_s: sample for sample in rows if sample.mono_s > last_s}
        return [found[time] for time in sorted(found)]


def _lasting(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first two and the last two of each kind: starts add to the first, of others the last counts."""
    kinds = [[event for event in events if event["event"] == kind] for kind in sorted(_LASTING)]
    return [event for kind in kinds for event in (*kind[:2], *kind[2:][-2:])]


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]
