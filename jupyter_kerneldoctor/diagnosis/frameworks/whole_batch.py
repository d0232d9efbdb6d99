"""A data set that goes through a PyTorch network as one batch, in every round of the loop that trains."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Notebook, Scope
from ..code.trees import walk
from ..code.values import Values
from ..edits import Changes, EditRefusedError, append, replace, wrap
from .gradients import backward_calls
from .joined_items import are_of_graphs
from .related_rows import has_time_first, mixes_rows
from .rows import compared_with, picks_rows
from .torch import Kind, Tensors


@dataclass(frozen=True)
class WholeBatch:
    """A loop whose every round takes all the data."""

    loop: ast.For
    scope: Scope
    names: tuple[str, ...]
    """The data that go in first, then what is compared with the result row by row."""
    rows: int | None
    is_clear: bool = True
    """All that is compared with the result surely has a row for each of them."""
    most: int | None = None
    """How many rows there are at most, where that is all that is known."""
    step: tuple[ast.stmt, ...] = ()
    """The statements that make a step, where these are known."""
    data: tuple[ast.expr, ...] = ()
    """The expressions in them that are these names."""


def find_whole_batch(code: Notebook, values: Values) -> WholeBatch | None:
    """Return a loop with a backward pass that gives a network the same whole tensor again and again."""
    tensors = Tensors(code)
    for scope in code.running if tensors.in_use and not has_time_first(code) else ():
        for loop in dict.fromkeys(
            around for one in backward_calls(scope.node, scope) for around in scope.loops_around(one.node)[:1]
        ):
            nodes = scope.inside(loop)
            if not isinstance(loop, ast.For) or sum(isinstance(one, ast.For | ast.While) for one in nodes) > 1:
                continue
            bound = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
            given = [
                (call, name_of)
                for call in nodes
                if isinstance(call, ast.Call)
                for one in call.args
                if (name_of := _rows(one, scope, tensors)) is not None
                and (name_of.id not in bound or _is_permutation(name_of, scope, tensors))
                and tensors.kind(name_of, scope) is Kind.TENSOR
            ]
            data = {one.id: one for call, one in given if _is_network(call, scope, tensors)}
            if len(data) == 1 and not picks_rows(nodes, scope, tensors):
                ((name, node),) = data.items()
                unknown = _unknown_beside(name, [one for one, _ in given], scope, tensors)
                networks = [call.func for call, _ in given if _is_network(call, scope, tensors)]
                mixes = unknown and any(mixes_rows(one, scope, tensors) for one in networks)
                if mixes or are_of_graphs([node, *unknown], code):
                    continue
                rows = values.rows(node, scope)
                others = dict.fromkeys(one.id for call, one in given if one.id != name and len(call.args) > 1)
                compared = compared_with(nodes, [node], scope, tensors, values)
                beside = [one for one in compared if one[0] is None or one[0].id not in bound]
                others |= dict.fromkeys(one.id for one, _ in beside if one is not None)
                is_clear = (
                    not unknown
                    and all(as_many for _, as_many in beside)
                    and not (
                        _is_beside(nodes, {name, *others} | bound, scope, tensors)
                        or _has_more_rows(_others(nodes, {name, *others} | bound), rows, scope, values, tensors)
                    )
                )
                return WholeBatch(loop, scope, (name, *others), rows, is_clear)
    return None


def _unknown_beside(name: str, calls: list[ast.Call], scope: Scope, tensors: Tensors) -> list[ast.Name]:
    """Return what else the network is given with the data, of which nothing is known: it may have a row for each."""
    networks = [one for one in calls if _is_network(one, scope, tensors)]
    given = [one for call in networks for one in (*call.args, *(word.value for word in call.keywords))]
    names = [one for one in given if isinstance(one, ast.Name) and one.id != name]
    return [one for one in names if tensors.kind(one, scope) is Kind.OTHER and not tensors.origins.number(one, scope)]


def _is_beside(nodes: list[ast.AST], known: set[str], scope: Scope, tensors: Tensors) -> bool:
    """Whether a call gets what a network gives and a name of which nothing is known: it may have a row for each."""
    for call in nodes:
        parts = call.args if isinstance(call, ast.Call) else []
        if any(tensors.kind(one, scope) is Kind.GRAPH for one in parts):
            names = [one for one in parts if isinstance(one, ast.Name) and one.id not in known]
            if any(tensors.kind(one, scope) is Kind.OTHER and not tensors.origins.number(one, scope) for one in names):
                return True
    return False


def _others(nodes: list[ast.AST], known: set[str]) -> list[ast.Name]:
    """Return what else is read, but for what some rows are picked of: `X[rows]`."""
    picked = [one for one in nodes if isinstance(one, ast.Subscript) and getattr(one.slice, "id", None) in known]
    names = [one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    return [one for one in names if one.id not in known and all(one is not part.value for part in picked)]


def _has_more_rows(names: list[ast.Name], rows: int | None, scope: Scope, values: Values, tensors: Tensors) -> bool:
    """Whether one of these names is another tensor, which may have a row for each of the data."""
    for node in names:
        if tensors.kind(node, scope) is Kind.TENSOR:
            value = values.of(node, scope)
            length = value.shape[0] if value is not None and value.shape else None
            if length is None or rows is None or length == rows:
                return True
    return False


def split(found: WholeBatch, batch_size: int) -> Changes:
    """Put a loop over pieces around what makes a step.

    Raises EditRefusedError where that would change what the code says afterwards: something that is worked out for all
    rows is used behind the step, other than the loss.
    """
    if not found.is_clear:
        raise EditRefusedError("it does not show how many rows are compared with what the network gives")
    if found.step:
        if _compared_behind(found):
            raise EditRefusedError("what is worked out for all rows is compared with them behind the step")
        parts = [append(found.scope, one, f"[start:start + {batch_size}]") for one in found.data]
        return wrap(found.scope, found.step, header(found, batch_size)) + tuple(one for part in parts for one in part)
    step = _step(found)
    if _results_used_behind(found, step):
        raise EditRefusedError("what is worked out for all rows is used behind the step")
    changes = wrap(found.scope, step, header(found, batch_size))
    for node in _names(step):
        if node.id in found.names and isinstance(node.ctx, ast.Load):
            changes += replace(found.scope, node, f"{node.id}[start:start + {batch_size}]")
    return changes


def header(found: WholeBatch, batch_size: int) -> str:
    """Return the head of the loop over pieces."""
    return f"for start in range(0, len({found.names[0]}), {batch_size}):"


def snippet(found: WholeBatch, batch_size: int) -> str:
    """Return the same loop to copy, for where it cannot be written into the cell."""
    parts = (f"    {name}_part = {name}[start:start + {batch_size}]" for name in found.names)
    return "\n".join([header(found, batch_size), *parts, "    …  # the step, with the parts"])


def _rows(node: ast.expr, scope: Scope, tensors: Tensors) -> ast.Name | None:
    """Return the name that holds the rows of an argument: `X`, or `perm` of `X[perm]`."""
    match node:
        case ast.Name():
            return node
        case ast.Subscript(value=ast.Name(), slice=ast.Name() as rows) if _is_permutation(rows, scope, tensors):
            return rows
    return None


def _is_permutation(name: ast.Name, scope: Scope, tensors: Tensors) -> bool:
    made = tensors.code.lookup(name.id, scope, name)
    call = None if made is None else made.value
    return isinstance(call, ast.Call) and tensors.code.qualified(call.func, scope) == "torch.randperm"


def _step(found: WholeBatch) -> list[ast.stmt]:
    """Return the statements of the loop from the first to the last that have to do with the step."""
    marks = [_is_of_step(statement, found.names) for statement in found.loop.body]
    if True not in marks or found.loop.orelse:
        raise EditRefusedError("the loop has no step, or an else")
    return found.loop.body[marks.index(True) : len(marks) - marks[::-1].index(True)]


def _is_of_step(statement: ast.stmt, names: tuple[str, ...]) -> bool:
    for node in walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in names:
                return True
            case ast.Attribute(attr="zero_grad" | "backward"):
                return True
            case ast.Attribute(attr="step", value=owner):
                return not (isinstance(owner, ast.Name) and "sched" in owner.id.lower())
    return False


def _results_used_behind(found: WholeBatch, step: list[ast.stmt]) -> bool:
    """Whether more than the loss, of what the step works out, is used outside of it: it would be the last piece's."""
    losses = {one.target.id for one in backward_calls(found.loop, found.scope) if isinstance(one.target, ast.Name)}
    made = {one.id for one in _names(step) if isinstance(one.ctx, ast.Store)} - losses
    inside = set(_names(step))
    read = (one for one in found.scope.names if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
    return any(one.id in made and one not in inside for one in read)


def _compared_behind(found: WholeBatch) -> bool:
    """Whether a statement behind the step has to do with both its results and all rows: `(out == y).mean()`."""
    made = {one.id for one in _names(list(found.step)) if isinstance(one.ctx, ast.Store)}
    data = {one.id for node in found.data for one in walk(node) if isinstance(one, ast.Name)}
    rest = (one for one in found.scope.tree.statements.values() if isinstance(one, ast.Assign | ast.Expr))
    return any(
        bool(read & made) and bool(read & data)
        for one in set(rest) - set(found.step)
        if (read := {name.id for name in _names([one]) if isinstance(name.ctx, ast.Load)})
    )


def _names(statements: list[ast.stmt]) -> Iterator[ast.Name]:
    return (node for one in statements for node in walk(one) if isinstance(node, ast.Name))


def _is_network(call: ast.Call, scope: Scope, tensors: Tensors) -> bool:
    return tensors.kind(call.func, scope) is Kind.MODULE and not tensors.is_scalar(call, scope)
