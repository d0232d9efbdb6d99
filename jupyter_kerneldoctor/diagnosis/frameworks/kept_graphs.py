"""Tensors that a loop or a hook keeps of each round together with the graph that made them."""

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass

from ..code.attributes import Origin
from ..code.calls import last_name
from ..code.notebook import Notebook, once
from ..code.scopes import Scope
from ..code.stores import Store
from ..code.trees import dump, walk
from ..code.unpacking import unpacked
from .evaluation import is_forward, run_by_networks
from .gradients import CUTS, Backward, goes_backward, is_cut, reached_by_gradients, records_graph, starts_of_backward
from .hooks import code_of_hooks, left_hooks
from .kept import UNNAMED, Kept, kept_values, names_in, outliving, root, stored
from .recurrent import stores_of_states
from .small_values import is_small
from .summed_losses import kept_for_one_backward
from .torch import TENSOR_METHODS, Kind, Tensors

_CUTS = frozenset({"detach", "item", "tolist", "numpy", "shape", "argmax"})
_MOST_STEPS = 40  # from a kept value back to what a backward pass goes through


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
    found = [*_kept_in_loops(code), *_kept_by_hooks(code, tensors), *_averaged(code, tensors)]
    needed = reached_by_gradients(code) if found else set()
    found = [one for one in found if one.kept.value not in needed]
    feeding = {one.kept.scope for one in found if _feeds_backward(_attribute(one.kept), code)}
    return [one for one in found if one.kept.scope not in feeding]  # what feeds it holds the graph of the others, too


@once
def _kept_in_loops(code: Notebook) -> list[KeptGraph]:
    tensors = Tensors(code)
    return [
        judged
        for one in kept_values(code.running, tensors.origins)
        if records_graph(one.value, one.scope, code) and not _is_of_one_pass(one, code)
        if (judged := _judge(one, tensors)) is not None
    ]


def kept_losses(code: Notebook) -> list[KeptGraph]:
    """Return the losses among the tensors that are kept with their graphs."""
    return [one for one in kept_graphs(code) if one.is_loss]


def stores_of_graphs(code: Notebook, seen: Container[str] = ()) -> list[Store]:
    """Return the statements of loops that keep tensors with their graphs, which no backward pass frees.

    Where there are none: those that make a tensor from what it was in the round before, of these that were `seen`, or
    those that add up losses for one backward pass behind the loop.
    """
    try:
        found = [one.kept for one in kept_graphs(code) if not (one.is_freed or one.in_hook)]
        carried = [one for one in _kept_in_loops(code) if not one.kept.is_added_to and one.kept.container in seen]
        found = found or [one.kept for one in carried if not one.is_freed]
        states = [] if found else stores_of_states(code, Tensors(code))
        if not (found or states):  # the backward pass frees it, as it seems: but it was there with its graph
            found = [one.kept for one in carried if "." in one.kept.container]
            found = found or [*kept_for_one_backward(Tensors(code))]
        hooked = [] if found or states or not any(left_hooks(code)) else [*code_of_hooks(code)]
    except Exception:  # the statement to blame is known without, only not so well
        return []
    placed = [(one.value, one.container, one.scope) for one in found]
    placed += [(*one, scope) for scope in hooked for one in outliving(scope)][:1]  # it keeps what it belongs to
    found_at = [(scope.statement_of(value), value, container, scope) for value, container, scope in placed]
    kept = [Store(at, scope, container, (value,)) for at, value, container, scope in found_at if at is not None]
    lasting = [one for one in kept if one.container != UNNAMED]
    return (lasting or kept) + states


def _judge(kept: Kept, tensors: Tensors) -> KeptGraph | None:
    calls = kept.backward_calls(tensors.origins)
    text = dump(kept.value)
    own = [call for call in calls if dump(call.target) == text] if kept.scope is kept.caller else []
    scalar = tensors.is_scalar(kept.value, kept.scope) or any(isinstance(call.target, ast.Name) for call in own)
    if not own and not _is_graph(kept.value, kept.scope, tensors):
        return None
    calls = [call for call in calls if not _is_optional(call, kept)]
    freed = bool(calls) and not any(call.keeps_graph for call in calls) and bool(own or _is_used_up(kept, tensors))
    freed |= kept.is_trained
    return KeptGraph(kept, scalar or bool(own), scalar, freed, _is_used_as_tensor(kept.container, tensors.code))


