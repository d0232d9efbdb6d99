"""Whether the rows that go through a network depend on each other, so that parts of them give something else."""

import ast
import re
from collections.abc import Iterator, Sequence

from ..code.calls import last_name
from ..code.notebook import Notebook, Scope
from ..code.origins import all_origins
from .torch import Tensors, is_module_class

_TIME_FIRST = ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.MultiheadAttention", "torch.nn.Transformer*")
_TURNED = re.compile(r"\.(?:permute\(1, 0|(?:transpose|swapaxes)\(0, 1|transpose\(1, 0)")
_OVER_ROWS = frozenset(
    {"mean", "std", "var", "sum", "max", "min", "amax", "amin", "norm", "softmax", "log_softmax", "cumsum", "sort"}
)
_JOINS = frozenset(
    {"index_add", "index_add_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "roll"}
)
_PAIRS = ("torch.cdist", "torch.corrcoef", "torch.cov", "torch.sparse.mm", "torch.roll")


def compares_rows(statements: Sequence[ast.stmt], scope: Scope) -> bool:
    """Whether rows are multiplied with each other, as contrastive losses do."""
    nodes = (node for one in statements for node in scope.inside(one))
    return any(
        isinstance(getattr(one, "op", None), ast.MatMult)
        or getattr(one, "attr", "") in ("T", "mT", "t", "matmul", "mm")
        for one in nodes
    )


def has_time_first(code: Notebook) -> bool:
    """Whether a layer takes batches whose first dimension is time, and nothing turns them."""
    calls = (one for one in code.calls(*_TIME_FIRST) if not one.name.endswith(("Encoder", "Decoder")))
    if not any(one.argument("batch_first") is None for one in calls if one.is_written_out):
        return False
    return not any(_TURNED.search(code.source(cell)) for cell in code.with_text("permute", "transpose", "swapaxes"))


def mixes_rows(network: ast.expr, scope: Scope, tensors: Tensors) -> bool:
    """Whether a network of the user's works something out over all rows of what it is given."""
    return any(_mixes(node, method) for method in _methods(network, scope, tensors) for node in method.nodes)


def scatters_rows(code: Notebook) -> bool:
    """Whether the user's code adds up rows where an index says, as the messages of a graph: `index_add(0, …)`."""
    cells = code.with_text("index_add", "scatter")
    for scope in (scope for cell in cells for scope in code.scopes(cell)):
        for one in scope.calls:
            name, first = last_name(one.func), one.args[:1]
            is_first = bool(first) and isinstance(first[0], ast.Constant) and first[0].value == 0
            if name in _JOINS and name != "roll" and is_first:
                return True
    return False


def _methods(network: ast.expr, scope: Scope, tensors: Tensors) -> Iterator[Scope]:
    """Yield the methods of the classes of a network, and of those that it is made of."""
    code, waiting, seen = tensors.code, [(network, scope)], set()
    for one in waiting:  # it grows meanwhile
        for made in all_origins(*one, code, parts=True):
            binding = code.definition(made.node.func, made.scope) if isinstance(made.node, ast.Call) else None
            if binding is None or binding.definition in seen or not is_module_class(binding, code):
                continue
            seen.add(binding.definition)
            for method in code.scopes(binding.cell):
                if method.owner == getattr(binding.definition, "name", None):
                    if method.function == "__init__":
                        waiting += [(call, method) for call in method.calls]
                    else:
                        yield method


def _mixes(node: ast.AST, method: Scope) -> bool:
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            turned = isinstance(right, ast.Attribute) and right.attr == "T" and not _is_own(right)
            is_given = isinstance(left, ast.Name) and left.id in method.parameters[2:] + method.parameters[1:2]
            return turned or _is_transposed(right) or (is_given and isinstance(right, ast.Call))
        case ast.Call(func=ast.Attribute(attr=name)) if name in _JOINS:
            return True
        case ast.Call(func=ast.Attribute(attr=name), args=given, keywords=words) if name in _OVER_ROWS:
            axes = [*given[:2], *(word.value for word in words if word.arg in ("dim", "axis"))]
            return any(isinstance(one, ast.Constant) and one.value == 0 and one.value is not False for one in axes)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name)):
            return f"torch.{name}" in _PAIRS
    return False


def _is_transposed(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="t", value=inner), args=[]):
            return not _is_own(inner)
    return False


def _is_own(node: ast.expr) -> bool:
    """Whether an expression is an attribute of the network, as its weights are."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"
