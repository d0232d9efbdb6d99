"""What a line waits for, by name, and what the function of a thread may change, which would end such a wait."""

import ast
from collections.abc import Callable

from jupyter_kerneldoctor.recording.model import Cell

from .calls import given_to, last_name
from .loop_changes import called_name, running_nodes
from .notebook import Notebook
from .scopes import Scope
from .trees import holds, walk

_WAITS = frozenset({"get", "wait", "wait_for", "join", "acquire", "result", "recv"})
_LOOKS = frozenset({"sleep", "print", "display", "clear_output", "flush", "update", "is_alive", "len", "str", "round"})
_LOOKS_AGAIN = _WAITS | _LOOKS | {"is_set", "empty", "qsize", "get_nowait", "done", "time", "monotonic", "perf_counter"}
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert)


def awaited_names(code: Notebook, cell: Cell, line: int, *, again: bool) -> frozenset[str]:
    """Return what a line waits for, without the objects in front: `rows` of `self.rows.get()`.

    With `again` it waits for some time only, and a loop has it wait once more: then also what that loop asks, which is
    `done` of `while not done.is_set(): sleep(1)`. None are returned where the loop does anything else.
    """
    scope = _scope_at(code, cell, line)
    if scope is None:
        return frozenset()
    waits = [one for one in scope.calls if holds(one, line) and called_name(one) in _WAITS]
    locks = (one.context_expr for one in scope.nodes if isinstance(one, ast.withitem) and holds(one.context_expr, line))
    owned = (one.func.value for one in waits if isinstance(one.func, ast.Attribute))
    owners = {last_name(one) for one in (*owned, *locks)} - {""}
    if not again:
        return frozenset(owners)
    loop = next((one for one in reversed(scope.nodes) if isinstance(one, ast.While) and holds(one, line)), None)
    if loop is None:
        return frozenset()
    inner = [node for one in loop.body for node in running_nodes(one)]
    if any(isinstance(one, _LEAVES) for one in inner) or not all(map(_only_looks, inner)):
        return frozenset(owners) if any(map(_is_caught_here(line), inner)) else frozenset()
    functions = {id(one.func) for one in walk(loop.test) if isinstance(one, ast.Call)}
    asked = {last_name(one) for one in walk(loop.test) if id(one) not in functions}
    return frozenset(asked | owners) - {"", "self", *_imported(code, scope)}


def changed_names(code: Notebook, cell: Cell | None, line: int) -> frozenset[str]:
    """Return what the function around a line may change: what it assigns, whose methods it calls, what it is given."""
    scope = None if cell is None else _scope_at(code, cell, line)
    if scope is None or scope.is_cell:
        return frozenset()
    given = (
        last_name(one)
        for other in code.scopes_mentioning(scope.function)
        for call in other.calls
        if called_name(call) in ("Thread", "Timer", "start_new_thread")
        if any(last_name(one) == scope.function for one in given_to(call))
        for argument in given_to(call)
        for one in walk(argument)
    )
    called = (last_name(one.func.value) for one in scope.calls if isinstance(one.func, ast.Attribute))
    stored = (last_name(one) for one in scope.names if not isinstance(one.ctx, ast.Load))
    entries = (
        last_name(one.value)
        for one in scope.nodes
        if isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load)
    )
    shared = {name for one in scope.nodes if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names}
    its_own = {*scope.bindings} - {*scope.parameters, *shared}
    changed = frozenset((*called, *stored, *entries)) - its_own
    return (changed | frozenset(given)) - {"", scope.function, "self", *_imported(code, scope)}


def _imported(code: Notebook, scope: Scope) -> set[str]:
    """Return the names of modules, and of what was imported from them, among the names of a scope."""
    names = {one.id for one in scope.names if isinstance(one, ast.Name)}
    return {one for one in names if (bound := code.lookup(one, scope)) is not None and bound.imported is not None}


def _scope_at(code: Notebook, cell: Cell, line: int) -> Scope | None:
    return next((one for one in reversed(code.scopes(code.index(cell))) if one.is_cell or holds(one.node, line)), None)


def _only_looks(node: ast.AST) -> bool:
    return not isinstance(node, ast.Call) or called_name(node) in _LOOKS_AGAIN


def _is_caught_here(line: int) -> Callable[[ast.AST], bool]:
    """Return whether a node is a `try` around a line whose errors are passed over: it is tried again."""

    def is_it(node: ast.AST) -> bool:
        if not isinstance(node, ast.Try) or not any(holds(one, line) for one in node.body):
            return False
        return all(
            isinstance(one, ast.Pass | ast.Continue)
            or (isinstance(one, ast.Expr) and _only_looks(one.value) and isinstance(one.value, ast.Call))
            for handler in node.handlers
            for one in handler.body
        )

    return is_it
