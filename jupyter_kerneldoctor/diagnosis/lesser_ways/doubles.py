"""Arrays that are put together of a list, and those that become float64, numbers of eight bytes, by a cast."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from ..frameworks.numpy import GATHERERS, SIGNS, is_double
from .conditions import is_method_of, is_written
from .way import LesserWay, names

_LONGEST = 60  # characters of an expression that is shown


def _is_made_double(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Whether what is put together is cast to float64 on the same line; and what is done with its numbers then."""
    for cast in walk(call.statement):
        match cast:
            case ast.Call(func=ast.Attribute(attr="astype", value=inner), args=[kind]) if inner is call.node:
                if is_double(kind) and call.node.args:
                    scaled = _scaled(cast, call)
                    return {**_filled(call, _one_after_the_other(call), scaled.get("to", "")), **scaled}
    return False


def _is_double(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether an array of NumPy that is known is cast to float64."""
    kind = call.argument("dtype", 0)
    if kind is None or not is_double(kind) or not is_method_of("numpy")(call, death):
        return False
    return _scaled(call.node, call)


def _one_after_the_other(call: Call) -> str:
    """Return the items that are put together, without a list of them."""
    given = call.node.args[0]
    text = " ".join(call.scope.segment(given).split())
    is_short = isinstance(given, ast.Name | ast.ListComp) and len(text) < _LONGEST
    return (text.strip("[]") if isinstance(given, ast.ListComp) else text) if is_short else "items"


def _scaled(cast: ast.expr, call: Call) -> dict[str, str]:
    """Return the name that an array gets, and the statements that calculate with its numbers in place."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=to)], value=value):
            pass
        case ast.Return(value=ast.expr() as value):
            to = "result"
        case _:
            return {"scaled": ""}
    steps = list[str]()
    while isinstance(value, ast.BinOp) and type(value.op) in SIGNS and value is not cast:
        by = " ".join(call.scope.segment(value.right).split())
        steps.insert(0, f"\n{to} {SIGNS[type(value.op)]}= {by}  # in place: no other copy")
        value = value.left
    return {"to": to, "scaled": "".join(steps)} if value is cast else {"scaled": ""}


def _filled(call: Call, items: str = "items", to: str = "") -> dict[str, str]:
    """Return how an array is filled as the items come, along the dimension in which they are put together."""
    to, axis, how = to or names(call)["to"], call.argument("axis", 1), call.name.rpartition(".")[2]
    if how not in ("concatenate", "hstack", "vstack", "dstack"):
        return {"shape": "(n, *first.shape)", "fill": f"for i, item in enumerate({items}):\n    {to}[i] = item"}
    if how == "dstack":
        return {"shape": "(*first.shape, n)", "fill": f"for i, item in enumerate({items}):\n    {to}[..., i] = item"}
    is_side = how == "hstack" or (axis is not None and not is_written(axis, 0))
    length, where = ("one.shape[-1]", "..., at : at + k") if is_side else ("len(one)", "at : at + k")
    one = "    one = np.atleast_2d(one)\n" if how == "vstack" else ""
    shape = "(*first.shape[:-1], n)" if is_side else "(n, *first.shape[1:])"
    shape = "(n, first.shape[-1])" if how == "vstack" else shape
    loop = f"at = 0\nfor one in {items}:\n{one}    k = {length}"
    return {"shape": shape, "fill": f"{loop}\n    {to}[{where}] = one\n    at += k"}


GENERAL = (
    LesserWay(
        GATHERERS,
        "Fill one array of float32 as the items come, or keep uint8",
        "copies all that it is given. The cast to float64 makes a second copy, of 8 bytes for each number.",
        "{to} = np.empty({shape}, 'float32')  # n: how many there will be in all; others like the first\n"
        "{fill}  # no list beside it{scaled}\n\n"
        "# or 'uint8', a byte each, where they are pictures: a batch at a time as float32",
        Case(
            "import numpy as np",
            "X = np.stack([p[0] for p in pairs]).astype('float64') / 255",
            says=("enumerate(p[0] for p in pairs)", "X /= 255  # in place", "a second copy"),
        ),
        _is_made_double,
    ),
    LesserWay(
        (".astype",),
        "Make it float32, and calculate in place: half of it, and no copies",
        "makes a copy of 8 bytes for each number, and each step of arithmetic another.",
        "{to} = {owner}.astype('float32')  # 4 bytes; or leave it as it is, and cast a batch at a time{scaled}",
        Case(
            "import numpy as np\npics = np.load('pics.npy')",
            "X = (pics.astype('float64') - mean) / std",
            says=("X = pics.astype('float32')", "X -= mean  # in place", "X /= std  # in place"),
        ),
        _is_double,
    ),
    LesserWay(
        tuple(f"numpy.{name}" for name in ("array", "asarray", "stack", "vstack", "hstack", "dstack", "concatenate")),
        "Fill one array as the items come: no list beside it",
        "copies all that it is given, which stays beside the result.",
        "{to} = np.empty({shape}, first.dtype)  # n: how many there will be in all; others like the first\n"
        "{fill}  # in place of a list that is put together",
        fits=lambda call, _death: _filled(call),
    ),
)
"""What saves something wherever it is; asked after all that know more."""
