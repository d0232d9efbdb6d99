"""What memory grew in while a cell ran: by which statements of the user's, in which objects, and how step by step.

Which statement took it is known from the stacks that were read while it grew. A container that keeps what another
statement made is to blame in its place: `kept.append(y)`, not `y = net(x)`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from jupyter_kerneldoctor.recording import events
from jupyter_kerneldoctor.recording.model import Cell

from ..code.notebook import CodeTooLargeError, Notebook
from ..code.stores import Store, container_name, stores
from ..postmortem import Grown, Statement
from .frame_names import FrameNames
from .grown_objects import grown_objects, largest_objects
from .memory import Memory
from .memory_shape import Shape
from .peaks import Peaks, peaks
from .statements import statement_at, statement_of
from .user_frames import user_frames

_MOST = 0.5  # of the growth
_LITTLE = 0.25
_STEPS = 8  # items that a container must have gained: fewer may belong to one step of a loop
_INNER = ("forward", "call", "__call__")
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
        cell = self.memory.cell
        return () if cell is None else grown_objects(self.memory.recording, cell, self.names)

    @cached_property
    def peaks(self) -> Peaks:
        """The peaks and valleys of the memory since the cell began."""
        curve = [self.memory.before_bytes, *(one.rss_bytes for one in self.memory.samples)]
        return peaks([one for one in curve if one is not None])

    @property
    def grown(self) -> tuple[Grown, ...]:
        """The objects to name: those that grew, else those that held much when the cell began."""
        return self.objects or largest_objects(() if self.shape is None else self.shape.held, self.names)

    @property
    def total_bytes(self) -> int:
        """The growth that is to be explained."""
        return max(self.memory.missing_bytes or 0, self.grew_bytes)

    @cached_property
    def container(self) -> Grown | None:
        """The container that keeps at least half of what grew, and got longer by it."""
        return next((one for one in self.objects if self._keeps(one)), None)

    def _keeps(self, one: Grown) -> bool:
        gained = self.items_gained(one)
        return gained > 0 and 2 * (one.grew_bytes or 0) >= max(self.grew_bytes, one.grew_bytes or 0)

    @staticmethod
    def items_gained(one: Grown) -> int:
        """Return how many items an object gained while the cell ran; 0 where that is not known."""
        return 0 if one.length is None else max(0, one.length - (one.length_before or 0))

    @property
    def is_steady(self) -> bool:
        """Whether each of many steps left about as much behind: a leak, which no smaller step would cure."""
        found = self.container
        if found is not None and self.items_gained(found) >= _STEPS and not _is_of_one_step(found):
            return True
        return self.peaks.keeps_rising

    @property
    def bytes_per_item(self) -> int | None:
        """How much each item of the container takes."""
        found = self.container
        return None if found is None else (found.grew_bytes or 0) // self.items_gained(found)

    def blamed(self, last: Statement | None) -> Statement | None:
        """Return the statement that took most of the growth, or that keeps it.

        `last` is where the kernel was last seen. That stands where it took a good part itself: only a statement of the
        same loop, or one that took most while `last` took little, is blamed in its place.
        """
        for found in (self.keeping, self._largest):
            if found is not None and (last is None or self._share(last) < _LITTLE or self._shares_loop(found, last)):
                return found
        return last

    @cached_property
    def _largest(self) -> Statement | None:
        largest = next(iter(self.charged), None)
        return largest.statement if largest is not None and largest.bytes >= _MOST * self.known_bytes else None

    def _share(self, statement: Statement) -> float:
        """Return the part of the growth that came while a statement ran; it also took what nobody saw grow."""
        if not self.total_bytes:
            return 1.0
        own = sum(one.bytes for one in self.charged if _is_at(one.statement, statement))
        return (own + self.total_bytes - self.grew_bytes) / self.total_bytes

    @cached_property
    def keeping(self) -> Statement | None:
        """The statement that puts what grew into a container that keeps it; None where none does, or it is unclear."""
        try:
            found = self._store()
        except CodeTooLargeError:
            return None
        if found is None:
            return None
        at = statement_at(self.code, self.code.cells[found.scope.cell], found.statement.lineno)
        of_function = (one.statement for one in self.charged if _is_same_function(one.statement, at))
        return replace(at, via=next((one.via for one in of_function), ()))

    def _store(self) -> Store | None:
        running = self.code.running
        if self.container is not None:
            named = [one for one in stores(running) if _is_same(one.container, self.container.name)]
            return max(named, key=lambda one: self._nearness(one, self.container), default=None)
        if not self.peaks.keeps_rising:
            return None
        kept = [one for one in stores(running) if one.scope.loops_around(one.statement) and self._keeps_made(one)]
        return kept[0] if len(kept) == 1 else None

    def _nearness(self, store: Store, container: Grown | None) -> tuple[bool, bool, int]:
        """Prefer what stands in the function that holds the container, and what grew."""
        here = container is not None and f" {store.scope.function}," in f"{container.where}"
        at = statement_at(self.code, self.code.cells[store.scope.cell], store.statement.lineno)
        own = sum(one.bytes for one in self.charged if _is_at(one.statement, at))
        return here, bool(store.scope.loops_around(store.statement)), own

    def _keeps_made(self, store: Store) -> bool:
        """Whether a store keeps a name that the statement bound which took most."""
        if self._largest is None:
            return False
        lines = list(_lines(self._largest, self.code.cells[store.scope.cell]))
        made = {
            container_name(target)
            for node in store.scope.nodes
            if isinstance(node, ast.Assign) and node.lineno in lines
            for target in node.targets
        }
        return any(
            isinstance(node, ast.Name) and node.id in made and not isinstance(value, ast.Call)
            for value in store.values
            for node in ast.walk(value)
        )

    def _shares_loop(self, found: Statement, last: Statement) -> bool:
        """Whether the last statement was reached from a loop that repeats another one."""
        try:
            return any(
                low <= line <= high
                for cell in self.code.cells
                for low, high in self._loops(cell, set(_lines(found, cell)))
                for line in _lines(last, cell)
            )
        except CodeTooLargeError:
            return False

    def _loops(self, cell: Cell, lines: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the first and the last line of the loops around the statements at some lines of a cell."""
        for scope in self.code.scopes(self.code.index(cell)) if lines else ():
            for node in scope.nodes:
                if isinstance(node, ast.stmt) and node.lineno in lines:
                    yield from ((one.lineno, one.end_lineno or one.lineno) for one in scope.loops_around(node))


