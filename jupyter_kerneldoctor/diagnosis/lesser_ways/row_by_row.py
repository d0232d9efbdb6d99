"""Functions of arrays that give the same where they are called on some rows after the other."""

import ast
from collections.abc import Mapping

from ..calls import is_of
from ..code.notebook import Call
from ..death import Death

_SMALL = ("load", "save", "savez", "seed", "copyto", "imwrite", "imshow", "default_rng", "set_printoptions", "memmap")
"""Functions that make no array of their own, or leave it in its file."""
_MAKERS = (
    *("zeros", "ones", "empty", "full", "arange", "linspace", "logspace", "geomspace", "eye", "identity", "tri"),
    "indices",
    *("loadtxt", "genfromtxt", "fromfile", "fromstring", "frombuffer", "imread", "imreadmulti", "imdecode", "kmeans"),
)
"""Functions that are given no array."""
_OF_FUNCTIONS = ("scipy.optimize.", "scipy.integrate.", "scipy.io.", "numpy.random.")
"""What is given a function, a file, or numbers that belong together: no rows."""
_TOGETHER = ("scipy.fft.", "numpy.fft.", "scipy.signal.", "scipy.ndimage.", "scipy.interpolate.", "scipy.cluster.")
_NEED_OTHERS = frozenset(
    (
        *("cumsum", "cumprod", "nancumsum", "diff", "ediff1d", "gradient", "convolve", "correlate", "corrcoef", "cov"),
        *("roll", "flip", "flipud", "rot90", "transpose", "swapaxes", "sort", "argsort", "lexsort", "partition"),
        "unique",
        *("histogram", "histogram2d", "histogramdd", "bincount", "searchsorted", "percentile", "quantile", "median"),
        *("nanmedian", "nanpercentile", "einsum", "inner", "vdot", "interp", "mean", "sum", "std", "var", "max", "min"),
        *("prod", "argmax", "argmin", "nanmean", "nansum", "nanstd", "ptp", "trace", "pdist", "rankdata", "zscore"),
    )
)
"""What works on all rows together, where no axis says that it goes along each of them."""
_OF_MATRICES = ("scipy.sparse.", "scipy.linalg.", "numpy.linalg.", "scipy.spatial.")
"""What works on a matrix as one: each row has to do with all others."""
_LONGEST = 100


def _along_rows(call: Call) -> bool | None:
    """Whether a function goes along each row; None where no axis is written."""
    at = 1 if call.name.endswith("apply_along_axis") else "axis"
    match call.argument("axis", at):
        case None:
            return None
        case ast.Constant(value=1) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
    return False


def on_some_rows(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the call on a part of its first array, where that has a name and all else can stay as it is."""
    last, along = call.name.rpartition(".")[2], _along_rows(call)
    if last in (*_SMALL, *_MAKERS) or call.name.startswith(_OF_FUNCTIONS) or along is False:
        return False
    if call.name.startswith(_OF_MATRICES) and last != "cdist" and (last != "norm" or not along):
        return False
    if not along and (last in _NEED_OTHERS or call.name.startswith(_TOGETHER)):
        return False
    named = (one for one in call.node.args if isinstance(one, ast.Name | ast.Attribute | ast.Subscript))
    made = (one for one in call.node.args[:1] if isinstance(one, ast.Call))
    arrays = (one for one in (*named, *made) if death.code.definition(one, call.scope) is None)
    data = next((one for one in arrays if death.code.qualified(one, call.scope) is None), None)
    if data is None:
        return False
    text, function = call.scope.segment(data), call.scope.segment(call.node.func)
    text += ".to_numpy()" if is_of(("pandas",), data, call.scope, death) else ""  # array_split is for arrays
    given = ["part" if one is data else call.scope.segment(one) for one in call.node.args]
    given += [f"{one.arg}={call.scope.segment(one.value)}" for one in call.node.keywords if one.arg]
    on_part = " ".join(f"{function}({', '.join(given)})".split())
    return {"on_part": on_part, "data": text} if len(on_part) < _LONGEST and "\n" not in text else False
