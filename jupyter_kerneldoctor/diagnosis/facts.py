"""What the texts of advice may name: the user's code, cells, numbers and limits, worked out when they are asked for."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .units import cell_name, quote, size, statement

if TYPE_CHECKING:
    from .code.notebook import Call
    from .death import Death


class UnknownFactError(KeyError):
    """What a text names is not known for this death."""


class Facts(Mapping[str, str]):
    """The names that a text may use, and what they stand for in this death.

    `{call}` the call that was found, as the user wrote it; `{code}` the line that was running; `{cell}` "cell [3]";
    `{where}` both; `{missing}`, `{before}`, `{limit}`, `{left}` sizes: what the cell took at least, what was in use
    before, what was allowed, what was left below that when the cell began; `{notebook}` its file name; `{pid}`;
    `{signal}`; `{python}` the version.
    """

    def __init__(self, death: Death, call: Call | None = None, more: Mapping[str, str] | None = None) -> None:
        """Take the death, the call that an advice is about, and what more it knows."""
        self._death, self._call, self._more = death, call, more or {}

    def __getitem__(self, name: str) -> str:
        """Return what a name stands for. Raises UnknownFactError where that is not known."""
        found = self._more[name] if name in self._more else self._known(name)
        if not found:
            raise UnknownFactError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def _known(self, name: str) -> str | None:
        death, call, memory = self._death, self._call, self._death.memory
        sizes = {
            "missing": memory.missing_bytes,
            "before": memory.before_bytes,
            "limit": memory.limit_bytes,
            "left": memory.headroom_before_bytes,
        }
        if name in sizes:
            amount = sizes[name]
            return None if amount is None else size(amount)
        texts = {
            "notebook": posixpath.basename(death.recording.kernel.notebook or ""),
            "pid": str(death.recording.kernel.process.pid),
            "signal": death.signal,
            "python": death.recording.kernel.python,
            "call": None if call is None else quote(call.text),
            "function": None if call is None else call.scope.segment(call.node.func),
        }
        if name in texts:
            return texts[name]
        at = death.cell if call is None else death.code.cells[call.cell]
        match name:
            case "cell":
                return None if at is None else cell_name(at.execution_count)
            case "where":
                return death.where() if call is None else f"{self['cell']}, line {call.node.lineno}"
            case "code":
                return self._code()
        return None

    def _code(self) -> str | None:
        cell, line = self._death.cell, self._death.line
        lines = [] if cell is None else cell.source.split("\n")
        if line is None or not 0 < line <= len(lines):
            return None
        return quote(statement(lines[line - 1]))


_NAMES = (
    *("call", "function", "cell", "where", "code", "missing", "before", "limit", "left"),
    *("notebook", "pid", "signal", "python"),
)
