"""What a loop keeps of each round: values that are appended, added up or stored in what outlives the round."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .gradients import backward_calls, records_graph, starts_of_backward
from .torch import TENSOR_METHODS, Kind, Tensors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..code.notebook import Notebook, Scope
    from ..code.scopes import Loop

_KEEPERS = frozenset({"append", "appendleft", "add", "extend", "put"})
_PLAIN_CALLS = frozenset(
    {"item", "tolist", "float", "int", "len", "str", "round", "time", "perf_counter", "format", "size"}
)
_DEEPEST = 12  # steps from a kept value to what it is worked out from
_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook")


@dataclass(frozen=True)
class Kept:
    """A value that a loop keeps in each round."""

    value: ast.expr
    container: str
    """The name of what outlives a round: `losses`, `self.losses`."""
    loops: tuple[Loop, ...]
    """Innermost first."""
    scope: Scope
    is_added_to: bool = True
    """The container gets longer by it: not where it is a number that is added up, or an entry that is replaced."""


@dataclass(frozen=True)
class KeptLoss:
    """A kept loss, and with it the graph that made it."""

    kept: Kept
    is_freed: bool
    """`backward()` runs in the loop, so that of the graph only a few kilobytes a step are left."""
    is_scalar: bool
    is_used_as_tensor: bool
    """A cell does with the kept values what only tensors can do."""


def kept_values(scopes: Iterable[Scope]) -> Iterator[Kept]:
    """Yield what the loops of these scopes keep."""
    for scope in scopes:
        for statement in scope.nodes:
            if not isinstance(statement, ast.stmt) or not (values := list(_stored(statement, scope))):
                continue
            loops = scope.loops_around(statement)
            for value, container, is_added_to in values if loops else ():
                if not _is_bound_anew(container, loops[0], statement, scope):
                    yield Kept(value, container, loops, scope, is_added_to)


def kept_losses(code: Notebook) -> list[KeptLoss]:
    """Return the losses that the running code keeps with their graphs, but those a backward pass starts from."""
    tensors = Tensors(code)
    if not tensors.in_use:
        return []
    found = [_judge(one, tensors) for one in kept_values(code.running) if records_graph(one.value, one.scope, code)]
    return [one for one in found if one is not None and not _feeds_backward(one.kept.container, code)]


def grows_by_the_step(code: Notebook) -> bool:
    """Whether a training loop keeps more than numbers of each step, so that memory grows however small a step is."""
    tensors = Tensors(code)
    graphs = {one.kept.value: one for one in kept_losses(code)}
    if any(not one.is_freed for one in graphs.values()):
        return True
    hooks = [scope for module in code.mentioning(*_HOOKS) for scope in code.scopes(module.cell)[1:]]
    if any(getattr(call.func, "attr", "") in _KEEPERS for scope in hooks for call in scope.calls):
        return True
    trains = [one for one in kept_values(code.running) if any(backward_calls(loop, one.scope) for loop in one.loops)]
    return any(
        one.is_added_to and one.value not in graphs and not _is_small(one.value, one.scope, tensors) for one in trains
    )


def _is_small(value: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> bool:
    """Whether a value that is kept is a number or a text."""
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.BoolOp():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _PLAIN_CALLS:
            return True
        case ast.BinOp(left=left, right=right):
            return depth < _DEEPEST and all(_is_small(side, scope, tensors, depth + 1) for side in (left, right))
        case ast.Name(id=name):
            binding = tensors.code.lookup(name, scope, value)
            if binding is None or binding.value is None:  # a loop's counter, most likely
                return any(
                    isinstance(one, ast.For) and name in _names_in(one.target) for one in scope.loops_around(value)
                )
            return depth < _DEEPEST and _is_small(binding.value, binding.scope, tensors, depth + 1)
    return tensors.is_scalar(value, scope)


def _stored(statement: ast.stmt, scope: Scope) -> Iterator[tuple[ast.expr, str, bool]]:
    """Yield what a statement adds to something, the name of that, and whether that gets longer by it."""
    is_longer = True
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=owner), args=given)) if method in _KEEPERS:
            added, name = given, _root(owner)
        case ast.AugAssign(op=ast.Add(), target=target, value=value):
            added, name, is_longer = [value], _root(target), isinstance(value, ast.List | ast.Tuple)
        case ast.Assign(targets=[ast.Subscript(slice=key) as target], value=value):
            added, name, is_longer = [value], _root(target), not isinstance(key, ast.Constant)
        case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add(), left=left, right=right)):
            same = [scope.segment(side) == scope.segment(target) for side in (left, right)]
            added, name = [right if same[0] else left] if same[0] != same[1] else [], _root(target)
            is_longer = any(isinstance(one, ast.List | ast.Tuple) for one in added)
        case _:
            return
    if name is not None:
        yield from ((part, name, is_longer) for one in added for part in _parts(one))


def _parts(value: ast.expr) -> list[ast.expr]:
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return [inner for part in parts for inner in _parts(part)]
    return [value]


def _root(node: ast.expr) -> str | None:
    """Return the name of what an expression reaches into: `log` for `log["loss"]`; of `self`, the attribute."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return f"self.{name}"
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_bound_anew(name: str, loop: Loop, statement: ast.stmt, scope: Scope) -> bool:
    """Whether each round starts the container afresh."""
    for node in scope.inside(loop):
        if isinstance(node, ast.Assign) and node is not statement:
            plain = [_root(target) for target in node.targets if not isinstance(target, ast.Subscript)]
            if name in plain and name not in _names_in(node.value):
                return True
    return False


