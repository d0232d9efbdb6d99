"""Loops that keep each step's result, and with it the graph that made it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._torch import Kind, Tensors, graph_is_off

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook, Scope
    from jupyter_kerneldoctor.diagnosis.code.scopes import Loop

_KEEPERS = frozenset({"append", "appendleft", "add", "extend", "put"})
_TENSOR_METHODS = frozenset({"item", "detach", "cpu", "numpy", "tolist", "mean", "sum", "to"})


@dataclass(frozen=True)
class Kept:
    """A value that a loop keeps in each round."""

    value: ast.expr
    statement: ast.stmt
    container: str
    """The name that outlives a round."""
    loop: Loop
    scope: Scope
    freed: bool
    """`backward()` runs in the loop, so that of the graph only a few kilobytes a step are left."""
    scalar: bool
    used_as_tensor: bool
    """A cell does with the kept values what only tensors can do."""


@dataclass(frozen=True)
class Backward:
    """A call that runs the backward pass."""

    target: ast.expr
    keeps_graph: bool


def find_kept_losses(code: Notebook) -> list[Kept]:
    """The losses that the running code keeps, each with its graph."""
    tensors = Tensors(code)
    if not tensors.in_use:
        return []
    found = []
    for scope in code.running:
        if not graph_is_off(scope.decorators, scope, code):
            for place in _in_loops(scope, code):
                found += [
                    kept
                    for value, container in _kept_values(place[0], scope)
                    if (kept := _judge(value, container, place, scope, tensors))
                ]
    return [kept for kept in found if not _feeds_backward(kept.container, code)]


def backward_calls(scope: Scope, loop: Loop | None = None) -> list[Backward]:
    """`loss.backward()`, `accelerator.backward(loss)` and the like in a scope, or a loop of it."""
    found = []
    for one in scope.calls if loop is None else scope.inside(loop):
        if not (isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "backward"):
            continue
        keeps = any(
            word.arg == "retain_graph" and not (isinstance(word.value, ast.Constant) and not word.value.value)
            for word in one.keywords
        )
        target = one.args[0] if one.args and isinstance(one.args[0], ast.Name) else one.func.value
        found.append(Backward(target, keeps))
    return found


def _in_loops(scope: Scope, code: Notebook) -> Iterator[tuple[ast.stmt, tuple[Loop, ...]]]:
    """Each statement that runs in a loop while the graph is being recorded, with its loops, innermost first."""
    for statement in scope.walk():
        if isinstance(statement, ast.stmt) and (loops := scope.loops_around(statement)):
            entered = [one.items for one in scope.around(statement) if isinstance(one, ast.With | ast.AsyncWith)]
            code.spend(2)
            if not graph_is_off([item.context_expr for items in entered for item in items], scope, code):
                yield statement, loops


def _kept_values(statement: ast.stmt, scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    """What a statement adds to something, and the name of that."""
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _KEEPERS and (name := _root(call.func.value)):
            for argument in call.args:
                yield from ((part, name) for part in _parts(argument))
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        if name := _root(statement.target):
            yield from ((part, name) for part in _parts(statement.value))
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Subscript) and (name := _root(target)):
            yield from ((part, name) for part in _parts(value))
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and (name := _root(target)):
            same = [scope.segment(side) == scope.segment(target) for side in (value.left, value.right)]
            if same[0] != same[1]:
                yield from ((part, name) for part in _parts(value.right if same[0] else value.left))


def _parts(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Tuple | ast.List):
        return [part for element in value.elts for part in _parts(element)]
    if isinstance(value, ast.Dict):
        return [part for element in value.values for part in _parts(element)]
    return [value]


def _root(node: ast.expr) -> str | None:
    """The name of what an expression reaches into: `log` for `log["loss"]`; of `self`, the attribute."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return f"self.{node.attr}"
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _judge(
    value: ast.expr, container: str, place: tuple[ast.stmt, tuple[Loop, ...]], scope: Scope, tensors: Tensors
) -> Kept | None:
    statement, loops = place
    loop = loops[0]
    if _bound_anew(container, loop, statement, scope):
        return None
    calls = [call for outer in loops for call in backward_calls(scope, outer)]
    text = scope.segment(value)
    own = [call for call in calls if scope.segment(call.target) == text]
    scalar = tensors.is_scalar(value, scope) or any(isinstance(call.target, ast.Name) for call in own)
    if not own and not (tensors.kind(value, scope) is Kind.GRAPH and scalar):
        return None
    freed = bool(calls) and not any(call.keeps_graph for call in calls)
    return Kept(value, statement, container, loop, scope, freed, scalar, _used_as_tensor(container, tensors.code))


def _bound_anew(name: str, loop: Loop, statement: ast.stmt, scope: Scope) -> bool:
    """Whether each round starts the container afresh."""
    for node in scope.inside(loop):
        if isinstance(node, ast.Assign) and node is not statement:
            plain = [_root(target) for target in node.targets if not isinstance(target, ast.Subscript)]
            if name in plain and not _mentions(node.value, name):
                return True
    return False


def _mentions(node: ast.AST, name: str) -> bool:
    return name in _names_in(node)


def _feeds_backward(container: str, code: Notebook) -> bool:
    """Whether the backward pass starts from the container or from something made of it: then it must stay as it is."""
    scopes = list(dict.fromkeys((*code.running, *code.mentioning("backward", "autograd"))))
    made_of: dict[str, list[list[ast.expr]]] = {}
    for scope in scopes:
        for node in scope.walk():
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
                value = node.iter if isinstance(node, ast.For) else node.value
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in set() if value is None else _names_in(value):
                    made_of.setdefault(name, []).append(targets)
    names, waiting = {container}, [container]
    while waiting:
        found = {root for targets in made_of.pop(waiting.pop(), ()) for target in targets if (root := _root(target))}
        waiting += found - names
        names |= found
    return any(_names_in(start) & names for scope in scopes for start in _backward_starts(scope, code))


def _backward_starts(scope: Scope, code: Notebook) -> Iterator[ast.expr]:
    yield from (call.target for call in backward_calls(scope))
    for node in scope.walk():
        if isinstance(node, ast.Call) and node.args and code.qualified(node.func, scope) == "torch.autograd.grad":
            yield node.args[0]


def _names_in(node: ast.AST) -> set[str]:
    return {
        name for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute) and (name := _root(one)) is not None
    } - {"self"}


def _used_as_tensor(container: str, code: Notebook) -> bool:
    """Whether the kept values go on into PyTorch, or have methods of a tensor called on them."""
    scopes = (*code.running, *code.mentioning(container))
    return any(_is_use_of_tensor(node, container, scope, code) for scope in scopes for node in scope.walk())


def _is_use_of_tensor(node: ast.AST, container: str, scope: Scope, code: Notebook) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _TENSOR_METHODS and _root(node.value) == container
    if isinstance(node, ast.Call):
        full = code.qualified(node.func, scope) or ""
        return full.startswith("torch.") and any(_mentions(argument, container) for argument in node.args)
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and _mentions(node.generators[0].iter, container):
        return any(isinstance(one, ast.Attribute) and one.attr in _TENSOR_METHODS for one in ast.walk(node.elt))
    return False
