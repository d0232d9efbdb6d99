"""A thread's loop that goes on until a flag changes, and a function that sets a name of its own in its place."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jupyter_kerneldoctor.recording.model import Cell

from .loop_changes import asked_names, called_name, running_nodes
from .notebook import Notebook
from .scopes import Scope
from .trees import holds, unparse

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert)


class FlagLoop(NamedTuple):
    """What a loop asks in each round, and does not change itself."""

    flag: str
    lost: Scope | None
    """The function that means to change it, and sets a name of its own: it lacks `global`."""


def flag_loop(code: Notebook, cell: Cell, line: int) -> FlagLoop | None:
    """Return the flag of the outermost loop around a line; None where the loop may be left otherwise."""
    around = [one for one in code.scopes(code.index(cell)) if one.is_cell or holds(one.node, line)]
    scope = around[-1]
    loop = next((one for one in scope.nodes if isinstance(one, ast.While) and holds(one, line)), None)
    names = asked_names(loop.test) if loop is not None else frozenset()
    if loop is None or len(names) != 1:
        return None
    (flag,) = names
    inner = [node for one in loop.body for node in running_nodes(one)]
    called = (part for one in inner for own in code.functions_named(called_name(one)) for part in own.nodes)
    if any(isinstance(one, _LEAVES) for one in inner) or flag in {*_stored(inner), *_stored(called)}:
        return None
    return FlagLoop(flag, None if "." in flag or flag in scope.bindings else _lost(code, flag))


def _stored(nodes: Iterator[ast.AST] | list[ast.AST]) -> Iterator[str]:
    for one in nodes:
        if isinstance(one, ast.Name | ast.Attribute) and not isinstance(one.ctx, ast.Load):
            yield unparse(one)


def _lost(code: Notebook, flag: str) -> Scope | None:
    """Return the function that gives the flag's name a constant, as a name of its own."""
    for scope in code.scopes_mentioning(flag):
        values = [one.value for one in scope.bindings.get(flag, ()) if one.scope is scope]
        is_own = not scope.is_cell and flag not in scope.outside and flag not in scope.parameters
        if is_own and values and all(isinstance(one, ast.Constant) for one in values):
            return scope
    return None
