"""Finds the signals that a cell sends to a process of which its code does not show which one it is."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .calls import SHELLS
from .cellsource import mask
from .names import names_of, ran_before

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_kerneldoctor.recording.model import Cell

    from .names import Names

_SENDS = re.compile(r"\b(?:kill|killpg|pkill|killall|send_signal|terminate)\b")
_METHODS = {"kill": "SIGKILL", "terminate": "SIGTERM", "killpg": None, "send_signal": None}
_A_CHILD = re.compile(r"(?:subprocess\.Popen|(?:\w+\.)*(?:Process|Pool))\((?:…|apart)?\)")
_SHELLS = frozenset(name.rpartition(".")[2] for name in SHELLS)
_TEACHES = re.compile(r"Popen|Process|import")
_CELL_MAGIC = re.compile(r"\s*%%\w")


@dataclass(frozen=True)
class Sending:
    """A call that sends a signal to whichever process."""

    line: int
    text: str
    signal: str | None = None
    """None: any."""


def sendings(cells: Sequence[Cell], cell: Cell) -> tuple[Sending, ...]:
    """Return them; those to a process that the cells themselves started as a child are left out."""
    if not _SENDS.search(cell.source):
        return ()
    masked = mask(cell.source)
    lines = cell.source.split("\n")
    if masked is None or _CELL_MAGIC.match(cell.source):
        return tuple(Sending(at, line.strip()) for at, line in enumerate(lines, 1) if _commands(line))
    names = names_of((*ran_before(cells, cell), cell), lambda one: one is cell or _TEACHES.search(one.source))
    shell = (
        Sending(at, line.strip()) for at, line in enumerate(lines, 1) if line.lstrip()[:1] == "!" and _commands(line)
    )
    calls = (_judge(node, names, cell.source) for node in ast.walk(masked.tree) if isinstance(node, ast.Call))
    return tuple(sorted((*shell, *(one for one in calls if one is not None)), key=lambda one: one.line))


def _commands(line: str) -> bool:
    """Whether it is more than a comment or words on the screen that names such a command."""
    words = line.lstrip(" \t!")
    return not words.startswith(("#", "echo ", "printf ")) and _SENDS.search(words) is not None


def _judge(call: ast.Call, names: Names, source: str) -> Sending | None:
    name = names.resolve(call.func)
    last = call.func.attr if isinstance(call.func, ast.Attribute) else (name or "").split(".")[-1]
    text = ast.get_source_segment(source, call) or last
    if last in _SHELLS:
        told = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
        words = " ".join(one for one in told if isinstance(one, str))
        return Sending(call.lineno, text) if _commands(words) else None
    if last not in _METHODS or (name is not None and _A_CHILD.match(name)):
        return None
    if call.args and (names.is_own(call.args[0]) or _is_of_a_child(call.args[0], names)):
        return None  # it does show
    return Sending(call.lineno, text, None if name == "os.kill" else _METHODS[last])


def _is_of_a_child(target: ast.expr, names: Names) -> bool:
    found = (names.resolve(node) or "" for node in ast.walk(target) if isinstance(node, ast.Name))
    return any(_A_CHILD.fullmatch(name) for name in found)
