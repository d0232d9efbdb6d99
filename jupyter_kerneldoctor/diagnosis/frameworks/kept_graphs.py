"""Tensors that a loop or a hook keeps of each round together with the graph that made them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Notebook, once
from ..code.scopes import Scope
from .gradients import backward_calls, records_graph, sources_of_gradients, starts_of_backward
from .hooks import code_of_hooks
from .kept import Kept, kept_values, names_in, outliving, root
from .small_values import is_small
from .torch import TENSOR_METHODS, Kind, Tensors

_CUTS = frozenset({"detach", "item", "tolist", "numpy", "shape", "argmax"})


@dataclass(frozen=True)
class KeptGraph:
    """A tensor that is kept, and with it the graph that made it."""

    kept: Kept
    is_loss: bool
    """It has one element, or a backward pass starts from it."""
    is_scalar: bool
    is_freed: bool
    """`backward()` runs in the loop, so that of the graph only a few kilobytes a step are left."""
    is_used_as_tensor: bool
    """A cell does with the kept values what only tensors can do."""
    in_hook: bool = False
    """A network's hook keeps it, each time the network is called."""


@once
def kept_graphs(code: Notebook) -> list[KeptGraph]:
    """Return the tensors that the running code keeps with their graphs, but those a backward pass starts from."""
    tensors = Tensors(code)
    if not tensors.in_use:
        return []
    found = [
        judged
        for one in kept_values(code.running, tensors.origins)
        if records_graph(one.value, one.scope, code) and (judged := _judge(one, tensors)) is not None
    ]
    found += _kept_by_hooks(code, tensors)
    needed = sources_of_gradients(code) if found else set()
    found = [one for one in found if one.kept.value not in needed]
    return [one for one in found if not _feeds_backward(one.kept.container, code)]


def kept_losses(code: Notebook) -> list[KeptGraph]:
    """Return the losses among the tensors that are kept with their graphs."""
    return [one for one in kept_graphs(code) if one.is_loss]


def _judge(kept: Kept, tensors: Tensors) -> KeptGraph | None:
    calls = kept.backward_calls(tensors.origins)
    text = kept.scope.segment(kept.value)
    own = [call for call in calls if kept.scope.segment(call.target) == text] if kept.scope is kept.caller else []
    scalar = tensors.is_scalar(kept.value, kept.scope) or any(isinstance(call.target, ast.Name) for call in own)
    if not own and tensors.kind(kept.value, kept.scope) is not Kind.GRAPH:
        return None
    freed = kept.is_trained or (bool(calls) and not any(call.keeps_graph for call in calls))
    return KeptGraph(kept, scalar or bool(own), scalar, freed, _is_used_as_tensor(kept.container, tensors.code))


def _kept_by_hooks(code: Notebook, tensors: Tensors) -> Iterator[KeptGraph]:
    """Yield what hooks, and a network's own `forward`, keep in each pass."""
    own = [one for one in code.running.functions if one.owner and one.function == "forward"]
    for scope in dict.fromkeys((*code_of_hooks(code), *own)):
        passed = set(scope.parameters[2 if scope.owner else 1 :])
        for value, container in outliving(scope):
            is_graph = tensors.kind(value, scope) is Kind.GRAPH or names_in(value) & passed
            if is_graph and not _is_cut(value) and not is_small(value, scope, tensors):
                freed = any(backward_calls(one.node, one) for one in code.running)
                kept = Kept(value, container, (), scope, scope)
                yield KeptGraph(kept, False, False, freed, _is_used_as_tensor(container, code), in_hook=True)


def _is_cut(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _CUTS for one in ast.walk(value))


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
            for name in set() if value is None else names_in(value):
                made_of.setdefault(name, []).extend(targets)
    names, waiting = {container}, [container]
    while waiting:
        found = {at for target in made_of.pop(waiting.pop(), ()) if (at := root(target)) is not None}
        waiting += found - names
        names |= found
    return any(names_in(start) & names for scope in scopes for start in starts_of_backward(scope, code))


def _is_used_as_tensor(container: str, code: Notebook) -> bool:
    """Whether the kept values go on into PyTorch, or have methods of a tensor called on them."""
    scopes = dict.fromkeys((*code.running, *code.mentioning(container.removeprefix("self."))))
    return any(_is_use_of_tensor(node, container, scope, code) for scope in scopes for node in scope.walk())


def _reaches(node: ast.expr, container: str) -> bool:
    """Whether an expression is an entry of an attribute, seen from outside: `trainer.log[-1]` for `self.log`."""
    own, _, name = container.rpartition("self.")
    inside = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return not own and container != name and isinstance(node, ast.Subscript) and any(one.attr == name for one in inside)


def _is_use_of_tensor(node: ast.AST, container: str, scope: Scope, code: Notebook) -> bool:
    match node:
        case ast.Attribute(attr=name, value=owner):
            return name in TENSOR_METHODS and (root(owner) == container or _reaches(owner, container))
        case ast.Call(func=function, args=given):
            into_torch = (code.qualified(function, scope) or "").startswith("torch.")
            return into_torch and any(container in names_in(one) for one in given)
        case ast.ListComp(elt=one, generators=[first, *_]) | ast.GeneratorExp(elt=one, generators=[first, *_]):
            uses = any(isinstance(part, ast.Attribute) and part.attr in TENSOR_METHODS for part in ast.walk(one))
            return uses and container in names_in(first.iter)
    return False
