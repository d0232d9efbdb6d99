"""Calls of networks whose results no backward pass needs."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..code.calls import plain_names
from ..code.notebook import Notebook, Scope, once
from ..code.origins import Origins
from ..code.trees import walk
from .gradients import (
    CUTS,
    backward_below,
    graph_is_off_at,
    hides_gradients,
    is_cut,
    reached_by_gradients,
    records_graph,
    sources_of_gradients,
)
from .kept import outliving
from .related_rows import has_time_first, mixes_rows
from .torch import Kind, Tensors, is_module_class
from .untrained import calls_of_untrained

_DEEPEST = 3  # calls from a function to the network


class Evaluation(NamedTuple):
    """A call of a network, and the outermost statement around it that trains nothing."""

    call: ast.Call
    statement: ast.stmt
    scope: Scope


def evaluations(code: Notebook) -> Iterator[Evaluation]:
    """Yield the calls of networks that record a graph for a backward pass which never comes."""
    tensors = Tensors(code)
    for call, scope in _network_calls(code, tensors):
        statement = scope.tree.statements[call]
        for loop in scope.loops_around(call):
            if backward_below(loop, scope, tensors.origins):
                break
            statement = loop
        if records_graph(call, scope, code) and not backward_below(statement, scope, tensors.origins):
            yield Evaluation(call, statement, scope)


def _network_calls(code: Notebook, tensors: Tensors) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls of networks whose result no backward pass needs, also behind a function that training shares.

    In a method of a network, and in what that calls, only those beside which gradients pass: for the others it is up to
    who calls it.
    """
    if not tensors.in_use or hides_gradients(code):
        return
    needed, untrained, shared = sources_of_gradients(code), calls_of_untrained(code), run_by_networks(code)
    for scope in code.running:
        calls = dict.fromkeys(one for one in scope.calls if tensors.kind(one.func, scope) is Kind.MODULE)
        if is_forward(scope, code) or scope.node in shared:
            reached = reached_by_gradients(code)
            passed = any(one in reached for one in calls) and not _hands_on(scope, code)
            yield from ((one, scope) for one in calls if passed and one not in reached)
            continue
        for call in scope.calls:
            if call not in needed or call in untrained:
                is_network = call in calls and not tensors.is_scalar(call, scope)
                if is_network or (call not in calls and _runs_network(call, scope, tensors, needed)):
                    yield call, scope


@once
def run_by_networks(code: Notebook) -> set[ast.AST]:
    """Return the functions that a method of a network calls, and those that they call."""
    waiting, origins = [scope for scope in code.running if is_forward(scope, code)], Origins(code)
    found = set[ast.AST]()
    for scope in waiting:  # it grows meanwhile
        for call in scope.calls:
            inner = origins.called(call.func, scope)
            if inner is not None and inner.node not in found and not is_forward(inner, code):
                found.add(inner.node)
                waiting.append(inner)
    return found


def _runs_network(call: ast.Call, scope: Scope, tensors: Tensors, needed: set[ast.AST], depth: int = 0) -> bool:
    """Whether a function of the user's calls a network that training calls there, too, or that it is a method of."""
    inner = tensors.origins.called(call.func, scope) if depth < _DEEPEST else None
    if inner is None or inner is scope or backward_below(inner.node, inner, tensors.origins):
        return False
    if any(isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store) for one in inner.nodes):
        return False  # what it gives may be read there: `self.out = self.net(x)`
    if any(outliving(inner)):
        return False
    is_own = is_forward(inner, tensors.code)
    for one in inner.calls:
        is_shared = one in needed or is_own  # else it is told by itself
        if is_shared and tensors.kind(one.func, inner) is Kind.MODULE:
            return not graph_is_off_at(one, inner, tensors.code)
        if is_shared and _runs_network(one, inner, tensors, needed, depth + 1):
            return True
    return False


