"""States that a loop carries from step to step with their graph: the hidden state of a recurrent network."""

import ast
import re
from typing import NamedTuple

from ..code.calls import plain_names
from ..code.notebook import Notebook, Scope
from ..code.stores import Store
from .gradients import backward_calls, graph_is_off_at, name_of_torch, reached_by_gradients, records_graph
from .kept import is_bound_anew, kept_values
from .torch import Kind, Tensors


class State(NamedTuple):
    """A name that a round reads as the round before left it, and gives anew."""

    name: str
    cut: str
    """The statement that cuts it off from the steps before."""
    made: ast.Assign | ast.AugAssign
    scope: Scope


def carried_states(loop: ast.For | ast.While, scope: Scope, tensors: Tensors) -> list[State]:
    """Return the states of a loop that hold on to the graph of all rounds before."""
    found: dict[str, State] = {}
    for node in scope.inside(loop):
        match node:
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                pass
            case _:
                continue
        parts = [inner for part in getattr(target, "elts", [target]) for inner in getattr(part, "elts", [part])]
        for name in (one.id for one in parts if isinstance(one, ast.Name)):
            if name not in found and not _is_cut(name, node, loop, scope):
                cut = _cut_of(name, node, loop, scope, tensors)
                found |= {} if cut is None else {name: State(name, cut, node, scope)}
    return [*found.values()]


def _cut_of(
    name: str, made: ast.Assign | ast.AugAssign, loop: ast.For | ast.While, scope: Scope, tensors: Tensors
) -> str | None:
    """Return what cuts a name off that a statement of the loop binds; None where it is no state."""
    value = made.value
    if isinstance(value, ast.Call) and tensors.kind(value.func, scope) is Kind.MODULE:
        if any(isinstance(one, ast.Name) and one.id == name for one in value.args):
            return _cut(name, value, scope, tensors)
        if any(name in plain_names(one) for one in value.args):  # one of a pair: `h, c = cell(x, (h, c))`
            return f"{name} = {name}.detach()"
    elif tensors.kind(value, scope) is not Kind.GRAPH:
        return None
    reads = [one for one in scope.inside(loop) if isinstance(one, ast.Name) and one.id == name]
    early = [one for one in reads if one.lineno <= made.lineno and isinstance(one.ctx, ast.Load)]
    reached = reached_by_gradients(tensors.code)
    if not (early or isinstance(made, ast.AugAssign)) or not any(one in reached for one in reads):
        return None
    before = tensors.code.lookup(name, scope, loop)
    is_tensor = before is not None and tensors.kind(before.value, scope) in (Kind.TENSOR, Kind.GRAPH)
    torch = name_of_torch(tensors.code)
    return f"{name} = {name}.detach()" + ("" if is_tensor else f" if {torch}.is_tensor({name}) else {name}")


def carried_lists(loop: ast.For | ast.While, scope: Scope, tensors: Tensors) -> list[str]:
    """Return the statements that cut off what a list keeps of earlier rounds, where each round's gradients reach it."""
    reached, found = reached_by_gradients(tensors.code), dict[str, str]()
    for one in kept_values([scope], tensors.origins):
        name, is_list = one.container, isinstance(scope.statement_of(one.value), ast.Expr)
        if not is_list or loop not in one.loops or tensors.kind(one.value, scope) is not Kind.GRAPH:
            continue
        reads = [node for node in scope.inside(loop) if isinstance(node, ast.Name) and node.id == name]
        if any(node in reached for node in reads) and not is_bound_anew(name, loop, None, scope):
            found[name] = f"{name}[:] = [one.detach() for one in {name}]"
    return [*found.values()]


def kept_states(code: Notebook, tensors: Tensors) -> list[State]:
    """Return the states that a network keeps as an attribute from call to call: `y, self.h = self.rnn(x, self.h)`."""
    found: list[State] = []
    for scope in code.running.functions:
        for node in scope.nodes if scope.owner else ():
            match node:
                case ast.Assign(targets=[target], value=ast.Call(args=given) as call):
                    made = target.elts if isinstance(target, ast.Tuple) else [target]
                    texts = {scope.segment(one) for one in made if isinstance(one, ast.Attribute)}
                    names = texts & {scope.segment(one) for one in given if isinstance(one, ast.Attribute)}
                    if not names or tensors.kind(call.func, scope) is not Kind.MODULE:
                        continue
                    for name in sorted(names):
                        if not code.has_text(f"{name.rpartition('.')[2]}.detach"):
                            pair = f"tuple(s.detach() for s in {name})"
                            cut = f"{pair} if isinstance({name}, tuple) else {name}.detach()"
                            found.append(State(name, f"{name} = None if {name} is None else {cut}", node, scope))
    return found


