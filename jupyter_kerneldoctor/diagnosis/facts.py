"""What the texts of advice may name: the user's code, cells, numbers and limits, worked out when they are asked for."""

import posixpath
import sys
from collections.abc import Iterator, Mapping

from .code.notebook import Call
from .death import Death
from .units import cell_name, quote, size, statement


class UnknownFactError(KeyError):
    """What a text names is not known for this death."""


class Facts(Mapping[str, str]):
    """The names that a text may use, and what they stand for in this death.

    `{call}` the call that was found, as the user wrote it; `{code}` the line that was running; `{cell}` "cell [3]";
    `{where}` "in cell [3] on `x = f()`"; `{package}` the library that was at work; `{missing}`, `{before}`, `{limit}`,
    `{left}` sizes: what the cell took at least, what was in use before, what was allowed, what was left below that when
    the cell began; `{notebook}` its file name; `{pid}`; `{signal}`; `{python}` the version.
    """

    def __init__(self, death: Death, call: Call | None = None, more: Mapping[str, str] | None = None) -> None:
        """Take the death, the call that an advice is about, and what more it knows."""
        self._death, self._call, self._more = death, call, more or {}

    def __getitem__(self, name: str) -> str:
        """Return what a name stands for. Raises UnknownFactError where that is not known."""
        found = self._more[name] if name in self._more else self._known(name) or None
        if found is None:
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
                return death.where(_line(death)) if call is None else f"in {self['cell']}, line {call.node.lineno}"
            case "code":
                return self._code()
            case "package":
                return next(iter(packages(death)), None)
        return None

    def _code(self) -> str | None:
        cell, line = self._death.cell, _line(self._death)
        lines = [] if cell is None else cell.source.split("\n")
        if line is None or not 0 < line <= len(lines):
            return None
        return quote(statement(lines[line - 1]))


def packages(death: Death) -> tuple[str, ...]:
    """Return the libraries that may have been at work, the likeliest first: parts of Python are none.

    That is the innermost one of the crash report, those that the line uses, and those that the cell imports.
    """
    inner = None if death.innermost is None else death.innermost.module
    used, imported = [], []
    for scope in death.code.running:
        at_it = [node for node in scope.names if death.code.line is not None and death.code.is_at_line(node, scope)]
        used += [(death.code.described(node, scope) or "").split(".")[0] for node in at_it]
        imported += [one[-1].imported.split(".")[0] for one in scope.bindings.values() if one[-1].imported]
    found = [*([inner] if inner else []), *(name for name in (*used, *imported) if name and death.code.imports(name))]
    return tuple(name for name in dict.fromkeys(found) if name not in sys.stdlib_module_names)


def _line(death: Death) -> int | None:
    return death.causes[0].line if death.causes and death.causes[0].line is not None else death.line


_NAMES = (
    *("call", "function", "cell", "where", "code", "package", "missing", "before", "limit", "left"),
    *("notebook", "pid", "signal", "python"),
)
