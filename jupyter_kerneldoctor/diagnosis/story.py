"""The story of the memory in words: where it began, how it grew, what was in its way. Only what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .memory import WHY_ABOVE_LIMIT
from .units import cell_name, duration, sentence, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .facts import Facts

_WORTH_TELLING_BYTES = 10 << 20
_JUMP = 0.15
"""Memory that grew within less than this share of the cell's time is worth a sentence."""

_FULL_HOUSE = 0.8
_STAIRCASE_CELLS = 3
_STALE_S = 1.0


def story(facts: Facts) -> str | None:
    """Tell how the memory went until the kernel died; None when too little was measured."""
    beginning = [*_growth(facts)]
    rest = (*_shape(facts), *_limit(facts), *_blind_spot(facts), *_others(facts))
    return " ".join((*beginning, *rest)) if beginning else None


def _growth(facts: Facts) -> Iterator[str]:
    cell, memory = facts.cell, facts.memory
    before, peak = memory.before_bytes, memory.peak_bytes
    if cell is None or before is None or peak is None:
        return
    name = sentence(cell_name(cell.execution_count))
    if peak - before < _WORTH_TELLING_BYTES:
        yield f"{name} began with {size(before)} in use and was not seen to grow."
        return
    last = max((sample.mono_s for sample in memory.samples if sample.rss_bytes == peak), default=None)
    took = f" in {duration(last - cell.started_mono_s)}" if last is not None and last > cell.started_mono_s else ""
    yield f"{name} began with {size(before)} in use and grew to {size(peak)}{took}."


def _shape(facts: Facts) -> Iterator[str]:
    memory = facts.memory
    before, peak = memory.before_bytes, memory.peak_bytes
    if before is None or peak is None:
        return
    left = _left_behind_bytes(facts)
    if left > max(_WORTH_TELLING_BYTES, peak - before):
        yield f"The cells before it had left {size(left)} behind, step by step."
    jump_s = _jump_s(facts, before, peak) if peak - before >= _WORTH_TELLING_BYTES else None
    if jump_s is not None:
        yield f"Most of that came within {duration(jump_s)}."


def _left_behind_bytes(facts: Facts) -> int:
    """What the cells before this one added, if several of them did and hardly any gave something back."""
    steps = [
        cell.rss_after_bytes - cell.rss_before_bytes
        for cell in facts.recording.cells
        if cell is not facts.cell and cell.rss_after_bytes is not None and cell.rss_before_bytes is not None
    ]
    rising = [step for step in steps if step > _WORTH_TELLING_BYTES]
    return sum(rising) if len(rising) >= _STAIRCASE_CELLS and sum(steps) > 0.5 * sum(rising) else 0


def _jump_s(facts: Facts, before_bytes: int, peak_bytes: int) -> float | None:
    """The time between a tenth and nine tenths of the growth, if it is short compared with the cell's."""
    cell, growth = facts.cell, peak_bytes - before_bytes
    seen = [(sample.mono_s, sample.rss_bytes) for sample in facts.memory.samples if sample.rss_bytes is not None]
    low = [time for time, rss in seen if rss <= before_bytes + growth / 10]
    high = [time for time, rss in seen if rss >= before_bytes + growth * 9 / 10]
    if cell is None or not low or not high or len(seen) < _STAIRCASE_CELLS:
        return None
    took, whole = high[0] - low[-1], seen[-1][0] - cell.started_mono_s
    return took if 0 < took < _JUMP * whole else None


def _limit(facts: Facts) -> Iterator[str]:
    memory = facts.memory
    if not memory.limit_bytes:
        return
    full = memory.before_bytes is not None and memory.before_bytes >= _FULL_HOUSE * memory.limit_bytes
    most = ", most of which was in use before the cell began" if full else ""
    above = f"; {WHY_ABOVE_LIMIT}" if memory.above_limit(memory.peak_bytes) else ""
    yield sentence(f"{memory.allowance}{most}{above}.")


def _blind_spot(facts: Facts) -> Iterator[str]:
    """A last measurement that is old says little about the end."""
    end, last = facts.recording.end, facts.memory.last
    if end is not None and last is not None and end.mono_s - last.mono_s > _STALE_S:
        yield f"What happened in the last {duration(end.mono_s - last.mono_s)} was not measured."


def _others(facts: Facts) -> Iterator[str]:
    """The limit counts more than the kernel: say so where that is the larger part."""
    group, peak = facts.memory.group_peak_bytes, facts.memory.peak_bytes
    if group is not None and peak is not None and facts.memory.has_group_limit and peak < group / 2:
        yield (
            f"The kernel itself was seen with {size(peak)} at most; of the {size(group)} that count towards the limit, "
            "the rest belongs to other processes there, such as its children, or is cached files."
        )
