"""Arrays of numbers."""

import ast
from collections.abc import Mapping
from math import prod

from ..case import Case
from ..code.notebook import Call
from ..code.trees import walk
from ..death import Death
from .conditions import half_bytes, in_a_file, is_method_of
from .way import LesserWay, names

_UFUNCS = (
    *("exp", "log", "log1p", "expm1", "sqrt", "square", "abs", "absolute", "sin", "cos", "tan", "tanh", "floor"),
    *("ceil", "rint", "sign", "negative", "reciprocal", "log2", "log10", "deg2rad", "radians", "arctan", "cumsum"),
)

_DRAWS = (
    *("normal", "standard_normal", "random", "uniform", "integers", "choice", "exponential", "poisson", "gamma"),
    *("binomial", "beta", "lognormal", "laplace", "multivariate_normal", "standard_t", "rand", "randn", "randint"),
)
"""Methods of a generator of random numbers, and functions of `numpy.random`."""
_DTYPE_AT = {"full": 2, "linspace": 5}


def _of_stacked(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether the median is taken of arrays that are stacked on the same line, along the new axis."""
    axis = call.argument("axis", 1)
    match call.node.args[:1]:
        case [ast.Call(args=[ast.Name(id=items)]) as inner] if isinstance(axis, ast.Constant) and axis.value == 0:
            is_stack = death.code.qualified(inner.func, call.scope) in ("numpy.stack", "numpy.array", "numpy.asarray")
            return {"items": items} if is_stack else False
    return False


def _draws_rows(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether random numbers are drawn as rows: `size` is written as a tuple."""
    of_numpy = call.name.startswith("numpy.") or death.code.imports("numpy")
    for drawn in [*call.node.args, *(word.value for word in call.node.keywords if word.arg == "size")]:
        match drawn:
            case ast.Tuple(elts=[first, _, *_]) if of_numpy and not isinstance(first, ast.Starred):
                text, segment = call.text, call.scope.segment
                one = segment(drawn).replace(segment(first), f"min(1000, {segment(first)} - start)", 1)
                return {"rows": segment(first), "draw": " ".join(text.replace(segment(drawn), one, 1).split())}
    return False


def _of_columns(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give which percentiles are asked for; nothing for a median."""
    if call.name.endswith("median"):
        return {"q": ""}
    asked = call.argument("q", 1)
    return False if asked is None else {"q": f", {call.scope.segment(asked)}"}


def _of_a_table(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether an array of two dimensions is made, which needs much by itself, as far as is known."""
    first, value = call.argument("shape", 0), death.values.of(call.node, call.scope)
    is_large = value is None or value.bytes is None or value.bytes >= (death.memory.missing_bytes or 0) // 2
    is_looked_up = any(isinstance(one, ast.Subscript) and one.value is call.node for one in walk(call.statement))
    if first is None or not is_large or is_looked_up:
        return False
    text = call.scope.segment(first)
    if call.name in ("numpy.eye", "numpy.identity"):
        return {"sparse": f"identity({text}, dtype='float32', format='csr')", "in_a_file": ""}
    if not (isinstance(first, ast.Tuple) and len(first.elts) == 2):
        return False
    return {"sparse": f"lil_array({text}, dtype='float32')", "in_a_file": in_a_file(call, text, death)}


def _may_be_halved(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether an array is made without a type, and half of it may fit into the machine."""
    is_typed = call.argument("dtype", _DTYPE_AT.get(call.name.rpartition(".")[2], 1)) is not None
    half, ram = half_bytes(call, death), death.recording.kernel.ram_bytes
    fits = half is None or ram is None or half <= ram
    if not call.node.args or is_typed or not fits:
        return False
    written = [call.scope.segment(one) for one in call.node.args]
    written += [f"{one.arg}={call.scope.segment(one.value)}" for one in call.node.keywords if one.arg]
    return {
        "again": " ".join(", ".join(written).split()),
        "shape": "shape" if call.name == "numpy.linspace" else call.scope.segment(call.node.args[0]),
    }


def _repeats_a_whole(call: Call, _death: Death) -> bool:
    """Whether an array is repeated as a whole: not each of its numbers, as when a picture is made larger."""
    axes = [one for given in call.node.args[:1] for one in walk(given) if isinstance(one, ast.Constant)]
    return call.name == "numpy.tile" or any(one.value is None for one in axes)


def _makes_much(call: Call, death: Death) -> bool:
    """Whether a product of two arrays is a good part of the missing memory, or their shapes are not known."""
    shapes = [value.shape for one in call.node.args[:2] if (value := death.values.of(one, call.scope)) is not None]
    if len(shapes) < 2 or not all(shapes):
        return True
    left, right = shapes[0][:-1], shapes[1][-1:] if len(shapes[1]) > 1 else ()
    right = shapes[1][:-1] if call.name == "numpy.inner" else right
    return 8 * prod((*left, *right)) >= (death.memory.missing_bytes or 0) // 4


def _is_last_use(call: Call) -> bool:
    """Whether nothing below names what the call is given, so that it may be written over."""
    name = getattr(call.node.args[0], "id", None)
    below = (one for one in call.scope.names if isinstance(one, ast.Name) and one.lineno > call.node.lineno)
    return not call.scope.loops_around(call.node) and all(one.id != name for one in below)


def _sorts(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Give how an array is sorted in its own place: not where its order is asked for."""
    if not isinstance(call.argument("a", 0), ast.Name) or not _is_last_use(call):
        return False
    own = names(call)["of0"]
    if call.name == "numpy.argsort":
        part = f"    places.extend(at + np.argsort({own}[at : at + 1_000_000])[-10:])\n"
        loop = f"places = []\nfor at in range(0, len({own}), 1_000_000):  # the largest ten of a million\n{part}"
        return {"largest": f"{loop}top = sorted(places, key=lambda i: {own}[i])[-10:]  # where the largest of all are"}
    return {
        "largest": f"{own}.sort()  # in place: no copy, the old order is gone\ntop = {own}[-10:]  # the largest ten"
    }


def _has_a_name(call: Call) -> bool:
    """Whether a method is called on a variable, which can be given anew."""
    return isinstance(getattr(call.node.func, "value", None), ast.Name | ast.Attribute)


def _without_a_copy(call: Call) -> Mapping[str, str]:
    """Return the call as it needs no second array: with the same type, which another would change the result."""
    own, _, method = call.scope.segment(call.node.func).rpartition(".")
    if method == "astype":
        return {"shorter": f"{own} = {' '.join(call.text.split())}  # the same name: the old one goes"}
    view = f"flat = {own}.ravel()" if method == "flatten" else f"same = {own}"
    return {"shorter": f"{view}  # no copy, where nothing is written into it"}


WAYS = (
    LesserWay(
        tuple(f"numpy.{name}" for name in ("zeros", "empty", "eye", "identity")),
        "Keep only what is not zero, or the array in a file",
        "makes room for every number, also for those that stay as they are.",
        "from scipy import sparse\n\n{to} = sparse.{sparse}  # only what is not zero\n\n{in_a_file}",
        Case(
            "import numpy as np",
            "S = np.zeros((60_000, 60_000))",
            says=("sparse.lil_array((60_000, 60_000)", "# or in a file of 13.4 GiB: float32 takes half of float64"),
        ),
        _of_a_table,
    ),
    LesserWay(
        ("numpy.median", "numpy.nanmedian"),
        "Stack a few rows of each at a time: the median of all copies them twice",
        "holds all of them in one array, and once more to sort them.",
        "parts = [{function}(np.stack([one[at : at + 20] for one in {items}]), axis=0)\n"
        "         for at in range(0, len({items}[0]), 20)]  # 20 rows of each at a time\n"
        "{to} = np.concatenate(parts)\n\n# or of every tenth: {items}[::10]",
        Case("import numpy as np", "bg = np.median(np.stack(frames), axis=0)", says=("for one in frames",)),
        _of_stacked,
    ),
    LesserWay(
        tuple(f"numpy.{name}" for name in ("median", "nanmedian", "percentile", "nanpercentile", "quantile")),
        "Take it of a sample, or of some columns at a time",
        "copies all numbers to sort them.",
        "sample = {of0}[::10]  # every tenth is enough for most\n\n# or exactly, some columns at a time, along axis 0\n"
        "parts = [{function}({of0}[:, at : at + 100]{q}, axis=0) for at in range(0, {of0}.shape[1], 100)]",
        Case("import numpy as np", "p = np.percentile(X, [5, 95], axis=0)", says=("at + 100], [5, 95], axis=0)",)),
        _of_columns,
    ),
    LesserWay(
        ("numpy.tile", "numpy.repeat"),
        "Let it broadcast, without a copy: np.broadcast_to",
        "writes the same numbers again and again. Arithmetic repeats them by itself where a dimension is 1.",
        "view = np.broadcast_to({a0}, shape)  # takes no memory; often `x[:, None]` is enough",
        Case("import numpy as np", "grid = np.tile(row, (10**6, 1))"),
        _repeats_a_whole,
    ),
    LesserWay(
        (*(f".{one}" for one in _DRAWS), *(f"numpy.random.{one}" for one in _DRAWS)),
        "Draw some rows at a time, and keep only what is worked out of them",
        "draws all numbers before the first is used.",
        "results = []\nfor start in range(0, {rows}, 1000):\n    part = {draw}  # 1,000 rows at a time\n"
        "    results.append(part.mean(axis=1))  # only what you need of each row\nresults = np.concatenate(results)",
        Case(
            "import numpy as np\nrng = np.random.default_rng(1)",
            "paths = rng.normal(0, 1, size=(n_paths, 252)).cumsum(axis=1)",
            says=("range(0, n_paths, 1000)", "rng.normal(0, 1, size=(min(1000, n_paths - start), 252))"),
        ),
        _draws_rows,
    ),
    LesserWay(
        ("numpy.dot", "numpy.matmul", "numpy.inner"),
        "Multiply a block of rows at a time",
        "makes a number for each row of the one and each column of the other.",
        "for at in range(0, len({a0}), {step}):\n    part = {function}({of0}[at : at + {step}], {a1})\n"
        "    ...  # keep what is needed of it: the largest, a sum",
        Case("import numpy as np", "S = np.dot(X, X.T)"),
        _makes_much,
    ),
    LesserWay(
        ("numpy.einsum", "torch.einsum"),
        "Let it choose the order, and take a block at a time",
        "makes a number for each combination of the indices behind the arrow, or on the way there.",
        "for at in range(0, len({a1}), 1000):\n    part = {function}({a0}, {of1}[at : at + 1000], ...)\n"
        "    ...  # keep what is needed of it; np.einsum: with optimize=True",
    ),
    LesserWay(
        (".tolist",),
        "Work with the array itself, not with a list",
        "makes a Python object of each number, four times what the array takes.",
        "for part in np.array_split({owner}, 100):  # where a list is needed: a hundredth at a time\n"
        "    numbers = part.tolist()",
        Case("import numpy as np\nx = np.ones(9)", "numbers = x.tolist()"),
        is_method_of("numpy", "pandas"),
    ),
)

GENERAL = (
    LesserWay(
        ("numpy.sort", "numpy.argsort"),
        "Sort it where it is, or ask for the largest of some at a time",
        "makes a sorted copy, or eight bytes for each number.",
        "{largest}",
        Case("import numpy as np", "s = np.sort(x)"),
        _sorts,
    ),
    LesserWay(
        ("numpy.argwhere", "numpy.nonzero", "numpy.where", "numpy.flatnonzero"),
        "Use the mask itself, or a row at a time",
        "writes eight bytes for each number that it finds, and each dimension.",
        "mask = {a0}  # one byte each; `values[mask]`, `mask.sum()` need no indices\n"
        "for row, part in enumerate(mask):\n    found = np.flatnonzero(part)",
        Case("import numpy as np", "at = np.argwhere(D < 1)"),
        lambda call, _death: len(call.node.args) == 1,
    ),
    LesserWay(
        tuple(f"numpy.{name}" for name in _UFUNCS),
        "Write the result over its input: out=",
        "makes another array of the same size.",
        "{function}({a0}, out={a0})  # floats only; no second array, the old numbers are gone",
        Case("import numpy as np", "y = np.exp(x)"),
        lambda call, death: (
            call.argument("out") is None
            and [type(one) for one in call.node.args] == [ast.Name]
            and _is_last_use(call)
            and "int" not in str(getattr(death.values.of(call.node.args[0], call.scope), "dtype", ""))
        ),
    ),
    LesserWay(
        (".astype", ".flatten", ".copy"),
        "Give the copy the old name, or keep a view",
        "makes another array, beside the first.",
        "{shorter}",
        Case("import numpy as np\nx = np.ones((9000, 9000))", "y = x.astype(complex)", says=("x = x.astype(complex)",)),
        lambda call, death: _has_a_name(call) and is_method_of("numpy")(call, death) and _without_a_copy(call),
    ),
    LesserWay(
        (".toarray", ".todense"),
        "Keep the matrix sparse",
        "makes a number of every zero.",
        "M = {owner}.tocsr()  # sparse: sums, products, rows and most models of scikit-learn take it\n"
        "for at in range(0, M.shape[0], 1000):  # where it has to be dense: some rows at a time\n"
        "    part = M[at : at + 1000].toarray()",
        Case("from scipy import sparse", "D = similar(A).toarray()"),
    ),
    LesserWay(
        tuple(f"numpy.{name}" for name in ("ones", "full", "zeros", "empty", "linspace")),
        "Make it float32, or keep it in a file",
        "makes numbers of eight bytes where no dtype is given.",
        "{to} = {function}({again}, dtype='float32')  # half of it; int8 or bool for small numbers and marks\n\n"
        "{to} = np.memmap('scratch.dat', 'float32', 'w+', shape={shape})  # or in a file, which begins with zeros",
        Case("import numpy as np", "w = np.full((rows, 1000), 7)", says=("np.full((rows, 1000), 7, dtype=",)),
        _may_be_halved,
        silent=(
            "w = np.ones((300_000, 300_000))",  # half of it fits no machine like this one
            "w = np.zeros((rows, 1000), 'uint8')",
            "i = np.arange(n)",
        ),
    ),
)
