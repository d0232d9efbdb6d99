"""What NumPy does with types and shapes, as far as fixes ask."""

import ast

from ..code.arrays import ARRAY, Value
from ..code.calls import last_name
from ..code.notebook import Call, Notebook
from ..code.scopes import Scope
from ..code.trees import walk
from ..code.values import Values

FLOAT_MAKERS = tuple(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full"))
"""What makes an array of float64 where no type is given."""

GATHERERS = tuple(f"numpy.{name}" for name in ("array", "asarray", "stack", "concatenate", "vstack", "hstack"))
"""What puts arrays together and takes a `dtype`."""

SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
"""Arithmetic that can be done in the array itself."""

_DOUBLE = ("float", "float64", "double", "f8", "d")
VIEWS = frozenset(
    (
        *(
            "T",
            "array_split",
            "asanyarray",
            "asarray",
            "ascontiguousarray",
            "atleast_2d",
            "broadcast_to",
            "expand_dims",
        ),
        *("flat", "from_dlpack", "from_numpy", "frombuffer", "get", "hsplit", "load", "moveaxis", "numpy", "ravel"),
        *("reshape", "split", "squeeze", "swapaxes", "to_numpy", "transpose", "values", "view", "vsplit"),
    )
)
"""What gives the same numbers in another form, or may: they stay as long as that does."""


def is_double(node: ast.expr | None) -> bool:
    """Whether a type is written that stands for float64: `float`, `np.float64`, `"f8"`."""
    name = node.value if isinstance(node, ast.Constant) else last_name(node)
    return name in _DOUBLE


def is_array(value: Value | None) -> bool:
    """Whether a value is an array of NumPy of which shape and type are known."""
    return value is not None and value.type == ARRAY and value.dtype is not None


def parts_bytes(node: ast.expr, scope: Scope, values: Values) -> int:
    """Return what an expression is made of and the running cell made itself: it is there while the line runs."""
    made = [one for one in walk(node) if isinstance(one, ast.Call | ast.Name) and one is not node]
    own = [one for one in made if isinstance(one, ast.Call) or one.id in scope.bindings]
    found = [value for one in own if (value := values.of(one, scope)) is not None]
    return max((value.bytes or 0 for value in found if not value.recorded), default=0)


def single_precision(call: Call, code: Notebook) -> str:
    """Return how the cells would write NumPy's float32 next to a call: `np.float32`, else `"float32"`."""
    match call.node.func:
        case ast.Attribute(value=ast.Name(id=name) as module) if code.qualified(module, call.scope) == "numpy":
            return f"{name}.float32"
    return '"float32"'


def as_float32(call: Call) -> str | None:
    """Return the text of a call that makes an array, in float32; None where it makes no float64."""
    given = call.argument("dtype", 2 if call.name.endswith("full") else 1)
    if given is None:
        return f"{call.text[:-1].rstrip(', ')}, dtype='float32')"
    return "'float32'".join(call.text.rsplit(call.scope.segment(given), 1)) if is_double(given) else None
