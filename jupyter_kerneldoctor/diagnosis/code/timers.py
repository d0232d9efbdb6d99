"""Finds the statements that start a timer which ends the process when nobody handles its signal."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .cellsource import mask
from .names import Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_kerneldoctor.recording.model import Cell

_STARTERS = {"signal.alarm": "SIGALRM", "signal.setitimer": None}
_KINDS = {"ITIMER_REAL": "SIGALRM", "ITIMER_VIRTUAL": "SIGVTALRM", "ITIMER_PROF": "SIGPROF"}
"""The signal of each timer (getitimer(2))."""


@dataclass(frozen=True)
class Timer:
    """A call that starts a timer."""

    cell: Cell
    line: int
    text: str
    """The call as the user wrote it."""
    signal: str | None


def timers(cells: Sequence[Cell]) -> tuple[Timer, ...]:
    """Return the calls in these cells that start a timer, given in the order they ran."""
    names = Names()
    found: list[Timer] = []
    for cell in cells:
        if cell.truncated or not ("alarm" in cell.source or "itimer" in cell.source or "import" in cell.source):
            continue
        masked = mask(cell.source)
        if masked is not None:
            names.learn(masked.tree)
            found += _in_cell(cell, masked.tree, names)
    return tuple(found)


def _in_cell(cell: Cell, tree: ast.Module, names: Names) -> Iterator[Timer]:
    for node in ast.walk(tree):
        name = names.resolve(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or name not in _STARTERS:
            continue
        kind = (names.resolve(node.args[0]) or "") if node.args else ""
        signal = _STARTERS[name] or _KINDS.get(kind.rpartition(".")[2])
        yield Timer(cell, node.lineno, ast.get_source_segment(cell.source, node) or name, signal)
