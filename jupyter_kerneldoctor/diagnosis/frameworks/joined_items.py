"""Batches whose tensors have first dimensions of their own: graphs or texts joined one behind the other, time first."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from ..code.calls import last_name
from ..code.notebook import Call, Notebook, Scope
from ..code.trees import walk
from ..code.values import Values
from .loaders import LOADERS
from .related_rows import scatters_rows
from .torch import Tensors

_OF_GRAPHS = ("torch_geometric", "dgl", "torch_scatter", "torch_sparse")
_INDEX = re.compile(r"(?:^|_)(?:edges?|adj|adjacency|offsets?|ptr|senders|receivers|graphs?)(?:_|\d*$)", re.IGNORECASE)
"""Names of what says which rows belong together, as in `edge_index`: it has no row for each sample."""
_JOINS = frozenset({"cat", "concat", "concatenate", "hstack", "extend", "chain", "from_iterable", "from_data_list"})
_OF_TENSORS = frozenset({"shape", "device", "dtype", "ndim", "data", "grad", "T", "mT"})
_DEEPEST = 3


def joins_items(names: Sequence[ast.Name], loop: ast.stmt | None, scope: Scope, tensors: Tensors) -> bool:
    """Whether the tensors of a batch may not all have a row for each sample, in this order."""
    code = tensors.code
    if are_of_graphs(names, code) or _are_objects({one.id for one in names}, scope):
        return True
    given = [(one, one.argument("collate_fn", 6)) for one in code.calls(*LOADERS)]
    functions = [(node, call.scope) for call, node in given if node is not None]
    if isinstance(loop, ast.For) and len(names) > 1:  # a generator of one's own
        functions += [(one.func, scope) for one in walk(loop.iter) if isinstance(one, ast.Call)]
    return any(_joins(node, at, tensors) for node, at in functions)


def are_of_graphs(names: Sequence[ast.Name], code: Notebook) -> bool:
    """Whether a network that is given these, or another in the cells, is of graphs, whose nodes need each other."""
    is_named = len(names) > 1 and any(_INDEX.search(one.id) for one in names)
    return is_named or any(map(code.imports, _OF_GRAPHS)) or scatters_rows(code)


def have_other_lengths(names: Iterable[ast.Name], scope: Scope, values: Values | None) -> bool:
    """Whether two names of a batch are known to have first dimensions that differ."""
    known = [] if values is None else [values.of(one, scope) for one in names]
    return len({one.shape[0] for one in known if one is not None and one.shape}) > 1


def _are_objects(names: set[str], scope: Scope) -> bool:
    """Whether what the loop gives is no tensor but an object that holds some, `batch` of `batch.y`."""
    called = {one.func for one in scope.calls}
    parts = (one for one in scope.nodes if isinstance(one, ast.Attribute) and one not in called)
    return any(
        isinstance(one.value, ast.Name) and one.value.id in names and one.attr not in _OF_TENSORS for one in parts
    )


def _joins(function: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> bool:
    """Whether a function of the user's makes one tensor of items of any length, or puts time first."""
    for node, at in _body(function, scope, tensors):
        if isinstance(node, ast.Call):
            call, name = Call(node, at, ""), last_name(node.func)
            dim = call.argument("dim", "axis", 1)
            is_first = dim is None or (isinstance(dim, ast.Constant) and dim.value == 0)
            turned = name == "pad_sequence" and call.argument("batch_first", 1) is None
            if name in _JOINS or turned or (name == "stack" and not is_first):
                return True
            if depth < _DEEPEST and _joins(node.func, at, tensors, depth + 1):
                return True
    return False


def _body(function: ast.expr, scope: Scope, tensors: Tensors) -> Iterator[tuple[ast.AST, Scope]]:
    """Yield what a function runs: of a name, a lambda, an object that is called, `partial(collate, pad=0)`."""
    if isinstance(function, ast.Call) and last_name(function.func) == "partial" and function.args:
        function = function.args[0]
    for one, where in [(function, scope), *tensors.origins.of(function, scope)]:
        if isinstance(one, ast.Lambda):
            yield from ((node, where) for node in walk(one.body))
    found = tensors.origins.called(function, scope)
    if found is not None:
        yield from ((node, found) for node in found.nodes)