def _is_at(one: Statement, other: Statement) -> bool:
    """Whether two statements are the same one."""
    same_place = (one.execution_count, one.cell_id, one.file) == (other.execution_count, other.cell_id, other.file)
    return same_place and one.line <= other.line <= (one.end_line or one.line)


def _is_same_function(one: Statement, other: Statement) -> bool:
    place = (other.execution_count, other.cell_id, other.file, other.function)
    return (one.execution_count, one.cell_id, one.file, one.function) == place


def _is_in(statement: Statement, cell: Cell) -> bool:
    place = (statement.execution_count, statement.cell_id)
    return statement.file is None and place == (cell.execution_count, cell.cell_id)


def _lines(statement: Statement, cell: Cell) -> Iterator[int]:
    """Yield the lines of a cell at which a statement, and the calls that led to it, stand."""
    if _is_in(statement, cell):
        yield statement.line
    for one in statement.via:
        if one.file is None and (one.execution_count, one.cell_id) == (cell.execution_count, cell.cell_id):
            yield one.line


def _is_same(written: str, name: str) -> bool:
    """Whether a container in the code is the one of this name: `self.seen` in a method is `trainer.seen` outside."""
    if "." not in written or "." not in name:
        return written == name
    return written.rpartition(".")[2] == name.rpartition(".")[2]


def _is_of_one_step(container: Grown) -> bool:
    """Whether it is a local variable of a function that runs once a step."""
    return any(f"local of {name}," in f"{container.where}" for name in _INNER)
