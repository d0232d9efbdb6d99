"""How far statements are indented, and a line of its own for one that has none."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from .changes import Change, Changes, EditRefusedError
from .code.cellsource import LINE_END, line_of, offset
from .code.scopes import Scope
from .code.trees import walk

_USUAL_INDENT = "    "
_HEAD = re.compile(
    r"([ \t]*)(?:async|class|def|elif|else|except|finally|for|if|try|while|with)\b.*:([ \t]*)$", re.DOTALL
)
"""What stands before the first statement of a block on the line of its head."""


def indent_unit(scope: Scope, statement: ast.stmt) -> str:
    """Return what one more level is indented by here."""
    source = scope.tree.source
    around = [one for one in (*scope.around(statement), scope.node) if isinstance(one, ast.stmt)]
    pairs = [*pairwise((statement, *around))]
    pairs[1:1] = [(one, statement) for one in getattr(statement, "body", ())[:1]]
    for inner, outer in pairs:
        if inner.lineno > outer.lineno:
            return indentation(source, inner).removeprefix(indentation(source, outer))
    return _USUAL_INDENT


def line_end(source: str) -> str:
    found = LINE_END.search(source)
    return "\n" if found is None else found[0]


def own_line(scope: Scope, statement: ast.stmt) -> tuple[str, Changes]:
    """Return how far a statement is indented, and the edit that first gives it a line of its own.

    That is needed where its block stands on the line of its head, `for x in xs: f(x)`. Raises EditRefusedError.
    """
    source = scope.tree.source
    line, start = line_of(source, statement.lineno), offset(source, statement.lineno, statement.col_offset)
    head = _HEAD.match(line[: start - offset(source, statement.lineno, 0)])
    if head is None:
        return indentation(source, statement), ()
    indent = head[1] + indent_unit(scope, statement)
    return indent, (Change(scope.cell, start - len(head[2]), start, line_end(source) + indent),)


def indentation(source: str, statement: ast.stmt) -> str:
    """What stands before a statement. Raises EditRefusedError when that is more than blanks."""
    first = first_line(statement)
    before = source[offset(source, first, 0) : offset(source, first, statement.col_offset)]
    if before.strip():
        raise EditRefusedError(f"{before.strip()} stands before the statement")
    return before


def first_line(statement: ast.stmt) -> int:
    return min((one.lineno for one in getattr(statement, "decorator_list", ())), default=statement.lineno)


def lines_within_texts(statement: ast.stmt) -> Iterator[int]:
    """Yield the lines that begin inside of a string, which must stay as it is."""
    for node in walk(statement):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None:
            yield from range(node.lineno + 1, node.end_lineno + 1)
