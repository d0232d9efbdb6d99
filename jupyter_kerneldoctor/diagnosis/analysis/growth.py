"""What memory grew in while a cell ran: by which statements of the user's, in which objects, and how step by step.

Which statement took it is known from the stacks that were read while it grew, which object holds it from looks into the
running cell.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jupyter_kerneldoctor.recording import events

from ..code.notebook import Notebook
from ..code.stores import Store
from ..postmortem import Grown, Statement
from .frame_names import FrameNames
from .grown_objects import CONTAINERS, grown_objects, largest_objects, look_at_its_end
from .memory import Memory
from .memory_shape import Shape
from .peaks import Peaks, peaks
from .statements import is_at, statement_of
from .user_frames import user_frames

_HELD = 0.3  # the last look may have been when half of the growth had come
_LARGE_BYTES = 1 << 20
_AT_LEAST = 0.2  # of what cannot be measured all, as the gradients of the networks in a list
LITTLE, MOST = 0.25, 0.5  # of the growth
_STEPS = 8  # items that a container must have gained, or times that memory rose: fewer may belong to one step of a loop
INNER = ("forward", "call", "__call__")
"""Methods that run once in each step: what their local containers keep is given back at its end."""


@dataclass(frozen=True)
class Charged:
    """Memory that grew while one of the user's statements ran."""

    statement: Statement
    bytes: int


