"""States that a loop carries from step to step with their graph: the hidden state of a recurrent network."""

import ast
from typing import NamedTuple

from ..code.notebook import Notebook, Scope
from ..code.stores import Store
from .gradients import backward_calls, records_graph
from .torch import Kind, Tensors


class State(NamedTuple):
    """A name that a network's call reads and gives anew in each round."""

    name: str
    cut: str
    """The statement that cuts it off from the steps before."""
    made: ast.Assign
    scope: Scope


def carried_states(loop: ast.For | ast.While, scope: Scope, tensors: Tensors) -> list[State]:
    """Return the states of a loop that hold on to the graph of all rounds before."""
    found = []
    for node in scope.inside(loop):
        match node:
            case ast.Assign(targets=[target], value=ast.Call(args=given) as call):
                if tensors.kind(call.func, scope) is not Kind.MODULE:
                    continue
                made = target.elts if isinstance(target, ast.Tuple) else [target]
                names = [one.id for one in made if isinstance(one, ast.Name)]
                read = {one.id for one in given if isinstance(one, ast.Name)}
                carried = [name for name in names if name in read and not _is_cut(name, node, loop, scope)]
                found += [State(name, _cut(name, call, scope, tensors), node, scope) for name in carried]
    return found


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


def _is_cut(name: str, made: ast.Assign, loop: ast.For | ast.While, scope: Scope) -> bool:
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
