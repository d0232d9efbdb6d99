"""What a loop keeps of each round: values that are appended, added up or stored in what outlives the round."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..code.notebook import Notebook, Scope, once
from ..code.origins import Origins
from .gradients import (
    Backward,
    backward_below,
    backward_calls,
    is_of_lightning,
    records_graph,
    sources_of_gradients,
    starts_of_backward,
)
from .recurrent import carried_states
from .torch import TENSOR_METHODS, Kind, Tensors

_KEEPERS = frozenset({"append", "appendleft", "add", "extend", "insert", "put"})
_PLAIN_CALLS = frozenset(
    {"item", "tolist", "float", "int", "len", "str", "round", "time", "perf_counter", "format", "size"}
)
_DEEPEST = 12  # steps from a kept value to what it is worked out from
_CUTS = frozenset({"detach", "item", "tolist", "numpy", "shape", "argmax"})
_RUN_EACH_STEP = re.compile(r"forward|call|__getitem__|__call__|train_step|on_\w*(?:batch|step|epoch)\w*")
"""Methods of networks, data sets, layers and callbacks."""
_NUMBERS = ("logs", "metrics")
"""What Keras gives a callback: a number for each metric."""
_MOST_CALLERS = 3  # from a function that keeps something to the loop around the call of it
_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook")


@dataclass(frozen=True)
class Kept:
    """A value that a loop keeps in each round."""

    value: ast.expr
    container: str
    """The name of what outlives a round: `losses`, `self.losses`."""
    loops: tuple[ast.AST, ...]
    """Innermost first. A comprehension is one; so is a loop that calls the function in which the value is kept."""
    scope: Scope
    caller: Scope
    """The scope of the loops: another one where the value is kept in a function."""
    is_added_to: bool = True
    """The container gets longer by it: not where it is a number that is added up, or an entry that is replaced."""

    def backward_calls(self, origins: Origins) -> list[Backward]:
        """Return the backward passes of a round."""
        inner = [] if self.scope is self.caller else backward_calls(self.scope.node, self.scope)
        return [*inner, *(backward_below(self.loops[0], self.caller, origins) if self.loops else ())]


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


def kept_values(scopes: Iterable[Scope], origins: Origins) -> Iterator[Kept]:
    """Yield what the loops of these scopes keep, also in the functions that they call."""
    for scope in scopes:
        for statement in scope.nodes:
            if not isinstance(statement, ast.stmt):
                continue
            yield from _in_comprehensions(statement, scope)
            for value, container, is_added_to in stored(statement, scope):
                loops, caller = _repeated(statement, container, scope, origins)
                if loops and not _is_bound_anew(container, loops[0], statement, caller):
                    yield Kept(value, container, loops, scope, caller, is_added_to)


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


def _repeated(
    statement: ast.stmt, container: str, scope: Scope, origins: Origins, depth: int = 0
) -> tuple[tuple[ast.AST, ...], Scope]:
    """Return the loops that run a statement again and again; of a function, those that call it."""
    if loops := scope.loops_around(statement):
        return loops, scope
    if scope.function.endswith("_step") and is_of_lightning(scope, origins.code):
        return (scope.node,), scope
    is_local = container in scope.bindings and container not in scope.parameters
    if not scope.is_cell and not is_local and depth < _MOST_CALLERS:
        for call, caller in origins.calls_of(scope):
            around = caller.statement_of(call)
            if around is not None and caller is not scope:
                found = _repeated(around, "" if depth else container, caller, origins, depth + 1)
                if found[0]:
                    return found
    return (), scope


def _in_comprehensions(statement: ast.stmt, scope: Scope) -> Iterator[Kept]:
    if hasattr(statement, "body"):
        return
    for node in scope.inside(statement):
        match node:
            case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.DictComp(value=value):
                named = isinstance(statement, ast.Assign) and statement.value is node
                name = _root(statement.targets[0]) if named and isinstance(statement, ast.Assign) else None
                yield Kept(value, name or "the list", (node, *scope.loops_around(statement)), scope, scope)


def _kept_by_hooks(code: Notebook, tensors: Tensors) -> Iterator[KeptGraph]:
    """Yield what hooks, and a network's own `forward`, keep in each pass."""
    own = [one for one in code.running.functions if one.owner and one.function == "forward"]
    for scope in dict.fromkeys((*code_of_hooks(code), *own)):
        passed = set(scope.parameters[2 if scope.owner else 1 :])
        for value, container in outliving(scope):
            is_graph = tensors.kind(value, scope) is Kind.GRAPH or _names_in(value) & passed
            if is_graph and not _is_cut(value) and not _is_small(value, scope, tensors):
                freed = any(backward_calls(one.node, one) for one in code.running)
                kept = Kept(value, container, (), scope, scope)
                yield KeptGraph(kept, False, False, freed, _is_used_as_tensor(container, code), in_hook=True)