def _judge(kept: Kept, tensors: Tensors) -> KeptLoss | None:
    calls = [call for loop in kept.loops for call in backward_calls(loop, kept.scope)]
    text = kept.scope.segment(kept.value)
    own = [call for call in calls if kept.scope.segment(call.target) == text]
    scalar = tensors.is_scalar(kept.value, kept.scope) or any(isinstance(call.target, ast.Name) for call in own)
    if not own and not (tensors.kind(kept.value, kept.scope) is Kind.GRAPH and scalar):
        return None
    freed = bool(calls) and not any(call.keeps_graph for call in calls)
    return KeptLoss(kept, freed, scalar, _is_used_as_tensor(kept.container, tensors.code))


def _feeds_backward(container: str, code: Notebook) -> bool:
    """Whether the backward pass starts from the container or from something made of it: then it must stay as it is."""
    scopes = list(dict.fromkeys((*code.running, *code.mentioning("backward", "autograd"))))
    made_of: dict[str, list[ast.expr]] = {}
    for scope in scopes:
        for node in scope.walk():
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                    targets = [target]
                case ast.For(target=target, iter=value):
                    targets = [target]
                case _:
                    continue
            for name in set() if value is None else _names_in(value):
                made_of.setdefault(name, []).extend(targets)
    names, waiting = {container}, [container]
    while waiting:
        found = {root for target in made_of.pop(waiting.pop(), ()) if (root := _root(target)) is not None}
        waiting += found - names
        names |= found
    return any(_names_in(start) & names for scope in scopes for start in starts_of_backward(scope, code))


def _names_in(node: ast.AST) -> set[str]:
    found = (_root(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute))
    return {name for name in found if name is not None} - {"self"}


def _is_used_as_tensor(container: str, code: Notebook) -> bool:
    """Whether the kept values go on into PyTorch, or have methods of a tensor called on them."""
    scopes = dict.fromkeys((*code.running, *code.mentioning(container)))
    return any(_is_use_of_tensor(node, container, scope, code) for scope in scopes for node in scope.walk())


def _is_use_of_tensor(node: ast.AST, container: str, scope: Scope, code: Notebook) -> bool:
    match node:
        case ast.Attribute(attr=name, value=owner):
            return name in TENSOR_METHODS and _root(owner) == container
        case ast.Call(func=function, args=given):
            into_torch = (code.qualified(function, scope) or "").startswith("torch.")
            return into_torch and any(container in _names_in(one) for one in given)
        case ast.ListComp(elt=one, generators=[first, *_]) | ast.GeneratorExp(elt=one, generators=[first, *_]):
            uses = any(isinstance(part, ast.Attribute) and part.attr in TENSOR_METHODS for part in ast.walk(one))
            return uses and container in _names_in(first.iter)
    return False
