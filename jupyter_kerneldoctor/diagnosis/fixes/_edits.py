"""Text edits of a cell: where a syntax node stands in the user's text, and changes that leave all other text alone."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

_LINE_END = re.compile(r"\r\n|\r|\n")  # what Python's tokenizer takes for one


class EditRefusedError(Exception):
    """The edits do not fit the text: they overlap, or lie outside of it."""


@dataclass(frozen=True, order=True)
class Replacement:
    """Put `text` in place of the code points from `start` to `end`."""

    start: int
    end: int
    text: str


@lru_cache(maxsize=64)
def _lines(source: str) -> tuple[tuple[int, str], ...]:
    """Each line's offset and its text."""
    starts = [0, *(found.end() for found in _LINE_END.finditer(source))]
    return tuple((start, source[start:end]) for start, end in zip(starts, [*starts[1:], len(source)], strict=True))


def offset(source: str, line: int, byte_column: int) -> int:
    """The offset in code points of a position as `ast` gives it: lines from 1, columns in UTF-8 bytes."""
    start, text = _lines(source)[line - 1]
    if text.isascii():
        return start + byte_column
    return start + len(text.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "surrogatepass"))


def span(source: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Where a node stands, as offsets in code points."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return offset(source, node.lineno, node.col_offset), offset(source, node.end_lineno, node.end_col_offset)


def segment(source: str, node: ast.expr | ast.stmt) -> str:
    """The user's own text of a node."""
    start, end = span(source, node)
    return source[start:end]


def replace_node(source: str, node: ast.expr | ast.stmt, text: str) -> Replacement:
    """Put `text` in a node's place."""
    return Replacement(*span(source, node), text)


def append_to(source: str, node: ast.expr, text: str, *, parenthesize: bool = False) -> tuple[Replacement, ...]:
    """Write `text` directly behind an expression, which is put in parentheses on request."""
    start, end = span(source, node)
    if not parenthesize:
        return (Replacement(end, end, text),)
    return Replacement(start, start, "("), Replacement(end, end, ")" + text)


def apply(source: str, replacements: Iterable[Replacement]) -> str:
    """Make the edits. Raises EditRefusedError when they overlap or lie outside of the text."""
    parts: list[str] = []
    position = 0
    for edit in sorted(set(replacements)):
        if edit.start < position or edit.end < edit.start or edit.end > len(source):
            raise EditRefusedError
        parts += source[position : edit.start], edit.text
        position = edit.end
    return "".join([*parts, source[position:]])


def touches(replacements: Iterable[Replacement], spans: Iterable[tuple[int, int]]) -> bool:
    """Whether an edit reaches into one of the parts of the cell that are IPython's, not Python's."""
    masked = tuple(spans)
    return any(edit.start < end and start < edit.end for edit in replacements for start, end in masked) or any(
        start < edit.start < end for edit in replacements for start, end in masked
    )


def unified_diff(old: str, new: str, label: str) -> str:
    """The change as a unified diff; `label` names the cell. A last line without an end is given one, as is usual."""
    lines = difflib.unified_diff(_LINE_END.split(old), _LINE_END.split(new), label, label, lineterm="")
    return "".join(line + "\n" for line in lines)
