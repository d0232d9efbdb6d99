"""How the recorded kernel failed: in which cell, after how long, and how its report says it in a few words."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..recording.model import Cell, Recording

_SEEN_STUCK_S = 15.0
"""A cell that does nothing for so long has been recorded as stuck."""


def took_s(recording: Recording) -> float:
    """Return how long the cells ran, without the wait of one that was stuck to its end."""
    return sum(max(0.0, _worked_until_mono_s(recording, cell) - cell.started_mono_s) for cell in recording.cells)


def _worked_until_mono_s(recording: Recording, cell: Cell) -> float:
    until = _ended_mono_s(recording, cell)
    looks = [one for one in recording.stuck if cell.started_mono_s <= one.mono_s <= until]
    return until if not looks or looks[-1].over else min(until, looks[-1].since_mono_s + _SEEN_STUCK_S)


def failure(recording: Recording, post_mortem: Mapping[str, Any]) -> tuple[int | None, float]:
    """Return which cell failed, from 1, and after how long; an error or a hang comes before the kernel's end."""
    culprit, survived = post_mortem.get("cell"), survived_in(post_mortem) or {}
    counts = [cell.execution_count for cell in recording.cells]
    if culprit is None or culprit["execution_count"] not in counts:
        return None, 0.0
    number = len(counts) - counts[::-1].index(culprit["execution_count"])
    cell = recording.cells[number - 1]
    until = _ended_mono_s(recording, cell)
    if survived.get("time"):
        at = datetime.fromisoformat(survived["time"]).timestamp()
        until = min(until, recording.started_mono_s + at - recording.started_wall_s)
    looks = [one for one in recording.stuck if not one.over and cell.started_mono_s <= one.mono_s <= until]
    if looks and "stuck" in (post_mortem["state"], survived.get("kind")):
        until = min(until, looks[-1].since_mono_s + _SEEN_STUCK_S)
    return number, max(0.0, until - cell.started_mono_s)


def survived_in(post_mortem: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the cell of the report raised, where the kernel survived that, whatever became of it later."""
    headline, culprit = post_mortem["headline"], post_mortem.get("cell") or {}
    raised = [one for one in post_mortem["incidents"] if one["cell"] and one["headline"] in headline]
    count = culprit.get("execution_count")
    return next((one for one in reversed(raised) if one["cell"]["execution_count"] == count), None)


def how_it_ended(post_mortem: Mapping[str, Any]) -> str:
    """Return "killed by Linux at the memory limit", "stuck", or the exception that it survived."""
    survived, state = survived_in(post_mortem), post_mortem["state"]
    summary = str(post_mortem["end"]["summary"]).removeprefix("Ended: ")
    if survived is not None and not f"{survived.get('kind')}".startswith("stuck"):
        return f"{survived['error'].rpartition('.')[2]}"
    if state == "stuck":
        return "stuck"
    starts_with_exception = re.match(r"[A-Z]\w*[A-Z]", summary) is not None
    return summary if starts_with_exception else summary[:1].lower() + summary[1:]


def _ended_mono_s(recording: Recording, cell: Cell) -> float:
    newest = max((sample.mono_s for sample in recording.samples), default=0.0)
    until = recording.end.mono_s if recording.end is not None else newest
    return until if cell.ended_mono_s is None else cell.ended_mono_s