def kept_averages(code: Notebook) -> list[State]:
    """Return the attributes that a network mixes in each call with what it was given: `self.c = 0.9 * self.c + z`."""
    found: list[State] = []
    for scope in code.running.functions:
        for node in scope.nodes if scope.owner and scope.function in ("forward", "__call__") and scope.body else ():
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self")) as target], value=ast.BinOp() as value
                ):
                    name, mixed = scope.segment(target), scope.segment(value)
                    is_own = re.search(rf"{re.escape(name)}\b", mixed) and plain_names(value) - {"self"}
                    if not is_own or "detach" in mixed or ".data" in mixed or graph_is_off_at(node, scope, code):
                        continue
                    cut = f"{name} = {name}.detach() if {name_of_torch(code)}.is_tensor({name}) else {name}"
                    found.append(State(name, cut, node, scope))
    return found


def stores_of_states(code: Notebook, tensors: Tensors) -> list[Store]:
    """Return the statements that carry a state on whose graph of all steps before no backward pass frees."""
    passes = [one for scope in code.running for one in backward_calls(scope.node, scope)]
    if not tensors.in_use or not all(one.keeps_graph for one in passes):
        return []
    loops = [(node, scope) for scope in code.running for node in scope.nodes if isinstance(node, ast.For | ast.While)]
    states = [state for loop, scope in loops for state in carried_states(loop, scope, tensors)]
    states = [state for state in states if state.scope.function != "forward"] + kept_states(code, tensors)
    kept = (state for state in states if records_graph(state.made.value, state.scope, code))
    return [Store(state.made, state.scope, state.name, (state.made.value,)) for state in kept]


def _is_cut(name: str, made: ast.stmt, loop: ast.For | ast.While, scope: Scope) -> bool:
    """Whether the loop makes the state anew, or cuts it off, in each round."""
    for node in scope.inside(loop):
        match node:
            case ast.Assign(targets=targets) if node is not made:
                if any(isinstance(one, ast.Name) and one.id == name for one in targets):
                    return True
            case ast.Attribute(attr="detach_", value=ast.Name(id=other)) if other == name:
                return True
    return False


def _cut(name: str, call: ast.Call, scope: Scope, tensors: Tensors) -> str:
    """Return the statement for one tensor, or for the two of an LSTM; what begins as None stays that once."""
    binding = tensors.code.lookup(name, scope, call)
    first = None if binding is None else binding.value
    nothing = isinstance(first, ast.Constant) and first.value is None
    one, two = f"{name}.detach()", f"tuple(s.detach() for s in {name})"
    is_pair = _is_pair(first, call, scope, tensors)
    cut = f"{two} if isinstance({name}, tuple) else {one}" if is_pair is None else two if is_pair else one
    return f"{name} = None if {name} is None else {cut}" if nothing or first is None else f"{name} = {cut}"


def _is_pair(first: ast.expr | None, call: ast.Call, scope: Scope, tensors: Tensors) -> bool | None:
    """Whether a state is the two tensors of an LSTM; None where the code does not tell."""
    made = [one.node for one in tensors.origins.of(call.func, scope)]
    functions = [tensors.code.qualified(one.func, scope) or "" for one in made if isinstance(one, ast.Call)]
    begun = [first]
    if isinstance(first, ast.Call):
        begun += [one.node for one in tensors.origins.returned(first, scope)]
    if any(isinstance(one, ast.Tuple) for one in begun) or any(
        name.endswith((".LSTM", ".LSTMCell")) for name in functions
    ):
        return True
    unsure = any(tensors.code.mentioning("LSTM", "LSTMCell")) and not any(n.startswith("torch.nn.") for n in functions)
    return None if unsure else False
