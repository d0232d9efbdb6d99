"""Loops whose `continue` leaves out the step that brings them to their end."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .loop_changes import PURE, running_nodes
from .trees import unparse

_OF_TEXTS = frozenset({"startswith", "endswith", "strip", "lower", "upper", "isdigit", "isspace", "isalpha"})


class Skipped(NamedTuple):
    """What is asked before the `continue`, that itself, and the step behind it."""

    asked: frozenset[str]
    left: ast.stmt
    step: ast.AugAssign

    def is_known(self, loop: ast.While) -> bool:
        """Whether the step can be taken before the `continue`, too: it takes nothing that the loop works out first."""
        return not _names_in(self.step.value) & _names_in(loop, ast.Store)


def skipped(loop: ast.While, names: frozenset[str]) -> Iterator[Skipped]:
    """Find each `continue` before the step of a loop after which the next round is the same."""
    steps = [one for one in loop.body if isinstance(one, ast.AugAssign) and unparse(one.target) in names]
    if len(steps) != 1:
        return
    fixed = {*(_names_in(loop) - _names_in(loop, ast.Store)), *names}  # the same in each round that is skipped
    for one in loop.body[: loop.body.index(steps[0])]:
        if names & _names_in(one, ast.Store):
            return
        match one:
            case ast.If(test=test, body=[*first, ast.Continue() as left], orelse=[]) if _is_fixed(test, first, fixed):
                yield Skipped(_names_in(test), left, steps[0])
        if any(isinstance(part, ast.Call) and not _is_method_of_data(part) for part in running_nodes(one)):
            return
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _names_in(value) <= fixed:
                fixed.add(name)


def _names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> frozenset[str]:
    """Return the names that run in a node; with `ast.Store` only those that it binds."""
    return frozenset(
        one.id for one in running_nodes(node) if isinstance(one, ast.Name) and isinstance(one.ctx, context)
    )


def _is_fixed(test: ast.expr, first: list[ast.stmt], fixed: set[str]) -> bool:
    """Whether a condition has the same answer in each round, whatever is done before it is asked again."""
    asked = _names_in(test)
    return (
        asked <= fixed
        and all(_changes_nothing(one, asked) for one in first)
        and not any(_changes_when_asked(one) for one in running_nodes(test))
    )


def _changes_nothing(statement: ast.stmt, asked: frozenset[str]) -> bool:
    """Whether a statement leaves what a condition asks as it is: it prints, or counts something else."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) | ast.Pass():
            return True
        case ast.AugAssign(target=ast.Name(id=name), value=ast.Constant()):
            return name not in asked
    return False


def _changes_when_asked(node: ast.AST) -> bool:
    """Whether asking may give another answer each time: a call, or an attribute, which may be a property."""
    if isinstance(node, ast.Attribute):
        return node.attr not in _OF_TEXTS
    return isinstance(node, ast.Call) and not _is_method_of_data(node)


def _is_method_of_data(call: ast.Call) -> bool:
    """Whether a call asks a value that does not change: `line.startswith("#")`, `isinstance(x, str)`."""
    match call.func:
        case ast.Name(id=name):
            return name in PURE
        case ast.Attribute(attr=attr):
            return attr in _OF_TEXTS
    return False
