"""Statements of the user: what stands at a line of a cell, and by which calls the cell that ran came to it."""

import ast
import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jupyter_kerneldoctor.recording.model import Cell

from ..code.cellsource import lines_of
from ..code.notebook import CodeTooLargeError, Notebook
from ..code.scopes import Scope
from ..postmortem import Caller, Statement
from ..units import cell_name, quote
from ..units import statement as without_colon
from .user_frames import UserFrame


def statement_at(code: Notebook, cell: Cell, line: int) -> Statement:
    """Return the innermost statement at a line of a cell; the line alone where the cell cannot be read."""
    try:
        found = code.statement_at(code.index(cell), line)
    except (CodeTooLargeError, RecursionError):
        found = None
    function, first, last = found or ("", line, line)
    source = "\n".join(lines_of(cell.source)[first - 1 : last])
    return Statement(cell.execution_count, cell.cell_id, first, last, source, function or None, cell_source=cell.source)


def statement_with(code: Notebook, node: ast.expr | ast.stmt, scope: Scope) -> Statement:
    """Return the innermost statement at the line where a node begins."""
    return statement_at(code, code.cells[scope.cell], node.lineno)


def statement_of(code: Notebook, frames: Sequence[UserFrame]) -> Statement | None:
    """Return the statement that the innermost of these frames was at, with the others as the calls that led to it."""
    if not frames:
        return None
    inner, via = frames[0], tuple(_caller(one) for one in reversed(frames[1:]))
    if inner.cell is None:
        return Statement(line=inner.line, function=inner.frame.function, file=inner.frame.file, via=via)
    return replace(statement_at(code, inner.cell, inner.line), via=via)


def _caller(one: UserFrame) -> Caller:
    cell, function = one.cell, None if one.is_cell else one.frame.function
    if cell is None:
        return Caller(None, None, one.line, function, one.frame.file)
    return Caller(cell.execution_count, cell.cell_id, one.line, function, None)


def statement_name(one: Statement, cell: Cell | None) -> str:
    """Return where a statement is, and the call in the cell that led to it.

    "in `load` (cell [1], line 3: `return np.zeros(n)`), called from `x = load()` (cell [2], line 1)", or, where it is
    the cell's own, "in cell [2] on `x = load()`".
    """
    return short_name(one) + _call(one.via, cell)


def short_name(one: Statement) -> str:
    """Return where a statement is: "in `load` (cell [1], line 3: `return np.zeros(n)`)", "in cell [2] on `x = 1`"."""
    source = (one.source or "").split("\n")[0]
    code = quote(without_colon(source)) if source.strip() else ""
    name = posixpath.basename(one.file) if one.file is not None else cell_name(one.execution_count)
    if one.function is None and one.file is None:
        return f"in {name} on {code}" if code else f"in {name}"
    place = f"{name}, line {one.line}{f': {code}' if code else ''}"
    return f"in {quote(one.function or name)} ({place})"


def _call(via: Sequence[Caller], cell: Cell | None) -> str:
    """Return ", called from `x = load()` (cell [2], line 1)", if the cell that ran is the outermost of the calls."""
    outer = next(iter(via), None)
    lines = [] if cell is None else lines_of(cell.source)
    if outer is None or cell is None or outer.file is not None or not 0 < outer.line <= len(lines):
        return ""
    if (outer.execution_count, outer.cell_id) != (cell.execution_count, cell.cell_id):
        return ""
    code, name = without_colon(lines[outer.line - 1]), cell_name(cell.execution_count)
    return f", called from {quote(code)} ({name}, line {outer.line})"


def is_at(one: Statement, other: Statement | Caller) -> bool:
    """Whether a statement, or a call, stands in another statement, or is that one."""
    same_place = (one.execution_count, one.cell_id, one.file) == (other.execution_count, other.cell_id, other.file)
    return same_place and one.line <= other.line <= (one.end_line or one.line)


def lines_in(statement: Statement, cell: Cell) -> Iterator[int]:
    """Yield the lines of a cell at which a statement, and the calls that led to it, stand."""
    if is_in(statement, cell):
        yield statement.line
    yield from (one.line for one in statement.via if is_in(one, cell))


def is_in(one: Statement | Caller, cell: Cell) -> bool:
    """Whether a statement, or a call, stands in a cell."""
    return one.file is None and (one.execution_count, one.cell_id) == (cell.execution_count, cell.cell_id)


def is_same_function(one: Statement, other: Statement) -> bool:
    """Whether two statements stand in the same function of the same cell or file."""
    place = (other.execution_count, other.cell_id, other.file, other.function)
    return (one.execution_count, one.cell_id, one.file, one.function) == place
