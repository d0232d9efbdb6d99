"""Loops that keep each step's result, and with it the graph that made it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ._bindings import walk_scope
from ._torch import Kind, Tensors, graph_is_off

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._names import Executed, Scope

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
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


def find_kept_losses(code: Executed) -> list[Kept]:
    """The losses that the running code keeps, each with its graph."""
    tensors = Tensors(code)
    if not tensors.in_use:
        return []
    found = []
    for scope in code.running:
        if isinstance(scope.node, ast.Module) or not graph_is_off(scope.node.decorator_list, scope, code):
            for place in _in_loops(scope, code):
                found += [
                    kept
                    for value, container in _kept_values(place[0])
                    if (kept := _judge(value, container, place, scope, tensors))
                ]
    return [kept for kept in found if not _feeds_backward(kept.container, code)]


def backward_calls(node: ast.AST) -> list[Backward]:
    """`loss.backward()`, `accelerator.backward(loss)` and the like among what runs in a node."""
    found = []
    for one in walk_scope(node):
        if not (isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "backward"):
            continue
        keeps = any(
            word.arg == "retain_graph" and not (isinstance(word.value, ast.Constant) and not word.value.value)
            for word in one.keywords
        )
        target = one.args[0] if one.args and isinstance(one.args[0], ast.Name) else one.func.value
        found.append(Backward(target, keeps))
    return found


def _in_loops(scope: Scope, code: Executed) -> Iterator[tuple[ast.stmt, list[Loop]]]:
    """Each statement that runs in a loop while the graph is being recorded, with its loops, outermost first."""
    body = scope.node.body
    stack: list[tuple[ast.stmt, list[Loop]]] = [(one, []) for one in reversed(body)]
    while stack:
        statement, loops = stack.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(statement, ast.With | ast.AsyncWith) and graph_is_off(
            [item.context_expr for item in statement.items], scope, code
        ):
            continue
        if loops:
            yield statement, loops
        inside = [*loops, statement] if isinstance(statement, _LOOPS) else loops
        children = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
        children += [
            inner
            for part in ast.iter_child_nodes(statement)
            if isinstance(part, ast.ExceptHandler | ast.match_case)
            for inner in part.body
        ]
        stack += [(child, inside) for child in reversed(children)]


def _kept_values(statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
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
            same = [
                ast.dump(side) == ast.dump(target).replace("Store()", "Load()") for side in (value.left, value.right)
            ]
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
    value: ast.expr, container: str, place: tuple[ast.stmt, list[Loop]], scope: Scope, tensors: Tensors
) -> Kept | None:
    statement, loops = place
    loop = loops[-1]
    if _bound_anew(container, loop, statement):
        return None
    calls = [call for outer in loops for call in backward_calls(outer)]
    own = [call for call in calls if ast.dump(call.target) == ast.dump(value)]
    scalar = tensors.is_scalar(value, scope) or any(isinstance(call.target, ast.Name) for call in own)
    if not own and not (tensors.kind(value, scope) is Kind.GRAPH and scalar):
        return None
    freed = bool(calls) and not any(call.keeps_graph for call in calls)
    return Kept(value, statement, container, loop, scope, freed, scalar, _used_as_tensor(container, tensors.code))


def _bound_anew(name: str, loop: Loop, statement: ast.stmt) -> bool:
    """Whether each round starts the container afresh."""
    for node in walk_scope(loop):
        if isinstance(node, ast.Assign) and node is not statement:
            plain = [_root(target) for target in node.targets if not isinstance(target, ast.Subscript)]
            if name in plain and not _mentions(node.value, name):
                return True
    return False


def _mentions(node: ast.AST, name: str) -> bool:
    return name in _names_in(node)


def _feeds_backward(container: str, code: Executed) -> bool:
    """Whether the backward pass starts from the container or from something made of it: then it must stay as it is."""
    made_of_it, before = {container}, 0
    scopes = list({id(scope): scope for scope in (*code.running, *code.mentioning("backward", "autograd"))}.values())
    while len(made_of_it) > before:
        before = len(made_of_it)
        for scope in scopes:
            for node in scope.walk():
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For) and _takes_in(
                    node, made_of_it
                ):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    made_of_it.update(filter(None, map(_root, targets)))
    return any(_names_in(start) & made_of_it for scope in scopes for start in _backward_starts(scope, code))


def _takes_in(node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For, names: set[str]) -> bool:
    value = node.iter if isinstance(node, ast.For) else node.value
    return value is not None and bool(_names_in(value) & names)


def _backward_starts(scope: Scope, code: Executed) -> Iterator[ast.expr]:
    yield from (call.target for call in backward_calls(scope.node))
    for node in scope.walk():
        if isinstance(node, ast.Call) and node.args and code.qualified(node.func, scope) == "torch.autograd.grad":
            yield node.args[0]


def _names_in(node: ast.AST) -> set[str]:
    return {
        name for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute) and (name := _root(one)) is not None
    } - {"self"}


def _used_as_tensor(container: str, code: Executed) -> bool:
    """Whether the kept values go on into PyTorch, or have methods of a tensor called on them."""
    scopes = (*code.running, *code.mentioning(container))
    return any(_is_use_of_tensor(node, container, scope, code) for scope in scopes for node in scope.walk())


def _is_use_of_tensor(node: ast.AST, container: str, scope: Scope, code: Executed) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _TENSOR_METHODS and _root(node.value) == container
    if isinstance(node, ast.Call):
        full = code.qualified(node.func, scope) or ""
        return full.startswith("torch.") and any(_mentions(argument, container) for argument in node.args)
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and _mentions(node.generators[0].iter, container):
        return any(isinstance(one, ast.Attribute) and one.attr in _TENSOR_METHODS for one in ast.walk(node.elt))
    return False
