"""Charges the growth of memory while a cell runs to the statements that ran then.

A step of growth is what came between two reads of the stack, and is charged to the newer one: that was in the middle
of it whenever memory grows for longer than the time between two reads. (Charging the older one, or half to each, is
right as often, and shorter windows are at twice the cost: docs/decisions/0019.) When memory falls, the newest growth
is taken back first, as temporary values are freed before what was there already. So the sums are of what has stayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...recording.user_files import is_cell_file, is_user_file

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTEWORTHY_BYTES = 32 << 20
STEP_BYTES = 1 << 20
"""Smaller steps wait for the next one: reading a stack costs more than they tell."""

_INNERMOST = 6
"""How many of the user's frames are kept, beside the outermost."""
_MOST_STATEMENTS = 64
_MOST_TOLD = 12
_SMALLEST_SHARE = 0.01
"""Of all growth: statements with less are not told."""
_MOST_STEPS = 64

_Frame = tuple[str, int | None, str]
Statement = tuple[_Frame, ...]
"""The user's frames, innermost first; none where the stack is not known."""


def user_statement(frames: Sequence[dict[str, Any]], *, main: bool = True) -> Statement:
    """Return the frames of cells and of the user's files; none where the main thread runs no cell now."""
    own = [(one["file"], one["line"], one["function"]) for one in frames if is_user_file(one["file"])]
    if main and not any(is_cell_file(file) for file, _, _ in own):
        return ()
    return (*own[:_INNERMOST], *own[_INNERMOST:][-1:])


class _Sum(NamedTuple):
    bytes: int = 0
    reads: int = 0

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(self.bytes + other.bytes, self.reads + other.reads)


class Growth:
    """The growth of one cell. It is the newest steps, which may be taken back, and the sums of those before."""

    def __init__(self, cell_seq: int | None, level_bytes: int) -> None:
        """Begin a cell; `level_bytes` is the memory in use before it."""
        self._cell_seq = cell_seq
        self._level_bytes = level_bytes
        self._steps: list[tuple[Statement, _Sum]] = []
        self._sums: dict[Statement, _Sum] = {}
        self._due_bytes = NOTEWORTHY_BYTES
        self._is_told = False

    def waiting(self, level_bytes: int) -> int:
        """Return how much has come since the last charge. A fall is taken back at once, and needs no stack."""
        if level_bytes < self._level_bytes:
            self._take_back(self._level_bytes - level_bytes)
            self._level_bytes = level_bytes
        return level_bytes - self._level_bytes

    def charge(self, level_bytes: int, statement: Statement) -> None:
        """Charge what has come since the last time to a statement."""
        grown = _Sum(self.waiting(level_bytes), 1)
        self._level_bytes = level_bytes
        if self._steps and self._steps[-1][0] == statement:
            grown = grown.plus(self._steps.pop()[1])
        self._steps.append((statement, grown))
        if len(self._steps) > _MOST_STEPS:
            self._settle()

    def event(self, mono_s: float, *, over: bool) -> dict[str, Any] | None:
        """Return the fields of the event `growth`, or None where nothing noteworthy is known.

        Unless the cell is over, None also before the growth has doubled since the last event.
        """
        sums = dict(self._sums)
        for statement, grown in self._steps:
            sums[statement] = sums.get(statement, _Sum()).plus(grown)
        total = sum(one.bytes for one in sums.values())
        unknown = sums.pop((), _Sum())
        told = sorted(((s, n) for s, n in sums.items() if n.bytes > total * _SMALLEST_SHARE), key=_negative_bytes)
        is_due = total >= self._due_bytes or (over and total >= NOTEWORTHY_BYTES) or (over and self._is_told)
        if not is_due or not (told or self._is_told):
            return None
        self._is_told, self._due_bytes = True, 2 * total
        return {
            "cell_seq": self._cell_seq,
            "mono_s": mono_s,
            "grew_bytes": total,
            "unknown_bytes": unknown.bytes,
            "reads": sum(one.reads for one in sums.values()),
            "statements": [
                {
                    "frames": [{"file": file, "line": line, "function": name} for file, line, name in statement],
                    **grown._asdict(),
                }
                for statement, grown in told[:_MOST_TOLD]
            ],
        }

    def _settle(self) -> None:
        """Add the oldest step to the sums; of too many the smallest is forgotten."""
        statement, grown = self._steps.pop(0)
        self._sums[statement] = self._sums.get(statement, _Sum()).plus(grown)
        if len(self._sums) > _MOST_STATEMENTS:
            smallest = min((one for one in self._sums if one), key=lambda one: self._sums[one].bytes)
            self._sums[()] = self._sums.get((), _Sum()).plus(self._sums.pop(smallest))

    def _take_back(self, fallen: int) -> None:
        while fallen > 0 and self._steps:
            statement, grown = self._steps.pop()
            if grown.bytes > fallen:
                self._steps.append((statement, grown._replace(bytes=grown.bytes - fallen)))
            fallen -= grown.bytes
        whole = sum(one.bytes for one in self._sums.values())
        if fallen > 0 and whole:
            stays = max(0.0, 1 - fallen / whole)
            self._sums = {one: n._replace(bytes=int(n.bytes * stays)) for one, n in self._sums.items()}


def _negative_bytes(one: tuple[Statement, _Sum]) -> int:
    return -one[1].bytes
