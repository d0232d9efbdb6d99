"""Whether the cell that ended the kernel has done so before: the same code, whatever its spaces and comments."""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING

from .code.cellsource import mask
from .postmortem import EarlierDeath, Recurrence
from .units import enumeration, size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .postmortem import PostMortem

_MOST_CHARACTERS = 32_000
"""A longer cell is compared line by line: to parse it would take longer than the rest of the diagnosis."""

_LEAST_CHARACTERS = 10
"""Without spaces, comments, imports and `sleep`: shorter cells are alike by chance."""

_FROM_OUTSIDE = frozenset({"killed-externally", "ordinary-end", "server-gone", "startup-failure", "unknown"})
_OF_THE_MACHINE = frozenset({"oom-host"})
"""The cell may be innocent of these; twice the same is worth a word."""

_OWN_SIGNALS = frozenset({"SIGALRM", "SIGVTALRM", "SIGPROF", "SIGPIPE", "SIGXFSZ", "SIGTRAP", "SIGSYS"})
"""Signals without a handler that a program brings on itself; the others are sent by somebody."""

_TOLD = 3


def fingerprint(source: str) -> str:
    """Return what two cells have in common if they do the same: their code without comments, blank lines and layout."""
    masked = mask(source) if len(source) <= _MOST_CHARACTERS else None
    try:
        code = None if masked is None else ast.dump(masked.tree)
    except RecursionError:
        code = None
    if code is None or masked is None or masked.spans:
        lines = (line.strip() for line in source.split("\n"))
        code = "\n".join(line for line in lines if line and not line.startswith("#"))
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def recurrence(now: PostMortem, earlier: Iterable[PostMortem]) -> Recurrence | None:
    """Return the earlier deaths of the same cell; None when there was none."""
    if not now.died or now.cell is None or not _by_the_cell(now) or not _is_telling(now.cell.source):
        return None
    own = fingerprint(now.cell.source)
    deaths = [
        EarlierDeath(
            one.recording, one.ended, one.cause.id, one.cause.title, one.cell.execution_count, _peak_bytes(one)
        )
        for one in earlier
        if one.died
        and one.recording != now.recording
        and one.cell is not None
        and _counts(one, now)
        and fingerprint(one.cell.source) == own
    ]
    if not deaths:
        return None
    deaths.sort(key=lambda death: death.ended or "", reverse=True)
    return Recurrence(_text(deaths), tuple(deaths))


def _counts(one: PostMortem, now: PostMortem) -> bool:
    """Whether the earlier end says something of the cell: it was the cell's doing, or the same happened again."""
    return _by_the_cell(one) and (one.cause.id == now.cause.id or one.cause.id not in _OF_THE_MACHINE)


def _by_the_cell(one: PostMortem) -> bool:
    sent = one.cause.id == "unhandled-signal" and one.end.signal not in _OWN_SIGNALS
    return one.cause.id not in _FROM_OUTSIDE and not sent


def _is_telling(source: str) -> bool:
    """Whether two cells of this text are likely to be one: `time.sleep(30)` stands in many notebooks."""
    masked = mask(source) if len(source) <= _MOST_CHARACTERS else None
    if masked is None or masked.spans:
        return len("".join(source.split())) >= _LEAST_CHARACTERS
    telling = [ast.unparse(one) for one in masked.tree.body if not _is_trivial(one)]
    return len("".join("".join(telling).split())) >= _LEAST_CHARACTERS


def _is_trivial(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func).split(".")[-1] == "sleep"
    return isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom)


def _text(deaths: list[EarlierDeath]) -> str:
    times = {1: "once", 2: "twice"}.get(len(deaths), f"{len(deaths)} times")
    told = [_told(death) for death in deaths[:_TOLD]]
    last = ", the last times" if len(deaths) > _TOLD else ""
    return f"The same cell has ended a kernel {times} before{last}: {enumeration(told)}."


def _told(death: EarlierDeath) -> str:
    """Return "on 2026-11-19 at 14:03 UTC (Out of memory: the machine, with 480 MiB in use)"."""
    when = f"on {death.ended[:10]} at {death.ended[11:16]} UTC" if death.ended else "at a time that is not known"
    memory = death.cause.startswith("oom-") and death.peak_bytes is not None
    figure = f", with {size(death.peak_bytes)} in use" if memory and death.peak_bytes is not None else ""
    return f"{when} ({death.title}{figure})"


def _peak_bytes(one: PostMortem) -> int | None:
    return max((value for value in one.timeline.samples["memory_bytes"] if value is not None), default=None)