def _is_of_one_pass(kept: Kept, code: Notebook) -> bool:
    """Whether a network's own `forward` collects it in a local variable: what it gives back has to keep its graph.

    A comprehension without a name, and a function that `forward` calls, are a part of it.
    """
    scope, name = kept.scope, kept.container
    if name == UNNAMED:
        return is_forward(scope, code) or scope.node in run_by_networks(code)
    return name in scope.bindings and bool(scope.owner) and scope.function == "forward"


def _is_graph(node: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether an expression gives a tensor with its graph, or a function of the user's that returns several has one."""
    if tensors.kind(node, scope) is not Kind.OTHER or not isinstance(node, ast.Call | ast.Name):
        return tensors.kind(node, scope) is Kind.GRAPH
    made = tensors.origins.of(node, scope) if isinstance(node, ast.Name) else [Origin(node, scope)]
    returned = [one for call, at in made if isinstance(call, ast.Call) for one in tensors.origins.returned(call, at)]
    parts = [(part, one.scope) for one in returned if isinstance(one.node, ast.Tuple) for part in one.node.elts]
    return any(tensors.kind(*one) is Kind.GRAPH and records_graph(*one, tensors.code) for one in parts)


def _is_optional(call: Backward, kept: Kept) -> bool:
    """Whether a backward pass is left out where the value is kept all the same: `if train: loss.backward()`."""
    for one in kept.caller.around(call.node):
        nodes = list(walk(one)) if isinstance(one, ast.If) else []
        counts = any(isinstance(part, ast.Mod) for part in nodes[:1] and walk(one.test))  # type: ignore[attr-defined]
        called = {last_name(part) for part in nodes}
        if nodes and not counts and kept.value not in nodes and (kept.scope.function or None) not in called:
            return True
    return False


def _is_used_up(kept: Kept, tensors: Tensors) -> bool:
    """Whether a backward pass of the code goes through what made the value."""
    needed, waiting = reached_by_gradients(tensors.code), [Origin(kept.value, kept.scope)]
    for node, scope in waiting:  # it grows meanwhile
        if node in needed or len(waiting) > _MOST_STEPS:
            return True
        parts: list[ast.expr] = []
        match node:
            case ast.Name() | ast.Attribute() if origins := tensors.origins.of(node, scope):
                waiting += [one for one in origins if _is_graph(one.node, one.scope, tensors)]
            case ast.Name(id=name) if (binding := tensors.code.lookup(name, scope, node)) is not None:
                whole = unpacked(tensors.code, binding)
                waiting += [] if whole is None else [Origin(whole, binding.scope)]
            case ast.Call(func=function, args=given):
                parts = [*given, *([function.value] if isinstance(function, ast.Attribute) else [])]
            case _:
                parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        waiting += [Origin(one, scope) for one in parts if tensors.kind(one, scope) is Kind.GRAPH]
    return False


def _kept_by_hooks(code: Notebook, tensors: Tensors) -> Iterator[KeptGraph]:
    """Yield what hooks, and a network's own `forward`, keep in each pass."""
    own = [one for one in code.running.functions if one.owner and one.function == "forward"]
    for scope in dict.fromkeys((*code_of_hooks(code), *own)):
        passed = set(scope.parameters[2 if scope.owner else 1 :])
        for value, container in outliving(scope):
            is_graph = tensors.kind(value, scope) is Kind.GRAPH or names_in(value) & passed
            if is_graph and not _is_cut(value) and not is_small(value, scope, tensors):
                freed = goes_backward(code)
                kept = Kept(value, container, (), scope, scope)
                yield KeptGraph(kept, False, False, freed, _is_used_as_tensor(container, code), in_hook=True)


def _averaged(code: Notebook, tensors: Tensors) -> Iterator[KeptGraph]:
    """Yield what a network's `forward` adds to an attribute, which then hangs on all passes before."""
    for scope in code.running.functions:
        for statement in scope.nodes if scope.owner and scope.function == "forward" else ():
            for value, container, is_longer in stored(statement, scope) if isinstance(statement, ast.stmt) else ():
                is_graph = tensors.kind(value, scope) is Kind.GRAPH or names_in(value) & set(scope.parameters[1:])
                if container.startswith("self.") and not is_longer and is_graph and not _is_cut(value):
                    kept = Kept(value, container, (), scope, scope, is_added_to=False)
                    yield KeptGraph(kept, False, False, False, False, in_hook=True)


def _is_cut(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _CUTS for one in walk(value))


def _attribute(kept: Kept) -> str:
    """Return the container's name in its class, `self.values` for `memory.values.append(value)`; else its name."""
    match kept.scope.statement_of(kept.value):
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name)))):
            return f"self.{name}"
    return kept.container


