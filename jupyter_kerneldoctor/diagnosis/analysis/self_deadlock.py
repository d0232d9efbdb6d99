"""A lock that a thread waits for and holds itself: who took it, as the code of its own stack shows."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from ..code.cellsource import parse
from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.trees import unparse, walk
from ..units import cell_name, quote
from .user_frames import UserFrame

_MOST_CELLS = 200


def holder(frames: Iterable[UserFrame], cells: Iterable[Cell]) -> str | None:
    """Return "`update`, line 2, already holds `lock`" where the thread waits for a lock that it holds; None if not.

    `frames` are the thread's own, innermost first; `cells` the ones that ran before, newest first.
    """
    stack = [frame for frame in frames if frame.cell is not None]
    if not stack or stack[0].cell is None:
        return None
    lock = next(_taken_at(stack[0].cell, stack[0].line), None)
    if lock is None:
        return None
    for number, frame in enumerate(stack):
        taken = _line_of_owner(frame, lock, waits=number == 0)
        if taken is not None:
            name = (
                cell_name(frame.cell.execution_count) if frame.is_cell and frame.cell else quote(frame.frame.function)
            )
            return f"{name}, line {taken}, already holds {quote(unparse(lock))}"
    return _left_taken(lock, cells)


def _taken_at(cell: Cell, line: int) -> Iterator[ast.expr]:
    """Yield the lock that is taken at a line: `with lock`, `lock.acquire()`."""
    for node in walk(parse(cell.source) or ast.Module([], [])):
        if isinstance(node, ast.With):
            found = [one.context_expr for one in node.items if one.context_expr.lineno == line]
            yield from (one for one in found if isinstance(one, ast.Name | ast.Attribute))
        elif isinstance(node, ast.Call) and node.lineno == line and _is_call_of(node, "acquire"):
            assert isinstance(node.func, ast.Attribute)
            yield node.func.value


def _is_call_of(node: ast.AST, method: str, lock: ast.expr | None = None) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and (lock is None or _same(node.func.value, lock))
    )


def _same(one: ast.expr, other: ast.expr) -> bool:
    return unparse(one) == unparse(other)


def _line_of_owner(frame: UserFrame, lock: ast.expr, *, waits: bool) -> int | None:
    """Return where a function has taken the lock that it now runs with; `waits`: at the line it only waits for it."""
    assert frame.cell is not None
    tree = parse(frame.cell.source)
    body = None if tree is None else _innermost_function(tree, frame.line)
    if body is None:
        return None
    taken = None
    for node in walk(body):
        if isinstance(node, ast.With) and node.body[0].lineno <= frame.line <= (node.end_lineno or 0):
            within = frame.line > node.lineno or not waits
            mine = (one.context_expr for one in node.items if _same(one.context_expr, lock))
            taken = next((one.lineno for one in mine if within), taken)
        elif isinstance(node, ast.Call) and node.lineno < frame.line:
            if _is_call_of(node, "acquire", lock):
                taken = node.lineno
            elif _is_call_of(node, "release", lock) and taken is not None and node.lineno > taken:
                taken = None
    return taken


def _innermost_function(tree: ast.Module, line: int) -> ast.AST:
    around = [
        node
        for node in walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno, default=tree)


def _left_taken(lock: ast.expr, cells: Iterable[Cell]) -> str | None:
    """Return the top level of an earlier cell that took the lock, if no cell since has released it."""
    name = unparse(lock)
    for cell in islice(cells, _MOST_CELLS):
        if name not in cell.source or (tree := parse(cell.source)) is None:
            continue
        calls = [node for statement in tree.body for node in walk(statement)]
        if any(_is_call_of(node, "release", lock) for node in calls):
            return None
        if found := [
            node for node in tree.body if isinstance(node, ast.Expr) and _is_call_of(node.value, "acquire", lock)
        ]:
            return f"{cell_name(cell.execution_count)}, line {found[-1].lineno}, has taken {quote(name)} and kept it"
        if any(isinstance(one, ast.Assign) and any(_same(to, lock) for to in one.targets) for one in tree.body):
            return None  # made here, and not taken since
    return None


class TakenAgain(NamedTuple):
    """An asyncio lock that a coroutine takes while one that awaits it holds it: no task of the loop can go on."""

    cell: int
    line: int
    """Where it is taken again."""
    told: str
    """"`refresh` (cell [3], line 13) already holds `self.lock`"."""


def taken_again(code: Notebook) -> TakenAgain | None:
    """Return the lock that running coroutines take twice, as their code shows. Raises CodeTooLargeError."""
    if not code.has_text("Lock("):
        return None
    for outer in code.running.functions:
        for line, lock, awaited in _awaited_with_a_lock(outer):
            for inner in code.functions_named(awaited) if _is_made(code, lock) else ():
                at = next((where for where, other in _locks(inner.nodes) if _same(other, lock)), None)
                if at is not None and awaited != outer.function:
                    place = f"{code.cell_name(outer.cell)}, line {line}"
                    told = f"{quote(outer.function)} ({place}) already holds {quote(unparse(lock))}"
                    return TakenAgain(inner.cell, at, told)
    return None


def _locks(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, ast.expr]]:
    for node in nodes:
        for one in node.items if isinstance(node, ast.AsyncWith) else ():
            if isinstance(one.context_expr, ast.Name | ast.Attribute):
                yield one.context_expr.lineno, one.context_expr


def _awaited_with_a_lock(function: Scope) -> Iterator[tuple[int, ast.expr, str]]:
    """Yield line and lock of each `async with`, and the name of each function that is awaited in it."""
    for node in function.nodes:
        for line, lock in _locks([node]):
            for inner in walk(node):
                match inner:
                    case ast.Await(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
                        yield line, lock, name


def _is_made(code: Notebook, lock: ast.expr) -> bool:
    name = re.escape(unparse(lock).rpartition(".")[2])
    made = re.compile(rf"\b{name}\s*(?::[^=\n]{{1,200}})?=\s*(?:asyncio\.)?Lock\(")
    return any(made.search(code.source(cell)) for cell in code.with_text("Lock("))