@dataclass(frozen=True)
class Growth:
    """How the memory of a cell grew, as far as it was recorded."""

    memory: Memory
    shape: Shape | None
    code: Notebook = field(repr=False)
    names: FrameNames = field(repr=False)
    find_graphs: Callable[[Notebook, Container[str]], Sequence[Store]] = field(default=lambda *_: (), repr=False)
    """Gives the statements that keep graphs of PyTorch, given the names of tensors that were seen with theirs."""

    @cached_property
    def _recorded(self) -> events.Growth | None:
        cell, growths = self.memory.cell, self.memory.recording.growths
        return next((one for one in growths if cell is not None and one.cell_seq == cell.seq is not None), None)

    @cached_property
    def charged(self) -> tuple[Charged, ...]:
        """The statements that memory grew in, most bytes first.

        What was charged to the same one by different calls is added up; the calls of the largest part stand for all.
        """
        found: dict[tuple[int | None, str | None, str | None, int], Charged] = {}
        parts = () if self._recorded is None else self._recorded.statements
        for part in sorted(parts, key=lambda one: -one.bytes):
            frames = user_frames(part.frames, self.names, self.memory.recording.kernel.notebook)
            if (at := statement_of(self.code, frames)) is not None:
                key = (at.execution_count, at.cell_id, at.file, at.line)
                known = found.get(key, Charged(at, 0))
                found[key] = Charged(known.statement, known.bytes + part.bytes)
        return tuple(sorted(found.values(), key=lambda one: -one.bytes))

    @cached_property
    def known_bytes(self) -> int:
        """The growth of which the statement is known."""
        return sum(one.bytes for one in self.charged)

    @cached_property
    def grew_bytes(self) -> int:
        """All growth while stacks were read."""
        return max(self.known_bytes, (self._recorded.grew_bytes or 0) if self._recorded is not None else 0)

    @cached_property
    def objects(self) -> tuple[Grown, ...]:
        """The objects that grew while the cell ran, most growth first."""
        return grown_objects(self.memory, self.names)

    @cached_property
    def peaks(self) -> Peaks:
        """The peaks and valleys of the memory since the cell began."""
        curve = [self.memory.before_bytes, *(one.rss_bytes for one in self.memory.samples)]
        return peaks([one for one in curve if one is not None])

    @property
    def grown(self) -> tuple[Grown, ...]:
        """The objects to name: those that grew, else those that held much when the cell began."""
        return self.objects or largest_objects(() if self.shape is None else self.shape.held, self.names)

    def is_held(self, part: float) -> bool:
        """Return whether an object was seen that holds so much of what grew, or a container that keeps it."""
        return self.container is not None or any(self.held_share(one) >= part for one in self.objects)

    @cached_property
    def _looks(self) -> list[events.Held]:
        cell = self.memory.cell
        return [one for one in self.memory.recording.held if cell is not None and one.cell_seq == cell.seq]

    @cached_property
    def graphs(self) -> Sequence[Store]:
        """The statements that keep graphs of PyTorch, whose memory no object shows."""
        seen = {one.name for look in self._looks for one in look.objects if one.with_graph and one.items is None}
        return self.find_graphs(self.code, seen | {f"self.{one.rpartition('.')[2]}" for one in seen if "." in one})

    def was_large(self, name: str) -> bool:
        """Return whether a look into the cell found an object of this name worth telling."""
        last = name.rpartition(".")[2]
        objects = (one for look in self._looks for one in look.objects if one.items or one.bytes >= _LARGE_BYTES)
        return any(one.name.rpartition(".")[2] == last for one in objects)

    @property
    def values_bytes(self) -> int:
        """What the values that were kept with their graphs take themselves: that stays when the graphs go."""
        return sum(one.grew_bytes or 0 for one in self.objects if one.with_graph and one.length is not None)

    @property
    def total_bytes(self) -> int:
        """The growth that is to be explained."""
        return max(self.memory.missing_bytes or 0, self.grew_bytes)

    @cached_property
    def container(self) -> Grown | None:
        """The container that keeps a good part of what grew, or graphs of PyTorch, and got longer by it.

        Where none is known to, the only one whose items keep memory that cannot be measured.
        """
        if found := next((one for one in self.objects if self._keeps(one) and not self._is_fleeting(one)), None):
            return found
        unmeasured = [one for one in self.objects if one.unmeasured and self.items_gained(one) >= _STEPS]
        return unmeasured[0] if len(unmeasured) == 1 and self.goes_on else None

    def _keeps(self, one: Grown) -> bool:
        gets_longer = self.items_gained(one) > 0 or is_of_containers(one) or is_queue(one)
        is_largest = one is max(self.objects, key=self.held_share) and self.items_gained(one) >= _STEPS and self.goes_on
        return gets_longer and (one.with_graph or self.held_share(one) >= (_AT_LEAST if is_largest else _HELD))

    def _is_fleeting(self, one: Grown) -> bool:
        """Whether it is a function's own with a few graphs, and the code keeps graphs elsewhere, from step to step."""
        is_longer = self.items_gained(one) >= _STEPS and len(self._lengths(one)) != 1
        if not one.with_graph or is_longer or not f"{one.where}".startswith("local of"):
            return False
        kept = {store.container.rpartition(".")[2] for store in self.graphs}
        return bool(kept) and one.name.rpartition(".")[2] not in kept

    def _lengths(self, one: Grown) -> set[int | None]:
        """Return how long the looks saw it, where there were several: it may be made anew in each round."""
        seen = [other.items for look in self._looks for other in look.objects if other.name == one.name]
        return {*seen} if len(seen) > 1 else set()

    @staticmethod
    def items_gained(one: Grown) -> int:
        """Return how many items an object gained while the cell ran; 0 where that is not known."""
        return 0 if one.length is None else max(0, one.length - (one.length_before or 0))

    @property
    def is_steady(self) -> bool:
        """Whether each of many steps left about as much behind: a leak, which no smaller step would cure."""
        found = self.container
        if found is not None and is_queue(found):
            return True
        if found is not None and self.items_gained(found) >= _STEPS and not is_of_one_step(found):
            return True
        # Within one step the layers of a network go up and down as well, a few times.
        return self.peaks.keeps_rising and len(self.peaks.low) >= _STEPS

    @property
    def bytes_per_item(self) -> int | None:
        """How much each item of the container takes; None where it keeps graphs, or what else is not measured."""
        found = self.container
        gained = 0 if found is None else self.items_gained(found)
        if found is None or found.with_graph or found.unmeasured or not gained:
            return None
        return (found.grew_bytes or 0) // gained

    def share_of(self, statement: Statement) -> float:
        """Return the part of the growth that came while a statement ran; it also took what nobody saw grow."""
        if not self.total_bytes:
            return 1.0
        own = sum(one.bytes for one in self.charged if is_at(one.statement, statement))
        return (own + self.total_bytes - self.grew_bytes) / self.total_bytes

    def held_share(self, one: Grown) -> float:
        """Return the part of the growth that an object holds; of that until the last look, if it grows by the step."""
        total = self.total_bytes
        if self._looked_bytes and self.goes_on and (self.items_gained(one) >= _STEPS or is_of_containers(one)):
            total = min(total, self._looked_bytes)
        return (one.grew_bytes or 0) / total if total else 0.0

    @cached_property
    def _looked_bytes(self) -> int:
        """How much memory had grown when the last look into the cell was taken; 0 where that is not known."""
        cell, before = self.memory.cell, self.memory.before_bytes
        last = None if cell is None else look_at_its_end(self.memory.recording, cell)
        looked_s = [*(one.mono_s for one in self._looks), 0.0 if last is None else last.mono_s]
        last_s = max(looked_s)
        until = [one.rss_bytes for one in self.memory.samples if one.rss_bytes and one.mono_s <= last_s]
        return max(0, until[-1] - before) if until and before is not None else 0

    @property
    def goes_on(self) -> bool:
        """Whether memory grew over most of the cell's time, or rose from step to step: more than one step took it."""
        return self.peaks.keeps_rising or (self.shape is not None and self.shape.steady_bytes_per_s is not None)

    @property
    def is_ramp(self) -> bool:
        """Whether memory came little by little, over a good part of the cell's time, perhaps after a slow beginning."""
        return self.shape is not None and self.shape.name == "ramp"


def is_of_containers(one: Grown) -> bool:
    """Whether what an object holds are containers that may get longer in its place: `log["loss"].append(x)`."""
    return one.item_type in CONTAINERS


def is_queue(one: Grown) -> bool:
    """Whether an object is a queue, or of calls that wait for a worker: it is filled faster than it is emptied."""
    return (one.type or "").endswith("Queue") or (one.item_type or "").endswith(("Future", "Task"))


def is_of_one_step(container: Grown) -> bool:
    """Whether it is a local variable of a function that runs once a step."""
    return any(f"local of {name}," in f"{container.where}" for name in INNER)
