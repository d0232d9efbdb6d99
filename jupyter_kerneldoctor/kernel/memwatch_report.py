"""Formats what `%%memwatch` shows: one line of figures, and a small timeline."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..diagnosis.units import duration, size
from ..recording.journal import read_events_from, values
from ..recording.layout import JOURNAL, RECENT
from ..recording.private_files import read_end_in, recording
from ..recording.samples import FIELDS, Sample, read_samples, time_of_unseen_peak
from ..render.textchart import chart
from .process_limits import process_limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .memory import Stretch

_WIDTH, _WIDTH_PX = 72, 480
_FLAT = 0.01
_LINE_BYTES = 512
"""No sample takes more."""
_LIMITS_PATIENCE_S = 0.5
"""How long to wait for a sidecar that has just started to record the limits."""


class Recorded:
    """The limits and samples of the recording, read on from where the last report ended."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._offset = 0
        self._limits: list[dict[str, Any]] = []

    def limits(self) -> list[dict[str, Any]]:
        """Return the limits in force."""
        deadline = time.monotonic() + _LIMITS_PATIENCE_S
        while True:
            events, self._offset = read_events_from(self.directory / JOURNAL, self._offset, "limits")
            self._limits = events[-1]["limits"] if events else self._limits
            if self._limits or time.monotonic() > deadline:
                return self._limits
            time.sleep(0.02)

    def newest_sample(self) -> Sample | None:
        """Return the newest sample; None where its line is not as this version writes it."""
        found: list[Sample] = []
        with suppress(OSError), recording(self.directory) as directory:
            for name in RECENT:
                last_line = read_end_in(directory, name, _LINE_BYTES).rstrip().rpartition(b"\n")[2]
                found += [Sample(*row) for row in values(last_line) if _is_sample(row)]
        return max(found, default=None)


def _is_sample(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != len(FIELDS) or type(row[0]) is not float:
        return False
    return all(one is None or type(one) is int for one in row[1:])


def report(stretch: Stretch, recorded: Recorded | None, *, timeline: bool) -> tuple[str, dict[str, Any] | None]:
    """Return the text for a stretch that has ended, and the timeline in it; None where it has none.

    Samples and limits come from the recording, if there is one.
    """
    draws = timeline and _has_moved(stretch)
    samples: tuple[Sample, ...] = ()
    if recorded is not None:
        newest = None if draws or stretch.peak_bytes is None else recorded.newest_sample()
        samples = read_samples(recorded.directory) if newest is None else (newest,)
    limits = [] if recorded is None else recorded.limits()
    within = [sample for sample in samples if _is_within(sample, stretch)]
    figures = _figures(stretch, within) + _headroom(stretch, limits, samples)
    drawn = {"timeline": _timeline(stretch, within)} if draws else None
    return "\n".join([figures, *(chart(drawn, _WIDTH)[:-1] if drawn else ())]), drawn


def as_html(text: str, drawn: dict[str, Any]) -> str:
    """Return the same for a page: the figures are the first line of the text, and fit any width."""
    from ..render import html, svgchart  # noqa: PLC0415 - only where there is something to draw

    figures = html.escaped(text.partition("\n")[0])
    return html.fragment(f"<p>{figures}</p>{svgchart.chart(drawn, width=_WIDTH_PX)}")


def _has_moved(stretch: Stretch) -> bool:
    """Return whether memory changed: a flat timeline shows no more than the figures."""
    known = [value for value in (stretch.before_bytes, stretch.peak_bytes, stretch.after_bytes) if value is not None]
    return bool(known) and max(known) - min(known) > _FLAT * max(known)


def _figures(stretch: Stretch, samples: list[Sample]) -> str:
    peak, basis = stretch.peak_bytes, ""
    if peak is None:
        known = [sample.rss_bytes for sample in samples if sample.rss_bytes is not None]
        known += [value for value in (stretch.before_bytes, stretch.after_bytes) if value is not None]
        peak, basis = max(known, default=None), " (highest sample; this system keeps no exact peak)"
    if peak is None or stretch.before_bytes is None or stretch.after_bytes is None:
        return f"memwatch: {_took(stretch)}; memory cannot be measured on this system"
    above, net = peak - stretch.before_bytes, stretch.after_bytes - stretch.before_bytes
    change = "nothing kept" if net == 0 else f"{'kept' if net > 0 else 'freed'} {size(abs(net))}"
    return f"memwatch: peak {size(peak)}{basis}, {size(max(0, above))} above the start; {change}; {_took(stretch)}"


def _took(stretch: Stretch) -> str:
    return duration((stretch.ended_mono_s or stretch.started_mono_s) - stretch.started_mono_s)


def _headroom(stretch: Stretch, limits: list[dict[str, Any]], samples: tuple[Sample, ...]) -> str:
    """Return how much more could have been allocated at the peak, below which limit; empty where unknown."""
    if stretch.peak_bytes is None or stretch.after_bytes is None:
        return ""
    above_now = stretch.peak_bytes - stretch.after_bytes
    headrooms = [(max(0, free - above_now), limit) for free, limit in _of_this_process()]
    for limit in limits if samples else ():
        if limit["kind"] == "ram":
            free = samples[-1].available_bytes
        else:
            used = samples[-1].cgroup_bytes
            free = None if used is None else limit["bytes"] - used
        if free is not None:
            headrooms.append((max(0, free - above_now), limit))
    if not headrooms:
        return ""
    headroom, limit = min(headrooms, key=lambda pair: pair[0])
    return f"; at the peak, {size(headroom)} of the {limit['name']} ({size(limit['bytes'])}) were free"


def _of_this_process() -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what is left below each limit of the process: it counts reserved memory, used or not."""
    with suppress(OSError):
        for one in process_limits():
            name = f"memory that this process may reserve, `{one.option}`"
            yield one.bytes - one.used_bytes, {"name": name, "bytes": one.bytes}


def _timeline(stretch: Stretch, samples: list[Sample]) -> dict[str, Any]:
    """Return the samples, with the exact sizes at both ends, and the peak where the samples missed it."""
    begin, end = stretch.started_mono_s, stretch.ended_mono_s or stretch.started_mono_s
    points = [(sample.mono_s, sample.rss_bytes) for sample in samples if sample.rss_bytes is not None]
    points = sorted([*points, (begin, stretch.before_bytes or 0), (end, stretch.after_bytes or 0)])
    if stretch.peak_bytes and stretch.peak_bytes > max(memory for _, memory in points):
        points.append((time_of_unseen_peak(points), stretch.peak_bytes))
    points.sort()
    return {
        "samples": {"t_s": [t - begin for t, _ in points], "memory_bytes": [memory for _, memory in points]},
        "limit": None,
        "cells": [],
    }


def _is_within(sample: Sample, stretch: Stretch) -> bool:
    return stretch.started_mono_s <= sample.mono_s <= (stretch.ended_mono_s or 0.0)
