"""Loops that work a value out of itself while gradients are recorded: the newest holds on to all rounds."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import last_name, plain_names
from ..code.notebook import Notebook, Scope
from ..code.scopes import Loop
from ..code.trees import walk
from .gradients import backward_calls, records_graph
from .keras import tapes
from .torch import Kind, Tensors

_STEPS = 3  # from statement to statement
_NUMBERS = ("item", "float", "int", "len", "detach", "stop_gradient", "numpy")


class UnrolledLoop(NamedTuple):
    """A loop without a backward pass whose rounds go on from each other."""

    loop: Loop
    scope: Scope
    name: str
    """What it carries from round to round."""
    made: ast.stmt
    """The statement that gives it anew."""
    of_torch: bool
    """Whether it is a loop of PyTorch; else one under a tape of TensorFlow."""

    @property
    def is_iteration(self) -> bool:
        """Whether all rounds do the same with the same, as a solver does: it takes no part of a sequence."""
        if not isinstance(self.loop, ast.For):
            return True
        return not plain_names(self.loop.target) & plain_names(*self.loop.body)

    @property
    def calls(self) -> list[ast.Call]:
        """All calls of a round."""
        return [one for one in self.scope.inside(self.loop) if isinstance(one, ast.Call)]


def unrolled_loops(code: Notebook) -> Iterator[UnrolledLoop]:
    """Yield the loops of the running code whose values surely hold on to all rounds: of PyTorch, or under a tape."""
    of_torch = code.imports("torch") and _has_gradients(code)
    for scope in code.running if of_torch or code.imports("tensorflow") else ():
        taped = [] if of_torch else [one.statement for one in tapes(scope, code)]
        for node in scope.nodes:
            loop = next(iter(scope.loops_around(node)), None)
            if not isinstance(node, ast.stmt) or not isinstance(loop, ast.For | ast.While):
                continue
            name, value = _gone_on(node, loop, scope, in_tuples=bool(taped))
            if value is None or _is_a_number(value):
                continue
            if isinstance(loop, ast.For) and any(_calls_item(one, loop) for one in loop.body):
                continue  # the layers of a network, one after the other
            is_recorded = _has_graph(value, scope, code) if of_torch else any(loop in walk(one) for one in taped)
            inside = scope.inside(loop)
            if not is_recorded or backward_calls(loop, scope) or _is_a_sum(name, value, inside):
                continue
            beside = _beside(name, value, inside)
            if not any(_is_cut(one, name) for one in inside if one not in beside):
                yield UnrolledLoop(loop, scope, name, node, of_torch)


def _gone_on(node: ast.stmt, loop: Loop, scope: Scope, *, in_tuples: bool) -> tuple[str, ast.expr | None]:
    """Return the name that a statement works out of itself, and its new value: `x = f(x)`, `y, h = cell(x, h)`.

    Also by way of another name: `u = a / (K @ v)`, where the round before gave `v` out of its `u`.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            is_direct = name in plain_names(value)
            return (name, value) if is_direct or _goes_round(name, node, loop, scope) else ("", None)
        case ast.Assign(targets=[ast.Tuple(elts=[*_, ast.Name(id=name)])], value=value) if in_tuples:
            return (name, value) if name in plain_names(value) else ("", None)
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            return name, value
    return "", None


def _goes_round(name: str, made: ast.Assign, loop: Loop, scope: Scope) -> bool:
    """Whether a loop reads a name before it gives it anew, and gives it anew by way of what it read."""
    nodes = scope.inside(loop)
    named = [one for one in nodes if isinstance(one, ast.Name) and one.id == name]
    if sum(isinstance(one.ctx, ast.Store) for one in named) != 1:
        return False
    read = [one for one in named if isinstance(one.ctx, ast.Load) and one.lineno < made.lineno]
    return bool(read) and name in _made_of(plain_names(made.value), nodes)


def _made_of(names: set[str], nodes: list[ast.AST]) -> set[str]:
    """Return these names, and those that a loop works them out of."""
    known = set(names)
    for _ in range(_STEPS):
        for one in nodes:
            if isinstance(one, ast.Assign) and plain_names(*one.targets) & known:
                known |= plain_names(one.value)
    return known


def _beside(name: str, value: ast.expr, nodes: list[ast.AST]) -> set[ast.AST]:
    """Return what statements hold that give other names, not those it is worked out of: `old = x.detach()`."""
    known = {name} | _made_of(plain_names(value), nodes)
    others = (one for one in nodes if isinstance(one, ast.Assign) and not plain_names(*one.targets) & known)
    return {inner for one in others for inner in walk(one)}


def _calls_item(value: ast.stmt, loop: ast.For) -> bool:
    calls = (one for one in walk(value) if isinstance(one, ast.Call))
    return any(plain_names(one.func) & plain_names(loop.target) for one in calls)


def _has_graph(value: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether a value surely is worked out of something that has a gradient, and that is recorded."""
    return Tensors(code).kind(value, scope) is Kind.GRAPH and records_graph(value, scope, code)


def _has_gradients(code: Notebook) -> bool:
    """Whether something in the cells has a gradient: a network, a parameter, a tensor that asks for one."""
    return any(map(code.has_text, ("requires_grad", "nn.", "Parameter(", "from_pretrained")))


def _is_a_number(value: ast.expr) -> bool:
    """Whether what is added is a plain number, or cut off from its graph."""
    calls = [one for one in walk(value) if isinstance(one, ast.Call)]
    parts = [one for one in walk(value) if isinstance(one, ast.Name)]
    return any(last_name(one.func) in _NUMBERS for one in calls) or len({one.id for one in parts}) < 2 - bool(calls)


def _is_a_sum(name: str, value: ast.expr, nodes: list[ast.AST]) -> bool:
    """Whether what is added does not depend on what there is: a sum of losses needs all of them for its gradient."""
    match value:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=ast.Name(id=other), right=added) if other == name:
            pass
        case ast.BinOp(op=ast.Add(), left=added, right=ast.Name(id=other)) if other == name:
            pass
        case _ if name not in plain_names(value):
            added = value  # total += loss
        case _:
            return False
    others = [one for one in nodes if not (isinstance(one, ast.Assign) and plain_names(*one.targets) == {name})]
    return name not in _made_of(plain_names(added), others)


def _is_cut(node: ast.AST, name: str) -> bool:
    """Whether a statement cuts the value off from its graph: `x = x.detach()`, `x.detach_()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="detach" | "detach_" | "data", value=ast.Name(id=other))):
            return other == name
        case ast.Call(func=ast.Attribute(attr="stop_gradient"), args=[ast.Name(id=other)]):
            return other == name
    return False
