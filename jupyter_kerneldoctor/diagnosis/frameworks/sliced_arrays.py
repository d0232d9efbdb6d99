"""Arrays that `tf.data.Dataset.from_tensor_slices` copies, and the pipelines that take their rows."""

import ast
from collections.abc import Iterator

from ..code.arrays import ARRAY, Value
from ..code.notebook import Call, Notebook
from ..code.origins import all_origins
from ..code.values import Values
from .keras import Step

_SLICES = "tensorflow.data.Dataset.from_tensor_slices"
_NUMBERS = ("float", "int", "uint", "bool")
_SAME_ROWS = frozenset({"shuffle", "repeat", "take", "skip", "cache", "prefetch", "with_options"})


def slicing_calls(code: Notebook) -> Iterator[Call]:
    """Yield the calls in what runs."""
    yield from code.running.calls(_SLICES)


def sliced(call: Call, values: Values) -> list[tuple[ast.expr, Value]]:
    """Return the arrays with names that a call slices, where their shapes are known."""
    given = call.node.args[0] if call.node.args else None
    parts = given.elts if isinstance(given, ast.Tuple | ast.List) else [] if given is None else [given]
    known = [(one, values.of(one, call.scope)) for one in parts if isinstance(one, ast.Name | ast.Attribute)]
    return [(one, value) for one, value in known if value is not None and value.shape and value.dtype]


def copied_bytes(call: Call, values: Values) -> int:
    """Return how many bytes a call copies, as far as it is known."""
    return sum(value.bytes or 0 for _, value in sliced(call, values))


def row_bytes(step: Step, code: Notebook, values: Values) -> int | None:
    """Return what a row takes that a step of a pipeline gets; None where it is made of other things on the way."""
    for one, where in all_origins(step.owner, step.scope, code):
        match one:
            case ast.Call(func=function) if code.qualified(function, where) == _SLICES:
                known = [value for _, value in sliced(Call(one, where, _SLICES), values)]
                return sum((value.bytes or 0) // max(1, value.shape[0]) for value in known) if known else None
            case ast.Call(func=ast.Attribute(attr=method)) if method in _SAME_ROWS:
                continue
            case ast.Call():
                return None
    return None


def from_generator(call: Call, values: Values) -> tuple[str, bool] | None:
    """Return a call that takes the same rows out of the arrays one by one, and whether all surely are such arrays."""
    many = call.node.args[0]
    parts = many.elts if isinstance(many, ast.Tuple | ast.List) else [many]
    found, segment = dict(sliced(call, values)), call.scope.segment
    data = segment(call.node.func).rpartition(".Dataset.")[0]
    if not data.endswith(".data") or not all(isinstance(one, ast.Name | ast.Attribute) for one in parts):
        return None
    kinds = [found[one].type == ARRAY and f"{found[one].dtype}".startswith(_NUMBERS) for one in parts if one in found]
    is_bound_once = all(len(call.scope.bindings.get(getattr(one, "id", ""), ())) <= 1 for one in parts)
    is_sure = len(kinds) == len(parts) and all(kinds) and is_bound_once and not isinstance(many, ast.List)
    is_sure &= len(call.node.args) == 1 and not call.node.keywords
    texts, tf, is_one = [segment(one) for one in parts], data.removesuffix(".data"), many is parts[0]
    specs = [f"{tf}.TensorSpec({one}.shape[1:], {one}.dtype)" for one in texts]
    rows = texts[0] if is_one else f"zip({', '.join(texts)})"
    signature = specs[0] if is_one else f"({', '.join(specs)}{',' if len(specs) == 1 else ''})"
    made = f"{data}.Dataset.from_generator(lambda: {rows}, output_signature={signature})"
    return f"{made}.apply({data}.experimental.assert_cardinality(len({texts[0]})))", is_sure
