"""The tensors that hold a row for each sample of a batch: what must be split together with it, and what cannot be."""

import ast
from collections.abc import Iterable, Iterator

from ..code.calls import plain_names
from ..code.notebook import Scope
from ..code.trees import walk
from ..code.values import Values
from .torch import Kind, Tensors

_MOVES = frozenset(
    {"to", "cuda", "float", "long", "half", "double", "view", "reshape", "flatten", "squeeze", "unsqueeze"}
)


def name_of_rows(node: ast.expr) -> ast.Name | None:
    """Return the name that holds the rows of an argument: `x` of `x.to(device)`, `rows` of `X[rows]`."""
    match node:
        case ast.Name():
            return node
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _MOVES:
            return name_of_rows(inner)
        case ast.Subscript(value=ast.Name(), slice=ast.Name() as rows):
            return rows
        case ast.Subscript(value=inner, slice=ast.Tuple(elts=[ast.Slice(lower=None, upper=None), *_])):
            return name_of_rows(inner)
    return None


def picks_rows(nodes: Iterable[ast.AST], scope: Scope, tensors: Tensors) -> bool:
    """Whether some rows are picked of what a network gives, `out[train_mask]`: they stand for all, as in a graph."""
    made = (one for one in nodes if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name | ast.Attribute))
    return any(tensors.kind(one.value, scope) is Kind.GRAPH for one in made)


def compared_with(
    nodes: Iterable[ast.AST], known: Iterable[ast.Name], scope: Scope, tensors: Tensors, values: Values | None
) -> Iterator[tuple[ast.Name | None, bool]]:
    """Yield what arithmetic joins with the rows a network gives, and whether it surely has a row for each of `known`.

    `y` of `(net(x) - y) ** 2`. None stands for a tensor without a name.
    """
    batch = {one.id: one for one in known}
    seen = set(batch)
    for node in nodes:
        if not isinstance(node, ast.BinOp):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if tensors.kind(other, scope) is not Kind.GRAPH or tensors.is_scalar(other, scope):
                continue
            name, kind = name_of_rows(side), tensors.kind(side, scope)
            if kind in (Kind.GRAPH, Kind.MODULE) or (name is not None and name.id in seen):
                continue
            if name is None:
                names = plain_names(side)
                if kind is Kind.TENSOR and not names & seen:
                    yield None, False
                continue
            beside = any(_comes_with(name, one, scope, tensors, values) for one in batch.values())
            is_number = kind is Kind.OTHER and tensors.origins.number(name, scope) is not None
            if beside or kind is Kind.TENSOR or (isinstance(node.op, ast.Sub) and not is_number):
                seen.add(name.id)
                yield name, beside


def _comes_with(name: ast.Name, other: ast.Name, scope: Scope, tensors: Tensors, values: Values | None) -> bool:
    """Whether two names surely hold as many rows: bound together, taken of the same batch, or known to be as long."""
    if other.id in bound_with(name.id, scope) or _taken_of(name.id, scope) & _taken_of(other.id, scope):
        return True
    known = [] if values is None else [values.of(one, scope) for one in (name, other)]
    lengths = [one.shape[0] for one in known if one is not None and one.shape]
    if len(lengths) == 2 and lengths[0] == lengths[1]:
        return True
    if not {name.id, other.id} <= set(scope.parameters):
        return False
    calls = tensors.origins.calls_of(scope)
    given = [(tensors.origins.arguments(call, scope), caller) for call, caller in calls]
    pairs = [(one.get(name.id), one.get(other.id), caller) for one, caller in given]
    return bool(pairs) and all(
        isinstance(one, ast.Name) and isinstance(two, ast.Name) and two.id in bound_with(one.id, caller)
        for one, two, caller in pairs
    )


def bound_with(name: str, scope: Scope) -> set[str]:
    """Return the names that a loop or an assignment binds in one tuple with a name; none that `enumerate` counts."""
    found: set[str] = set()
    for node in scope.nodes:
        counts = False
        match node:
            case ast.For(target=target, iter=made):
                counts = isinstance(made, ast.Call) and getattr(made.func, "id", "") == "enumerate"
            case ast.Assign(targets=[target]):
                pass
            case _:
                continue
        for one in walk(target):
            names = {part.id for part in getattr(one, "elts", ()) if isinstance(part, ast.Name)}
            found |= names if name in names and not (counts and one is target) else set()
    return found - {name}


def _taken_of(name: str, scope: Scope) -> set[str]:
    """Return the texts of the batches that a name is an entry of: `batch` for `y = batch["mask"].to(device)`."""
    found = set()
    for one in scope.bindings.get(name, ()):
        value = one.value
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
            value = value.func.value
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            found.add(scope.segment(value.value))
    return found