def _hands_on(method: Scope, code: Notebook) -> bool:
    """Whether a network's methods store what is read elsewhere with its graph: `self.aux_loss`, added to the loss."""
    methods = [one for one in code.scopes(method.cell) if one.owner == method.owner and one.function != "__init__"]
    stores = {
        one: scope.statement_of(one)
        for scope in methods
        for one in scope.nodes
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
    }
    statements = set(stores.values())
    names = {one.attr for one in stores} | {name.removeprefix("self.") for one in methods for _, name in outliving(one)}
    for scope in dict.fromkeys((*code.running, *methods)) if names else ():
        cut = {part for call in scope.calls if is_cut(call, CUTS) for part in walk(call)}
        reads = [one for one in scope.nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
        kept = [one for one in reads if one.attr in names and one not in cut]
        if any(scope.statement_of(one) not in statements for one in kept):
            return True
    return False


def is_forward(scope: Scope, code: Notebook) -> bool:
    """Whether a function is a method of a network of the user's."""
    owner = code.class_around(scope)
    return owner is not None and is_module_class(owner, code)


class WholeCall(NamedTuple):
    """A call of a network on a tensor, outside of all loops."""

    call: ast.Call
    data: ast.expr
    scope: Scope
    records: bool
    """It keeps the intermediate results for gradients that nobody asks for."""


def whole_calls(code: Notebook) -> Iterator[WholeCall]:
    """Yield the calls of networks that may be given a whole data set, and whose result no backward pass needs."""
    tensors, needed = Tensors(code), sources_of_gradients(code)
    for call, scope in _network_calls(code, tensors):
        if call in needed or tensors.kind(call.func, scope) is not Kind.MODULE:
            continue  # a step of the training, or a function that calls the network
        if has_time_first(code) or mixes_rows(call.func, scope, tensors):
            continue  # parts of the rows give something else
        data = _moved(call.args[0], scope, code) if len(call.args) == 1 and not call.keywords else None
        if data is None or is_taken_apart(call, scope) or _is_part(data, call, scope, tensors.origins):
            continue
        statement = scope.tree.statements[call]
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            continue  # it gives more than one tensor
        yield WholeCall(call, data, scope, records_graph(call, scope, code))


def is_taken_apart(call: ast.Call, scope: Scope) -> bool:
    """Whether only a part of what a network gives is used: `net(x).logits`."""
    nodes = scope.inside(scope.tree.statements[call])
    return any(isinstance(one, ast.Attribute) and one.value is call and one.attr in _OF_OUTPUTS for one in nodes)


_OF_OUTPUTS = frozenset({"logits", "last_hidden_state", "loss", "pooler_output", "sample"})


def _moved(node: ast.expr, scope: Scope, code: Notebook) -> ast.expr | None:
    """Return the data that a network is given, before it is moved, or made a tensor."""
    match node:
        case ast.Name() | ast.Attribute():
            return node
        case ast.Call(func=ast.Attribute(value=inner, attr="to" | "cuda" | "float" | "half" | "astype")):
            return _moved(inner, scope, code)
        case ast.BinOp(left=inner, right=ast.Constant()):  # divided by 255
            return _moved(inner, scope, code)
        case ast.Call(args=[inner]) if code.qualified(node.func, scope) in _TENSORS:
            return _moved(inner, scope, code)
    return None


def is_made_tensor(call: ast.Call, scope: Scope, code: Notebook) -> bool:
    """Whether what a call is given is made a tensor in it: `net(torch.tensor(X))`."""
    inner = (one for argument in call.args for one in walk(argument) if isinstance(one, ast.Call))
    return any(code.qualified(one.func, scope) in _TENSORS for one in inner)


_TENSORS = frozenset({f"torch.{name}" for name in ("tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor")})


def _is_part(data: ast.expr, call: ast.AST, scope: Scope, origins: Origins, depth: int = 0) -> bool:
    """Whether a loop or a comprehension around a call gives it another part each time, also around its function."""
    around = [*scope.loops_around(call), *_comprehensions(call, scope)]
    names = plain_names(data)
    stored = (one for loop in around for one in walk(loop) if isinstance(one, ast.Name))
    if depth > 3 or any(one.id in names for one in stored if isinstance(one.ctx, ast.Store)):
        return True
    calls = origins.calls_of(scope) if not scope.is_cell and names & {*scope.parameters} else []
    if not calls and names & {*scope.parameters}:
        return True  # who calls it is not seen: `df["x"].map(embed)`
    for outer, caller in calls:
        given = [value for name, value in origins.arguments(outer, scope).items() if name in names]
        if caller is not scope and any(_is_part(one, outer, caller, origins, depth + 1) for one in given):
            return True
    return False


def _comprehensions(node: ast.AST, scope: Scope) -> Iterator[ast.expr]:
    for one in scope.inside(scope.tree.statements[node]):
        if isinstance(one, ast.ListComp | ast.GeneratorExp | ast.DictComp) and any(node is part for part in walk(one)):
            yield one
