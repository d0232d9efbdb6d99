"""What a running kernel uses, what is left below the limit that would end it, and how long that lasts."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..diagnosis.texts.timeline import thin, unseen_peak
from ..recording.events import Held, Namespace
from ..recording.model import Cell, Limit, Recording
from .headroom import headroom, own_bytes, rss_at, time_of

Document = dict[str, Any]

_POINTS = 300
_CELLS = 200
_VARIABLES = 8

_LOW, _CRITICAL = 0.2, 0.1
"""Shares of the limit: what is left below them is little, and very little."""

_WINDOW_S, _SHORTEST_S = 20.0, 3.0
"""The slope is that of the last 20 s in the running cell, if it has run for 3 s."""

_STEADY = 0.5
"""Each half of the growth has at least this share of the whole slope."""

_TELLING = ("MemoryError", "KeyboardInterrupt")
"""Errors of a cell that may be told as survived: an interrupt ends a hang, or a loop that has no end."""

_LONGEST_S = 600.0
"""What lasts longer is no news."""


@dataclass(frozen=True)
class Use:
    """What a cell did to the memory; None where it was not measured."""

    before_bytes: int | None
    peak_bytes: int | None
    after_bytes: int | None

    @property
    def took_bytes(self) -> int | None:
        """How far memory rose above where it began."""
        return None if None in (self.peak_bytes, self.before_bytes) else self.peak_bytes - self.before_bytes  # type: ignore[operator]

    @property
    def kept_bytes(self) -> int | None:
        """What was still in use afterwards, below zero where it freed memory."""
        return None if None in (self.after_bytes, self.before_bytes) else self.after_bytes - self.before_bytes  # type: ignore[operator]


def lasts_s(recording: Recording, left_bytes: int) -> float | None:
    """Return how long what is left lasts at the steady growth of the running cell; None where it does not grow so."""
    cell = recording.running_cell
    if cell is None or not recording.samples:
        return None
    begin_s = max(cell.started_mono_s, recording.samples[-1].mono_s - _WINDOW_S)
    points = [
        (sample.mono_s, memory)
        for sample in recording.samples
        if sample.mono_s >= begin_s and (memory := own_bytes(sample)) is not None
    ]
    if len(points) < 3 or points[-1][0] - points[0][0] < _SHORTEST_S:
        return None
    middle_s = (points[0][0] + points[-1][0]) / 2
    middle = min(points[1:-1], key=lambda point: abs(point[0] - middle_s))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise((points[0], middle, points[-1]))]
    slope = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
    if slope <= 0 or min(slopes) < _STEADY * slope or left_bytes / slope > _LONGEST_S:
        return None
    return round(left_bytes / slope, 1)


def summary(recording: Recording, *, with_cells: bool = False) -> Document:
    """Return what the status bar shows; with the cells, what is marked in the notebook, too."""
    room, is_recorded = headroom(recording), recording.end is None and not recording.switched_off
    cell = recording.running_cell if is_recorded else None
    left_bytes = None if room is None else room.left_bytes
    share = None if room is None else room.left_bytes / room.limit.bytes
    return {
        "recording": recording.id,
        "kernel_id": recording.kernel.kernel_id,
        "loaded_by": recording.kernel.loaded_by,
        "is_recorded": is_recorded,
        "own_bytes": own_bytes(recording.samples[-1]) if recording.samples else None,
        "limit": None if room is None else {"bytes": room.limit.bytes, "name": room.limit.name},
        "used_bytes": None if room is None else room.used_bytes,
        "left_bytes": left_bytes,
        "reserved_bytes": None if room is None else room.reserved_bytes,
        "level": None if share is None else "critical" if share < _CRITICAL else "low" if share < _LOW else "ok",
        "lasts_s": None if left_bytes is None or cell is None else lasts_s(recording, left_bytes),
        "running": None if cell is None else {**_named(cell), "seq": cell.seq},
        "noted_mono_s": max(_noted_mono_s(recording), default=None),
        **({"cells": [_row(recording, cell) for cell in recording.cells[-_CELLS:]]} if with_cells else {}),
    }


def _noted_mono_s(recording: Recording) -> Iterator[float]:
    """Yield when it got stuck, went on, or survived an error. Some errors are known only by their name."""
    yield from (one.mono_s for one in recording.stuck)
    yield from (one.mono_s for one in recording.incidents)
    yield from (
        cell.ended_mono_s for cell in recording.cells if cell.error in _TELLING and cell.ended_mono_s is not None
    )


def document(recording: Recording, others: Iterable[Recording] = ()) -> Document:
    """Return what the panel shows; `others` are the other running kernels of this server."""
    start_s = recording.started_mono_s
    room, points = headroom(recording), _points(recording)
    return {
        **summary(recording, with_cells=True),
        "timeline": {
            "started": "",
            "samples": {
                "t_s": [round(mono_s - start_s, 2) for mono_s, _ in points],
                "memory_bytes": [memory for _, memory in points],
            },
            "limit": None if room is None else {"bytes": room.limit.bytes, "name": room.limit.name},
            "cells": [_times(cell, start_s) for cell in recording.cells[-_CELLS:]],
            "death_s": None,
        },
        "variables": _variables(recording),
        "children": _children(recording),
        "gpus": _gpus(recording),
        "others": [row for other in others if room is not None and (row := _neighbour(other, room.limit)) is not None],
    }


def fingerprint(document: Document) -> object:
    """Return a value that changes when the document says something new: memory that moves a little is nothing new."""
    limit = document["limit"]
    step = max(1 << 20, (limit["bytes"] if limit else 0) // 500)
    coarse = [(document[name] or 0) // step for name in ("own_bytes", "left_bytes") if isinstance(document[name], int)]
    cells = [(row["execution_count"], row["end_s"]) for row in document.get("cells", ())[-3:]]
    cards = [(card["used_bytes"] or 0) // step for card in document.get("gpus", ())]
    others = [(other["kernel_id"], (other["bytes"] or 0) // step) for other in document.get("others", ())]
    facts = [document[name] for name in ("recording", "is_recorded", "level", "running", "noted_mono_s")]
    rare = [document.get("variables"), (document.get("children") or {}).get("count")]
    return coarse, cells, cards, others, facts, rare, document["lasts_s"] is None


def use_of(recording: Recording, cell: Cell) -> Use:
    """Return what was measured of a cell by the kernel, else by the samples from its start to its end."""
    before, peak, after = cell.rss_before_bytes, cell.peak_bytes, cell.rss_after_bytes
    if None not in (before, peak, after):
        return Use(before, peak, after)
    begin = bisect_left(recording.samples, cell.started_mono_s, key=time_of)
    end = len(recording.samples)
    if cell.ended_mono_s is not None:
        end = bisect_right(recording.samples, cell.ended_mono_s, key=time_of)
    during = [sample.rss_bytes for sample in recording.samples[begin:end] if sample.rss_bytes is not None]
    if before is None:
        before = rss_at(recording, begin - 1)
    if after is None and cell.finished:
        after = rss_at(recording, end) or (during[-1] if during else None)
    seen = [value for value in (before, after, peak, *during) if value is not None]
    return Use(before, max(seen, default=None), after)


def _points(recording: Recording) -> list[tuple[float, int]]:
    """Return the curve: what was sampled, and of each cell the highest point where no sample saw it."""
    samples = thin([sample for sample in recording.samples if own_bytes(sample) is not None], _POINTS)
    points = [(sample.mono_s, memory) for sample in samples if (memory := own_bytes(sample)) is not None]
    unseen = []
    for cell in recording.cells[-_CELLS:]:
        if cell.ended_mono_s is not None:
            begin, end = bisect_left(points, (cell.started_mono_s,)), bisect_right(points, (cell.ended_mono_s, 1 << 63))
            unseen += unseen_peak(cell, cell.ended_mono_s, points[begin:end])
    return sorted(points + unseen)


def _named(cell: Cell) -> Document:
    return {"execution_count": cell.execution_count, "cell_id": cell.cell_id}


def _times(cell: Cell, start_s: float) -> Document:
    end_s = None if cell.ended_mono_s is None else round(cell.ended_mono_s - start_s, 3)
    return {"execution_count": cell.execution_count, "start_s": round(cell.started_mono_s - start_s, 3), "end_s": end_s}


def _row(recording: Recording, cell: Cell) -> Document:
    use = use_of(recording, cell)
    memory = {"peak_bytes": use.peak_bytes, "took_bytes": use.took_bytes, "kept_bytes": use.kept_bytes}
    first_line = next((line for line in cell.source.splitlines() if line.strip()), "")[:80]
    return {
        **_times(cell, recording.started_mono_s),
        **_named(cell),
        **memory,
        "source": first_line,
        "error": cell.error,
    }


def _variables(recording: Recording) -> Document | None:
    """Return the biggest variables when they were last examined, with the cell after or in which that was."""
    looks: list[Namespace | Held] = [*recording.namespaces[-1:], *recording.held[-1:]]
    if not looks:
        return None
    newest = max(looks, key=lambda look: look.mono_s)
    cell = recording.execution(newest.cell_seq)
    fields = ("name", "type", "bytes", "shape", "items", "device", "hidden")
    return {
        "execution_count": None if cell is None else cell.execution_count,
        "objects": [{name: getattr(one, name) for name in fields} for one in newest.objects[:_VARIABLES]],
    }


def _children(recording: Recording) -> Document | None:
    last = recording.samples[-1] if recording.samples else None
    if last is None or not last.children:
        return None
    known = last.tree_bytes is not None and last.rss_bytes is not None
    return {"count": last.children, "bytes": max(0, last.tree_bytes - last.rss_bytes) if known else None}  # type: ignore[operator]


def _gpus(recording: Recording) -> list[Document]:
    newest = {sample.index: sample for sample in recording.gpu_samples}
    return [
        {
            "index": card.index,
            "name": card.name,
            "total_bytes": card.total_bytes,
            "used_bytes": newest[card.index].used_bytes,
            "own_bytes": newest[card.index].own_bytes,
        }
        for card in recording.gpus
        if card.index in newest
    ]


def _neighbour(other: Recording, limit: Limit) -> Document | None:
    """Return another kernel with its memory, if it is below the same limit."""
    is_below = any((one.source, one.bytes) == (limit.source, limit.bytes) for one in other.limits)
    if not is_below or other.end is not None or not other.samples:
        return None
    return {"kernel_id": other.kernel.kernel_id, "bytes": own_bytes(other.samples[-1])}
