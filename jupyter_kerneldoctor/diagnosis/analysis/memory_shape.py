"""How memory use developed until the end, as one of eight shapes, with its numbers: the shape decides what to change.

Found from what the cells measured before and after, from the samples, and from the names of the biggest objects.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace
from jupyter_kerneldoctor.recording.model import Cell

from ..code.zeroed import Zeroed
from .child_memory import Children
from .grown_objects import is_in_memory
from .memory import Memory
from .memory_files import FilesInMemory, files_in_memory

Name = Literal["jump", "ramp", "staircase", "full-house", "touched-later", "children", "shared-memory", "page-cache"]
"""One jump; a ramp inside the cell; steps that earlier cells left; full before the cell began; memory that was reserved
in an earlier cell and first used in this one; child processes; shared memory; other files that are kept in memory."""

WORTH_TELLING_BYTES = 10 << 20
JUMP = 0.15
"""Memory that grew within less than this share of the cell's time jumped."""

_STAIRCASE_CELLS = 3
FULL_HOUSE = 0.8
"""A share of the limit that is a lot to begin with."""

_LARGE_PART = 0.3
_SAME = 0.1  # memory given back that differs by less than this from what a cell left is taken to be that
_NEARLY_ALL = 0.9  # of the growth
_MOST = 0.5  # of the cell's time
_FEW_SAMPLES = 3
_FULL = 0.97
_NOISE_BYTES = 1 << 20
_MOST_KEPT = 200  # of a day with many thousand cells the largest are enough


@dataclass(frozen=True)
class Left:
    """What a cell left in memory, as far as it was still there when the last cell began."""

    execution_count: int | None
    bytes: int


@dataclass(frozen=True)
class Shape:
    """How memory use developed while the cell ran."""

    before_bytes: int
    """Resident memory when the cell began."""
    peak_bytes: int
    """The highest that was seen in it."""
    took_s: float | None = None
    """From the start of the cell to the first measurement with nine tenths of the growth: the rest can be noise."""
    steady_bytes_per_s: float | None = None
    """How fast it grew, if that was over most of the cell, by steps none of which was a large part of the growth."""
    jump_s: float | None = None
    """In which time most of the growth came, if that was short."""
    left: tuple[Left, ...] = ()
    """What earlier cells left, most first."""
    held: tuple[NamedObject, ...] = ()
    """The biggest things that the variables held when the cell began, biggest first."""
    touched: tuple[Zeroed, ...] = ()
    """Arrays that earlier cells had reserved, and that were not in memory yet."""
    children: Children | None = None
    files: tuple[FilesInMemory, ...] = ()
    """Files that are kept in memory, and grew, most first."""
    limit_bytes: int | None = None

    @property
    def name(self) -> Name:
        """Which it is: what explains most goes first."""
        limit = self.limit_bytes or 0
        if self.children is not None and self.children.bytes > max(self.growth_bytes, _LARGE_PART * limit):
            return "children"
        if self.files and self.files[0].bytes > max(self.growth_bytes / 2, _LARGE_PART * limit, WORTH_TELLING_BYTES):
            return "shared-memory" if self.files[0].is_shared_memory else "page-cache"  # its own memory holds it, too
        if self.touched:
            return "touched-later"
        if len(self.left) >= _STAIRCASE_CELLS and sum(one.bytes for one in self.left) > self.growth_bytes:
            return "staircase"
        if limit and self.before_bytes >= FULL_HOUSE * limit:
            return "full-house"
        return "ramp" if self.jump_s is None else "jump"

    @property
    def is_in_files(self) -> bool:
        """Whether files filled the memory that the process itself has not: nothing that it holds is to blame."""
        return bool(self.files) and self.files[0].bytes > 2 * max(self.growth_bytes, WORTH_TELLING_BYTES)

    @property
    def growth_bytes(self) -> int:
        """How much the cell was seen to add."""
        return max(0, self.peak_bytes - self.before_bytes)


def shape(memory: Memory, reserved: Iterable[Zeroed] = ()) -> Shape | None:
    """Return the shape the memory had while its cell ran; None when too little was measured.

    `reserved` are the arrays of earlier cells whose memory had not been used yet.
    """
    cell, recording = memory.cell, memory.recording
    before, peak = memory.before_bytes, memory.peak_bytes
    if cell is None or before is None or peak is None:
        return None
    earlier = [one for one in recording.cells if one.started_mono_s < cell.started_mono_s]
    left, look = left_behind(earlier, before), _look_before(recording.namespaces, cell)
    held = _biggest(look.objects if look is not None else (), before)
    touched = _touched(reserved, peak - before)
    below = memory.children
    rise = _rise(memory, cell, before, peak) if peak - before >= WORTH_TELLING_BYTES else _Rise()
    files, pace = files_in_memory(recording.system_states), (rise.took_s, rise.steady_bytes_per_s, rise.jump_s)
    return Shape(before, peak, *pace, left, held, touched, below, files, memory.limit_bytes)


