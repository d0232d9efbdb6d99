"""Loops that read on where there is nothing more: at the end of the data a read gives an empty text at once."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from .loop_changes import called_name
from .notebook import Notebook
from .origins import all_origins
from .scopes import Scope
from .trees import walk

READS = frozenset({"readline", "recv", "read", "read1"})
OPENERS = frozenset({"open", "makefile", "urlopen", "Popen", "popen", "socket", "create_connection", "fdopen"})
_WAITS = frozenset({"sleep", "wait", "waitKey", "pause", "select"})
_COMES_LATER = ("serial", "set_blocking", "setblocking", "settimeout", "O_NONBLOCK", "visa")
"""An empty answer of these is no end: more comes later."""
_SAME = frozenset({"decode", "strip", "rstrip"})


class EndlessRead(NamedTuple):
    """A statement of a loop that reads, and the name that nobody asks for being empty."""

    statement: ast.stmt
    name: str
    adds: bool
    """Whether it adds what it reads to the name, which is not empty then."""


def endless_read(code: Notebook, scope: Scope, test: ast.expr, inner: Iterable[ast.AST]) -> EndlessRead | None:
    """Return the read of a loop after which nothing asks whether it gave anything; None where something may.

    What a camera, a sensor or a serial port gives has no end: only files, pipes and sockets count.
    """
    nodes = [*inner, *walk(test)]
    if any(isinstance(one, ast.Attribute) and one.attr in ("poll", "returncode", "closed") for one in nodes):
        return None
    if any(isinstance(one, ast.Call) and called_name(one) in _WAITS for one in nodes):
        return None  # it follows what grows
    found = [one for node in nodes if (one := _read(node)) is not None]
    if len(found) != 1 or not _has_an_end(code, scope, found[0].statement):
        return None
    tests = [test, *(one.test for one in nodes if isinstance(one, ast.If | ast.IfExp | ast.While | ast.Assert))]
    asked = {name for one in tests for name in asked_for_being_empty(one)}
    return found[0] if found[0].name not in asked else None


def _has_an_end(code: Notebook, scope: Scope, statement: ast.stmt) -> bool:
    """Whether a statement reads from a file, a pipe or a socket, and waits there for more to come."""
    reads = [one for one in walk(statement) if isinstance(one, ast.Call) and called_name(one) in READS]
    if not reads or code.has_text(*_COMES_LATER):
        return False
    call = reads[0]
    match call.func:
        case ast.Attribute(attr="recv"):
            return bool(call.args)  # a connection of multiprocessing raises EOFError
        case ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr")):
            return True
        case ast.Attribute(value=owner):
            is_opened = any(called_name(one) in OPENERS for one in opening_calls(code, scope, owner))
            return is_opened and not code.has_text("Popen(", "system(", "Process(")
    return False


def opening_calls(code: Notebook, scope: Scope, owner: ast.expr) -> list[ast.Call]:
    """Return the calls that made a file, a pipe or a socket, also where `with` has named it."""
    named = [
        one.context_expr
        for around in (scope, scope.parent)
        for one in (around.nodes if around is not None else ())
        if isinstance(one, ast.withitem) and isinstance(one.optional_vars, ast.Name) and isinstance(owner, ast.Name)
        if one.optional_vars.id == owner.id
    ]
    found = named or [one.node for one in all_origins(owner, scope, code)]
    return [one for one in found if isinstance(one, ast.Call)]


def _read(node: ast.AST) -> EndlessRead | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_read(value):
            return EndlessRead(node, name, adds=False)
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if _is_read(value):
            return EndlessRead(node, name, adds=True)
    return None


def _is_read(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)):
            return attr in READS or (attr in _SAME and _is_read(inner))
    return False


def asked_for_being_empty(test: ast.expr) -> set[str]:
    """Return the names of which a condition asks whether they are empty: `not line`, `len(line) == 0`."""
    found = set[str]()
    for one in [test, *(part for part in walk(test) if isinstance(part, ast.expr))]:
        match one:
            case ast.Compare(
                left=ast.Name(id=name),
                ops=[ast.Eq() | ast.NotEq() | ast.Is()],
                comparators=[ast.Constant(value="" | b"" | None)],
            ):
                found.add(name)
            case ast.Call(func=ast.Name(id="len" | "bool"), args=[ast.Name(id=name)]):
                found.add(name)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
                found.add(name)
            case ast.BoolOp(values=values):
                found |= {part.id for part in values if isinstance(part, ast.Name)}
    return found | ({test.id} if isinstance(test, ast.Name) else set())