def _feeds_backward(container: str, code: Notebook) -> bool:
    """Whether the backward pass starts from the container or from something made of it: then it must stay as it is."""
    scopes = list(dict.fromkeys((*code.running, *code.mentioning("backward", "autograd"))))
    made_of: dict[str, list[ast.expr]] = {}
    for scope in scopes:
        for node in scope.nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                    targets = [target]
                case ast.For(target=target, iter=value):
                    targets = [target]
                case _:
                    continue
            for name in set() if value is None else _read_in(value):
                made_of.setdefault(name, []).extend(targets)
    names, waiting = {container}, [container]
    while waiting:
        found = {at for target in made_of.pop(waiting.pop(), ()) if (at := root(target)) is not None}
        waiting += found - names
        names |= found
    return any(_read_in(start) & names for scope in scopes for start in starts_of_backward(scope, code))


def _read_in(node: ast.AST) -> set[str]:
    """Return the names that an expression reads with their graphs; of `memory.values`, that in its class, too."""
    if is_cut(node, CUTS):
        return set()
    own = {f"self.{node.attr}"} if isinstance(node, ast.Attribute) else set()
    own |= names_in(node) if isinstance(node, ast.Attribute | ast.Subscript | ast.Name) else set()
    return own.union(*(_read_in(one) for one in ast.iter_child_nodes(node)))


def _is_used_as_tensor(container: str, code: Notebook) -> bool:
    """Whether the kept values go on into PyTorch, or have methods of a tensor called on them."""
    scopes = dict.fromkeys((*code.running, *code.mentioning(container.removeprefix("self."))))
    return any(_is_use_of_tensor(node, container, scope, code) for scope in scopes for node in scope.nodes)


def _reaches(node: ast.expr, container: str) -> bool:
    """Whether an expression is an entry of an attribute, seen from outside: `trainer.log[-1]` for `self.log`."""
    own, _, name = container.rpartition("self.")
    inside = (one for one in walk(node) if isinstance(one, ast.Attribute))
    return not own and container != name and isinstance(node, ast.Subscript) and any(one.attr == name for one in inside)


def _is_use_of_tensor(node: ast.AST, container: str, scope: Scope, code: Notebook) -> bool:
    match node:
        case ast.Attribute(attr=name, value=owner):
            return name in TENSOR_METHODS and (root(owner) == container or _reaches(owner, container))
        case ast.Call(func=function, args=given):
            into_torch = (code.qualified(function, scope) or "").startswith("torch.")
            return into_torch and any(container in names_in(one) for one in given)
        case ast.ListComp(elt=one, generators=[first, *_]) | ast.GeneratorExp(elt=one, generators=[first, *_]):
            uses = any(isinstance(part, ast.Attribute) and part.attr in TENSOR_METHODS for part in walk(one))
            return uses and container in names_in(first.iter)
    return False
