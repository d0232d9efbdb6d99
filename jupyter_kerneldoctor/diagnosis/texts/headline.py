"""What a headline adds to "ran out of memory": the story, not the last straw."""

from ..analysis.memory_shape import WORTH_TELLING_BYTES, Shape
from ..death import Death
from ..units import cell_name, of_size, quote, size
from .allocation_site import WORTH_TELLING_BYTES as _LARGE_BYTES
from .allocation_site import filled_by_others, needed
from .memory_story import neighbour, run_before

_A_GOOD_PART = 0.2  # of the limit
_MOST = 0.5
_FEWEST_STEPS = 3


def shortage(death: Death, allowed: str) -> str:
    """Return ": the line needs 14.9 GiB; 1.4 GiB was left" for a headline, else the story, and what is `allowed`.

    It is shorter behind a function's line. A story that names the limit already is enough.
    """
    need, left = needed(death), death.memory.headroom_before_bytes
    if need is not None and left is not None and (need.value.bytes or 0) > max(left, _LARGE_BYTES):
        needs = size(need.value.bytes or 0)
        if death.in_function is not None:
            return f": {size(left)} was left for {needs}"
        return f": the line needs {needs}; {size(left)} was left"
    told = _story(death)
    if told is None:
        return f": {allowed}" if allowed else ""
    is_told = size(death.memory.limit_bytes or 0) in told
    return f": {told}; {allowed}" if allowed and not is_told else f": {told}"


def _story(death: Death) -> str | None:
    """Return what filled the memory before, or how: the cells before, an earlier run, another kernel, each step."""
    found = death.memory_shape
    if found is None or filled_by_others(death) is not None:
        return _other_kernel(death)
    return _run_again(death, found) or _staircase(death, found) or _other_kernel(death) or _each_step(death)


def _run_again(death: Death, found: Shape) -> str | None:
    before = run_before(death, found)
    if before is None or death.cell is None or before[1].bytes < _A_GOOD_PART * (found.limit_bytes or found.peak_bytes):
        return None
    run, kept = before
    again = f"it is {cell_name(run.execution_count)} run again"
    return f"{again}, and the first {quote(kept.name)} ({size(kept.bytes)}) was still there"


def _staircase(death: Death, found: Shape) -> str | None:
    limit = death.memory.limit_bytes or 0
    left = sum(one.bytes for one in found.left)
    if found.name != "staircase" or not limit or left < _MOST * limit:
        return None
    largest = next(iter(found.held), None)
    if largest is None or largest.bytes < _A_GOOD_PART * limit:
        return f"memory filled up to {size(limit)} over {len(found.left)} cells"
    return f"{quote(largest.name)} and more already held {of_size(left, limit)}"


def _other_kernel(death: Death) -> str | None:
    limit = death.memory.limit_bytes or 0
    others = [one for state in death.recording.system_states[-1:] for one in state.neighbours if one.notebook]
    largest = max(others, key=lambda one: one.rss_bytes or 0, default=None)
    if largest is None or not limit or (largest.rss_bytes or 0) < _A_GOOD_PART * limit:
        return None
    return f"{neighbour(largest)} holds {size(largest.rss_bytes or 0)} of {size(limit)}"


def _each_step(death: Death) -> str | None:
    """Say by how much a loop grows in each step, from the container that keeps the items, else from the samples."""
    growth, low = death.growth, death.growth.peaks.low
    if growth.container is not None and growth.is_steady and (growth.bytes_per_item or 0) >= WORTH_TELLING_BYTES // 10:
        return f"{quote(growth.container.name)} grows by {size(growth.bytes_per_item or 0)} with each item"
    if growth.peaks.keeps_rising and len(low) >= _FEWEST_STEPS:
        return f"it grows by {size((low[-1] - low[0]) / (len(low) - 1))} each step"
    return None