def outliving(scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    """Yield what a function adds to something that is there after its call, and the name of that."""
    for statement in scope.nodes:
        for value, container, is_longer in stored(statement, scope) if isinstance(statement, ast.stmt) else ():
            if is_longer and (container not in scope.bindings or container in scope.parameters):
                yield value, container


def code_of_hooks(code: Notebook) -> Iterator[Scope]:
    """Yield the functions that are registered as hooks of a network."""
    for module in code.mentioning(*_HOOKS):
        for scope in code.scopes(module.cell):
            for call in scope.calls:
                if getattr(call.func, "attr", "") in _HOOKS and call.args:
                    yield from _called_as_hook(call.args[0], scope, code)
                    names = {one.id for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)}
                    names |= {one.attr for one in ast.walk(call.args[0]) if isinstance(one, ast.Attribute)}
                    inner = (one for one in code.scopes(module.cell) if not one.is_cell)
                    yield from (one for one in inner if one.function in names or one.node in ast.walk(call.args[0]))
                    yield from (one for name in names for made in code.functions_named(name) for one in _inside(made))


def _called_as_hook(hook: ast.expr, scope: Scope, code: Notebook) -> Iterator[Scope]:
    """Yield the `__call__` of the object that is the hook."""
    made = code.definition(hook.func if isinstance(hook, ast.Call) else hook, scope, made=True)
    if made is not None and isinstance(made.definition, ast.ClassDef):
        name = made.definition.name
        yield from (one for one in code.scopes(made.cell) if one.owner == name and one.function == "__call__")


def _methods_of_data_sets(code: Notebook) -> Iterator[Scope]:
    """Yield the methods by which loaders get the items of the user's data sets."""
    for call in code.calls("torch.utils.data.DataLoader"):
        given = call.argument("dataset", 0)
        node = given.func if isinstance(given, ast.Call) else given
        made = None if node is None else code.definition(node, call.scope, made=True)
        if made is not None and isinstance(made.definition, ast.ClassDef):
            name = made.definition.name
            yield from (one for one in code.scopes(made.cell) if one.owner == name and one.function == "__getitem__")


def _inside(function: Scope) -> Iterator[Scope]:
    """Yield the function, and the functions in it: `def save(name): def hook(m, i, o): ...; return hook`."""
    yield from (one for one in function.tree.scopes if one is function or one.parent is function)


def _is_cut(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _CUTS for one in ast.walk(value))


@once
def grows_by_the_step(code: Notebook) -> bool:
    """Whether a training loop keeps more than numbers of each step, so that memory grows however small a step is."""
    tensors = Tensors(code)
    graphs = {one.kept.value: one for one in kept_graphs(code)}
    if any(not one.is_freed for one in graphs.values()):
        return True
    if any(getattr(call.func, "attr", "") in _KEEPERS for scope in code_of_hooks(code) for call in scope.calls):
        return True
    if any(backward.keeps_graph and carried_states(loop, scope, tensors) for backward, loop, scope in _steps(code)):
        return True
    each = [one for one in code.running.functions if one.owner and _RUN_EACH_STEP.fullmatch(one.function)]
    each += _methods_of_data_sets(code)
    if any(not _is_small(value, scope, tensors) for scope in each for value, _ in outliving(scope)):
        return True
    losses = {value for value, one in graphs.items() if one.is_loss}
    trains = _of_training(code, tensors)
    return any(
        one.is_added_to and one.value not in losses and not _is_small(one.value, one.scope, tensors) for one in trains
    )


def _steps(code: Notebook) -> Iterator[tuple[Backward, ast.For | ast.While, Scope]]:
    """Yield the backward passes of the running code, each with the loops around it."""
    for scope in code.running:
        for one in backward_calls(scope.node, scope):
            yield from (
                (one, loop, scope) for loop in scope.loops_around(one.node) if not isinstance(loop, ast.AsyncFor)
            )


def _is_small(value: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> bool:
    """Whether a value that is kept is a number or a text."""
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.BoolOp():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _PLAIN_CALLS:
            return True
        case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr="get", value=ast.Name(id=name))):
            return name in _NUMBERS or tensors.is_scalar(value, scope)
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


