"""A pandas read, rewritten to come in chunks."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.diagnosis.code.cellsource import segment, span

from ._edits import Replacement

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope

ROWS = 50_000  # what a row takes cannot be told from here; this is some MB of text
_COMBINED_BY = {"sum": "sum", "min": "min", "max": "max", "count": "sum", "size": "sum"}


@dataclass(frozen=True)
class WholeRead:
    """A call that reads a file whole, and how its result is used."""

    call: ast.Call
    scope: Scope
    name: str | None
    """What the frame is called."""
    others: int
    """Further such calls in the same code."""
    alone: bool
    """It is all that the cell does."""


def grouped_edit(found: WholeRead, code: Notebook) -> tuple[Replacement, ...] | None:
    """The edit of `read(…).groupby(keys)[columns].sum()`, if that is what the call stands in."""
    source = code.source(found.scope.cell)
    calls = (node for node in found.scope.walk() if isinstance(node, ast.Call))
    outer = next((node for node in calls if _is_reduced(node, found.call)), None)
    if outer is None or not isinstance(found.call.func, ast.Attribute) or not isinstance(outer.func, ast.Attribute):
        return None
    grouped = _grouping(outer.func)
    levels = None if grouped is None else _levels(grouped)
    if levels is None:
        return None
    method = _COMBINED_BY[outer.func.attr]
    read, whole = span(source, found.call), span(source, outer)
    module = segment(source, found.call.func.value)
    head = f"{module}.concat(chunk{source[read[1] : whole[1]]} for chunk in {with_argument(found, code)})"
    return (Replacement(*whole, f"{head}.groupby(level={levels}).{method}()"),)


def _is_reduced(node: ast.Call, call: ast.Call) -> bool:
    """Whether this is `<call>.groupby(…)[…].sum()`, with nothing between the brackets of the last."""
    if node.args or node.keywords or not isinstance(node.func, ast.Attribute) or node.func.attr not in _COMBINED_BY:
        return False
    grouped = _grouping(node.func)
    return grouped is not None and isinstance(grouped.func, ast.Attribute) and grouped.func.value is call


def _grouping(reduction: ast.Attribute) -> ast.Call | None:
    """The call of `groupby` that a reduction belongs to, with or without a choice of columns between them."""
    grouped = reduction.value
    if isinstance(grouped, ast.Subscript | ast.Attribute):
        grouped = grouped.value
    is_it = isinstance(grouped, ast.Call) and isinstance(grouped.func, ast.Attribute) and grouped.func.attr == "groupby"
    return grouped if is_it and isinstance(grouped, ast.Call) else None


def _levels(grouped: ast.Call) -> str | None:
    """Which levels of the index the keys become; None when that depends on more than plain column names."""
    if len(grouped.args) != 1 or grouped.keywords:
        return None
    keys = grouped.args[0]
    if isinstance(keys, ast.Constant) and isinstance(keys.value, str):
        return "0"
    if isinstance(keys, ast.List) and len(keys.elts) > 1:
        plain = all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys.elts)
        return str(list(range(len(keys.elts)))) if plain else None
    return None


def with_argument(found: WholeRead, code: Notebook, extra: str = f"chunksize={ROWS:_}") -> str:
    """The user's call with more arguments."""
    source = code.source(found.scope.cell)
    text = segment(source, found.call)
    arguments: list[ast.expr] = [*found.call.args, *(word.value for word in found.call.keywords)]
    position = max(span(source, one)[1] for one in arguments) - span(source, found.call)[0]
    closing = len(text) - 1
    written = f"{text[:position]}, {extra}{text[position:]}"
    if _arguments(written) > _arguments(text):
        return written
    # The last argument stands in parentheses of its own.
    written = f"{text[:closing]}, {extra})"
    return written if _arguments(written) > 0 else f"{text[:closing]}{extra})"


def _arguments(text: str) -> int:
    """How many arguments a call has; 0 for what is none."""
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return 0
    return len(call.args) + len(call.keywords) if isinstance(call, ast.Call) else 0
