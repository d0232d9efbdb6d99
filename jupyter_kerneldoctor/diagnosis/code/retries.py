"""Loops that try the same thing again as soon as it has failed, without a limit."""

import ast
from collections.abc import Iterable

from .loop_changes import called_name, running_nodes
from .notebook import Notebook
from .trees import unparse, walk

_TELLS = frozenset({"print", "display", "write", "warn", "warning", "info", "debug", "error", "exception", "log"})
_TAKES = frozenset({"next", "pop", "popleft", "popitem", "get", "get_nowait", "remove"}) | {
    *("read", "readline", "recv", "fetchone", "fetchmany", "send", "heappop")
}
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Yield, ast.YieldFrom, ast.Await)
_CHANGES_BY_ITSELF = (
    *("requests", "urllib", "http", "socket", "connect", "subprocess", "Popen", "!", "random", "sample", "choice"),
    *("Thread", "Process", "Executor", "asyncio", "session", "sleep", "serial", "select", "poll", "camera", "input("),
)
"""What may succeed later though the notebook does the same: a server, another process, a draw, a device."""


def retry(code: Notebook, loop: ast.While, names: frozenset[str]) -> ast.Try | None:
    """Return the `try` after whose errors the next round does the same; None where something may be different then."""
    found = [one for one in loop.body if isinstance(one, ast.Try) and one.handlers]
    is_true = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    if len(found) != 1 or not (names or is_true) or code.has_text(*_CHANGES_BY_ITSELF):
        return None
    tried = found[0]
    outside = [node for one in (*loop.body, *tried.finalbody) if one is not tried for node in running_nodes(one)]
    inside = [node for one in (*tried.body, *tried.orelse) for node in running_nodes(one)]
    if any(called_name(one) in _TAKES or _is_method_of(one, names) for one in inside):
        return None  # what failed is taken already, and the next round takes another one
    if _goes_on(outside, names) or not _goes_on(inside, names) or _steps_first(tried, names):
        return None
    kept = all(_only_tells(one, names) for handler in tried.handlers for one in handler.body)
    return tried if kept else None


def _goes_on(nodes: Iterable[ast.AST], names: frozenset[str]) -> bool:
    """Whether the loop is left, or something changes that it asks."""
    return any(
        isinstance(one, _LEAVES)
        or (isinstance(one, ast.Name | ast.Attribute) and not isinstance(one.ctx, ast.Load) and unparse(one) in names)
        or _is_method_of(one, names)
        for one in nodes
    )


def _is_method_of(node: ast.AST, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and unparse(node.func.value) in names


def _steps_first(tried: ast.Try, names: frozenset[str]) -> bool:
    """Whether the step is taken before anything that may fail."""
    return _goes_on(running_nodes(tried.body[0]), names) and len(tried.body) > 1


def _only_tells(statement: ast.stmt, names: frozenset[str]) -> bool:
    """Whether a statement of a handler changes nothing: it prints, counts errors, or goes on."""
    match statement:
        case ast.Pass() | ast.Continue():
            return True
        case ast.Expr(value=ast.Call() as call):
            return called_name(call) in _TELLS
        case ast.AugAssign(target=ast.Name(id=name), value=ast.Constant()):
            return name not in names
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name not in names and not any(isinstance(one, ast.Call) for one in walk(value))
    return False