def stored(statement: ast.stmt, scope: Scope) -> Iterator[tuple[ast.expr, str, bool]]:
    """Yield what a statement adds to something, the name of that, and whether that gets longer by it."""
    is_longer = True
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=owner), args=given)) if method in _KEEPERS:
            added, name = given, _root(owner)
        case ast.AugAssign(op=ast.Add(), target=target, value=value):
            added, name, is_longer = [value], _root(target), isinstance(value, ast.List | ast.Tuple)
        case ast.Assign(targets=[ast.Subscript(slice=key) as target], value=value):
            added, name, is_longer = [value], _root(target), not isinstance(key, ast.Constant)
        case ast.Assign(targets=[target], value=ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_])):
            text = scope.segment(target)  # kept = torch.cat([kept, out])
            others = [one for one in parts if scope.segment(one) != text]
            added, name = others if len(others) < len(parts) else [], _root(target)
        case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add(), left=left, right=right)):
            same = [scope.segment(target) in _terms(side, scope) for side in (left, right)]
            added, name = [right if same[0] else left] if same[0] != same[1] else [], _root(target)
            is_longer = any(isinstance(one, ast.List | ast.Tuple) for one in added)
        case _:
            return
    if name is not None:
        yield from ((part, name, is_longer) for one in added for part in _parts(one))


def _terms(side: ast.expr, scope: Scope) -> set[str]:
    """Return the texts of what a side of a sum is: `avg`, also of `0.9 * avg`."""
    factors = [side.left, side.right] if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult) else []
    return {scope.segment(one) for one in (side, *factors)}


def _parts(value: ast.expr) -> list[ast.expr]:
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return [inner for part in parts for inner in _parts(part)]
    return [value]


def _root(node: ast.expr) -> str | None:
    """Return the name of what an expression reaches into: `log` for `log["loss"]`; of `self`, the attribute."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return f"self.{name}"
            case ast.Call(func=ast.Attribute(attr="setdefault", value=node)):
                continue
            case ast.Call():
                return None
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_bound_anew(name: str, loop: ast.AST, statement: ast.stmt, scope: Scope) -> bool:
    """Whether each round starts the container afresh."""
    for node in scope.inside(loop):
        if isinstance(node, ast.Assign) and node is not statement:
            plain = [_root(target) for target in node.targets if not isinstance(target, ast.Subscript)]
            if name in plain and name not in _names_in(node.value):
                return True
    return False


def _judge(kept: Kept, tensors: Tensors) -> KeptGraph | None:
    calls = kept.backward_calls(tensors.origins)
    text = kept.scope.segment(kept.value)
    own = [call for call in calls if kept.scope.segment(call.target) == text] if kept.scope is kept.caller else []
    scalar = tensors.is_scalar(kept.value, kept.scope) or any(isinstance(call.target, ast.Name) for call in own)
    if not own and tensors.kind(kept.value, kept.scope) is not Kind.GRAPH:
        return None
    freed = _is_trained(kept) or (bool(calls) and not any(call.keeps_graph for call in calls))
    return KeptGraph(kept, scalar or bool(own), scalar, freed, _is_used_as_tensor(kept.container, tensors.code))


def _of_training(code: Notebook, tensors: Tensors) -> list[Kept]:
    """Return what the loops keep that train."""
    found = kept_values(code.running, tensors.origins)
    return [one for one in found if _is_trained(one) or one.backward_calls(tensors.origins)]


def _is_trained(kept: Kept) -> bool:
    """Whether a trainer of a library runs the backward pass of each round."""
    return kept.scope.function == "training_step" and kept.loops[:1] == (kept.scope.node,)


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
            return name in TENSOR_METHODS and (_root(owner) == container or _reaches(owner, container))
        case ast.Call(func=function, args=given):
            into_torch = (code.qualified(function, scope) or "").startswith("torch.")
            return into_torch and any(container in _names_in(one) for one in given)
        case ast.ListComp(elt=one, generators=[first, *_]) | ast.GeneratorExp(elt=one, generators=[first, *_]):
            uses = any(isinstance(part, ast.Attribute) and part.attr in TENSOR_METHODS for part in ast.walk(one))
            return uses and container in _names_in(first.iter)
    return False


def kept_tensors(code: Notebook, tensors: Tensors) -> list[Kept]:
    """Return the tensors and arrays without a graph that training loops, and hooks of networks, keep of each step."""
    if not tensors.in_use:
        return []
    graphs = {one.kept.value for one in kept_graphs(code) if one.is_loss or not one.is_freed}
    found = _of_training(code, tensors)
    found += [one.kept for one in kept_graphs(code) if one.in_hook and one.is_freed]
    return [
        one
        for one in found
        if one.is_added_to
        and one.value not in graphs
        and not _is_small(one.value, one.scope, tensors)
        and (one.value in {kept.value for kept in found if not kept.loops} or _is_tensor(one.value, one.scope, tensors))
        and not any(isinstance(around, ast.If) for around in one.scope.around(one.value))
    ]


def _is_tensor(value: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a value is a tensor, or an array of one."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _ARRAY_METHODS:
        value = value.func.value
    is_parameter = isinstance(value, ast.Attribute) and value.attr in ("weight", "bias", "grad", "data")
    return is_parameter or tensors.kind(value, scope) in (Kind.TENSOR, Kind.GRAPH)


_ARRAY_METHODS = frozenset({"copy", "clone", "numpy", "cpu", "detach", "tolist", "to", "contiguous"})