def left_behind(earlier: Iterable[Cell], before_bytes: int) -> tuple[Left, ...]:
    """Return what earlier cells left and nobody gave back since, most first; together no more than was held.

    Memory that a later cell gave back is taken from the cell that had left about as much, else from the latest ones.
    """
    kept: list[tuple[Cell, int]] = []
    for cell in earlier:
        if cell.rss_before_bytes is None or cell.rss_after_bytes is None:
            continue
        change = cell.rss_after_bytes - cell.rss_before_bytes
        if change >= _NOISE_BYTES:
            kept.append((cell, change))
            if len(kept) > _MOST_KEPT:
                kept.remove(min(kept, key=lambda one: one[1]))
        elif change <= -_NOISE_BYTES:
            kept = _give_back(kept, -change)
    surplus = sum(bytes_ for _, bytes_ in kept) - before_bytes
    if surplus > 0:
        kept = _give_back(kept, surplus)
    found = [Left(cell.execution_count, bytes_) for cell, bytes_ in kept if bytes_ >= WORTH_TELLING_BYTES]
    return tuple(sorted(found, key=lambda one: -one.bytes))


def _give_back(kept: list[tuple[Cell, int]], given_bytes: int) -> list[tuple[Cell, int]]:
    same = [number for number, (_, size) in enumerate(kept) if abs(size - given_bytes) <= _SAME * given_bytes]
    if same:
        return [one for number, one in enumerate(kept) if number != same[-1]]
    rest = list(kept)
    while rest and given_bytes > 0:
        cell, size = rest.pop()
        if size > given_bytes:
            rest.append((cell, size - given_bytes))
        given_bytes -= size
    return rest


def _look_before(looks: Sequence[Namespace], cell: Cell) -> Namespace | None:
    """The last look at the variables before the cell began."""
    earlier = [look for look in looks if look.mono_s <= cell.started_mono_s]
    return earlier[-1] if earlier else None


def _biggest(objects: Iterable[NamedObject], before_bytes: int) -> tuple[NamedObject, ...]:
    """Return those worth naming: a good part of what was held, and no more than that, as a lazy array may claim."""
    least = max(WORTH_TELLING_BYTES, before_bytes / 20)
    worth = [one for one in objects if is_in_memory(one) and least <= one.bytes <= before_bytes]
    return tuple(sorted(worth, key=lambda one: -one.bytes))


def _touched(reserved: Iterable[Zeroed], growth_bytes: int) -> tuple[Zeroed, ...]:
    """Return the arrays that this cell was the first to fill, if that may explain its growth."""
    if growth_bytes < WORTH_TELLING_BYTES:
        return ()
    return tuple(one for one in reserved if one.bytes >= _LARGE_PART * growth_bytes)


@dataclass(frozen=True)
class _Rise:
    """How the memory came from what it was before the cell to its highest; nothing is known of a small growth."""

    took_s: float | None = None
    jump_s: float | None = None
    steady_bytes_per_s: float | None = None


def _rise(memory: Memory, cell: Cell, before_bytes: int, peak_bytes: int) -> _Rise:
    """Measure the time from a tenth to nine tenths of the growth, and compare it with the cell's own.

    What the cell had when it began counts as a measurement, so that what came before the first sample is no mystery.
    """
    growth = peak_bytes - before_bytes
    samples = [(sample.mono_s, sample.rss_bytes) for sample in memory.samples if sample.rss_bytes is not None]
    seen = [(cell.started_mono_s, before_bytes), *samples]
    high_s, high = next((one for one in seen if one[1] >= before_bytes + growth * _NEARLY_ALL), (None, 0))
    if high_s is None:
        return _Rise()
    low_s = max(time for time, rss in seen if time <= high_s and rss <= before_bytes + growth * (1 - _NEARLY_ALL))
    took_s, main_s, whole_s = high_s - cell.started_mono_s, high_s - low_s, _full_s(memory, seen) - cell.started_mono_s
    if len(samples) < _FEW_SAMPLES:
        return _Rise(took_s)
    largest_step = max(after - before for (_, before), (_, after) in itertools.pairwise(seen))
    steady = main_s >= _MOST * whole_s and largest_step < _LARGE_PART * growth
    return _Rise(
        took_s,
        jump_s=main_s if 0 < main_s < JUMP * whole_s else None,
        steady_bytes_per_s=(high - before_bytes) / took_s if steady and took_s > 0 else None,
    )


def _full_s(memory: Memory, seen: Sequence[tuple[float, int]]) -> float:
    """Return when the container's memory was full to the end: the cell then hardly goes on, for up to a minute."""
    full = _FULL * (memory.limit_bytes or math.inf)
    last = itertools.takewhile(lambda one: (one.cgroup_bytes or 0) >= full, reversed(memory.samples))
    return min((one.mono_s for one in last), default=seen[-1][0])
