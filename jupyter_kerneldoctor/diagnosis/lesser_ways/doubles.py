"""Arrays that become float64, numbers of eight bytes, by a cast."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from ..frameworks.numpy import GATHERERS, SIGNS, is_double
from .conditions import is_method_of
from .way import LesserWay

_LONGEST = 60  # characters of an expression that is shown


def _is_made_double(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Whether what is put together is cast to float64 on the same line; and what is done with its numbers then."""
    for cast in walk(call.statement):
        match cast:
            case ast.Call(func=ast.Attribute(attr="astype", value=inner), args=[kind]) if inner is call.node:
                if is_double(kind) and call.node.args:
                    return {"items": _one_after_the_other(call), **_scaled(cast, call)}
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


GENERAL = (
    LesserWay(
        GATHERERS,
        "Fill one array of float32 as the items come, or keep uint8",
        "copies all that it is given. The cast to float64 makes a second copy, of 8 bytes for each number.",
        "{to} = np.empty((n, *first.shape), 'float32')  # n: how many there will be; all like the first\n"
        "for i, item in enumerate({items}):\n    {to}[i] = item  # no list beside it{scaled}\n\n"
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
)
"""What saves something wherever it is; asked after all that know more."""
