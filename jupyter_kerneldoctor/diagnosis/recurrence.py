"""Finds out whether the same cell has killed a kernel before: the same code, whatever its spaces and comments."""

import ast
import hashlib
from collections.abc import Iterable
from contextlib import suppress

from .code.cellsource import MaskedCell, mask
from .code.trees import dump, unparse
from .family import Family
from .postmortem import Culprit, EarlierDeath, PostMortem, Recurrence
from .units import size

_MOST_CHARACTERS = 32_000
"""A longer cell is compared line by line: to parse it would take longer than the rest of the diagnosis."""

_LEAST_CHARACTERS = 10
"""Without spaces, comments, imports and `sleep`: shorter cells are alike by chance."""

_INNOCENT = frozenset({Family.OUTSIDE, Family.ALIVE, Family.ORDINARY_END, Family.START, Family.UNKNOWN})
"""The cell need not have done anything for an end of these families."""


def fingerprint(source: str) -> str:
    """Return what two cells have in common if they do the same: their code without comments, blank lines and layout."""
    masked = _masked(source)
    try:
        code = None if masked is None else dump(masked.tree)
    except RecursionError:
        code = None
    if code is None or masked is None or masked.spans:
        lines = (line.strip() for line in source.split("\n"))
        code = "\n".join(line for line in lines if line and not line.startswith("#"))
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def recurrence(now: PostMortem, earlier: Iterable[PostMortem]) -> Recurrence | None:
    """Return the earlier deaths of the same cell; None when there was none."""
    if not now.died or now.cell is None or not _by_the_cell(now) or not _is_distinctive(now.cell.source):
        return None
    own = fingerprint(now.cell.source)
    others = (one for one in earlier if one.died and one.recording != now.recording and _by_the_cell(one))
    deaths = [_earlier(one, one.cell) for one in others if one.cell and fingerprint(one.cell.source) == own]
    deaths.sort(key=lambda death: death.ended or "", reverse=True)
    return Recurrence(_text(deaths), tuple(deaths)) if deaths else None


def _earlier(one: PostMortem, cell: Culprit) -> EarlierDeath:
    peak = max((value for value in one.timeline.samples["memory_bytes"] if value is not None), default=None)
    return EarlierDeath(one.recording, one.ended, one.cause.id, one.cause.title, cell.execution_count, peak)


def _by_the_cell(one: PostMortem) -> bool:
    return one.cause.family not in _INNOCENT


def _is_distinctive(source: str) -> bool:
    """Whether two cells of this text are likely to be one: `time.sleep(30)` stands in many notebooks."""
    masked, text = _masked(source), source
    if masked is not None and not masked.spans:
        with suppress(RecursionError):  # of an expression with hundreds of levels
            text = "".join(unparse(one) for one in masked.tree.body if not _is_trivial(one))
    return len("".join(text.split())) >= _LEAST_CHARACTERS


def _masked(source: str) -> MaskedCell | None:
    return mask(source) if len(source) <= _MOST_CHARACTERS else None


def _is_trivial(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return unparse(statement.value.func).split(".")[-1] == "sleep"
    return isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom)


def _text(deaths: list[EarlierDeath]) -> str:
    """Return "This cell has killed the kernel 10 times before, last at 2026-11-19 14:03 UTC (Out of memory, ...)."."""
    last, times = deaths[0], {1: "once", 2: "twice"}.get(len(deaths), f"{len(deaths)} times")
    when = f" at {last.ended[:10]} {last.ended[11:16]} UTC" if last.ended else ""
    figure = f", with {size(last.peak_bytes)} in use" if last.peak_bytes is not None else ""
    most_recent = f"{',' if len(deaths) == 1 else ', last'}{when}" if when else ""
    return f"This cell has killed the kernel {times} before{most_recent} ({last.title}{figure})."
