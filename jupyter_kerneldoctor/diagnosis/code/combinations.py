"""The results of functions that pair, cross or repeat what they are given: of a small table they make a large one."""

import ast
import math
from collections.abc import Callable, Sequence

from .arrays import ARRAY, FRAME, POINTER_BYTES, TENSOR, Value, array, container, elementwise, number, operation, whole

_PAIRS = "sklearn.metrics.pairwise"
PAIRWISE = {
    f"{_PAIRS}.cosine_similarity": "cosine",
    f"{_PAIRS}.cosine_distances": "cosine",
    f"{_PAIRS}.linear_kernel": "cosine",
    f"{_PAIRS}.rbf_kernel": "euclidean",
    f"{_PAIRS}.euclidean_distances": "euclidean",
    f"{_PAIRS}.pairwise_distances": "euclidean",
    "sklearn.metrics.pairwise_distances": "euclidean",
    "scipy.spatial.distance.cdist": "euclidean",
    "scipy.spatial.distance.pdist": "euclidean",
    "scipy.spatial.distance_matrix": "euclidean",
}
"""What makes a number for each pair of rows, and how near it calls them."""

_DENSE = frozenset({"metric", "gamma", "n_jobs", "p"})
"""Keywords that leave the size of such a table as it is."""

_JOINS = {
    **dict.fromkeys((f"numpy.{name}" for name in ("concatenate", "vstack", "hstack", "dstack", "stack")), ARRAY),
    **dict.fromkeys(("torch.cat", "torch.stack", "torch.vstack", "torch.hstack"), TENSOR),
    "pandas.concat": FRAME,
}
_JOIN_WORDS = frozenset({"axis", "dim", "ignore_index", "keys", "sort"})

_ONE_HOT = {
    "torch.nn.functional.one_hot": (TENSOR, "int64"),
    "keras.utils.to_categorical": (ARRAY, "float64"),
    "tensorflow.keras.utils.to_categorical": (ARRAY, "float64"),
}

_MOST_CHOSEN = 64
"""Tuples of more items are not counted: their number has no end, and to work it out takes long."""

_TO_FLOAT = frozenset({"exp", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "tanh", "arctan2", "hypot"})
_ELEMENTWISE = frozenset({"abs", "absolute", "square", "maximum", "minimum", "power", "add", "subtract", "multiply"})

Values = Sequence[Value | None]


def combined(function: str, call: ast.Call, values: Values) -> Value | None:
    """Return what a function of NumPy, SciPy, scikit-learn or PyTorch makes of these; None where that is not sure."""
    package, _, name = function.rpartition(".")
    known = [one for one in values if one is not None]
    if not known or len(known) != len(values):
        return None
    if function in _WITH_WORDS:
        return _WITH_WORDS[function](function, call, known)
    if call.keywords:
        return None
    if package == "numpy" and name in _TO_FLOAT | _ELEMENTWISE and len(known) <= 2:
        return _calculated(name, known)
    if package.startswith("numpy.") and name == "outer" and len(known) == 2:
        return _outer(known, (*known[0].shape, *known[1].shape))
    combine = _PLAIN.get(function)
    return combine(known) if combine is not None and len(known) == 2 else None


def combined_method(owner: Value, name: str, values: Values) -> Value | None:
    """Return what a method makes that pairs columns, multiplies, or writes the zeros of a sparse matrix down."""
    if name == "dot" and len(values) == 1:
        return operation(ast.MatMult(), owner, values[0])
    if name in ("corr", "cov") and owner.type == FRAME and len(owner.shape) == 2:
        return array(FRAME, (owner.shape[1], owner.shape[1]), "float64", recorded=owner.recorded)
    if name in ("toarray", "todense") and owner.type.startswith("scipy.") and not values:
        return array(ARRAY, owner.shape, owner.dtype, recorded=owner.recorded)
    return None


def taken(value: Value, rows: Value | None) -> Value | None:
    """Return what `value[rows]` gives for an array of whole numbers: an item for each of them."""
    if rows is None or rows.type not in (ARRAY, TENSOR) or not (rows.dtype or "").startswith(("int", "uint")):
        return None
    if value.type not in (ARRAY, TENSOR) or not value.shape or not rows.shape:
        return None
    return array(value.type, (*rows.shape, *value.shape[1:]), value.dtype, recorded=value.recorded or rows.recorded)


def _joined(function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    """Return the sum of the parts, as large as all of them; its shape is known only where they are alike."""
    parts, most = known[0], 2 if function != "pandas.concat" else 1
    is_plain = len(known) <= most and not {one.arg for one in call.keywords} - _JOIN_WORDS
    if not is_plain or parts.type not in ("list", "tuple") or parts.bytes is None or not parts.shape:
        return None
    alike = array(parts.type, parts.shape, parts.dtype) if len(parts.shape) > 1 else None
    size = parts.bytes - parts.shape[0] * POINTER_BYTES if alike is None else alike.bytes
    return Value(_JOINS[function], size, recorded=parts.recorded) if size and size > 0 else None


def _one_hot(function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    kind, dtype = _ONE_HOT[function]
    count = whole(known[1]) if len(known) == 2 and not call.keywords else None
    return None if count is None else array(kind, (*known[0].shape, count), dtype, recorded=known[0].recorded)


def _choices(function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    """Return how many tuples of how many items an iterator of `itertools` gives, as a shape."""
    lengths, times = [one.shape[0] if one.shape else whole(one) for one in known], 1
    for keyword in call.keywords:
        if keyword.arg != "repeat" or not isinstance(keyword.value, ast.Constant):
            return None
        times = keyword.value.value if isinstance(keyword.value.value, int) else 1
    numbers = [one for one in lengths if one is not None]
    if len(numbers) != len(lengths) or not 0 <= len(numbers) * times <= _MOST_CHOSEN:
        return None
    if function == "itertools.product":
        count, each = math.prod(numbers) ** times, len(numbers) * times
    elif len(numbers) == 2 and times == 1 and 0 <= numbers[1] <= _MOST_CHOSEN and numbers[0] >= 0:
        choose = math.comb if function.endswith("combinations") else math.perm
        count, each = choose(*numbers), numbers[1]
    else:
        return None
    return None if number(count) is None else Value(function, None, (count, each))


def _pairwise(function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    tables = [one for one in known if len(one.shape) == 2]
    if len(tables) != len(known) or len(tables) > 2 or {one.arg for one in call.keywords} - _DENSE:
        return None
    rows, others = tables[0].shape[0], tables[-1].shape[0]
    shape: tuple[int, ...] = (rows * (rows - 1) // 2,) if function.endswith(".pdist") else (rows, others)
    single = function.startswith("sklearn.") and all(one.dtype == "float32" for one in tables)
    recorded = any(one.recorded for one in tables)
    return array(ARRAY, shape, "float32" if single else "float64", recorded=recorded)


def _grid(_function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    lengths = [math.prod(one.shape) for one in known if one.dtype]
    if len(lengths) != len(known) or {one.arg for one in call.keywords} - {"indexing"}:
        return None
    return container("list", [array(ARRAY, lengths, one.dtype, recorded=one.recorded) for one in known])


def _covariance(_function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    by_row, first = True, known[0]
    for keyword in call.keywords:
        if keyword.arg != "rowvar" or not isinstance(keyword.value, ast.Constant):
            return None
        by_row = bool(keyword.value.value)
    if len(known) != 1 or len(first.shape) != 2 or not first.dtype:
        return None
    length = first.shape[0 if by_row else 1]
    kind, dtype = (TENSOR, first.dtype) if first.type == TENSOR else (ARRAY, "float64")
    return array(kind, (length, length), dtype, recorded=first.recorded)


def _repeated(_function: str, call: ast.Call, known: Sequence[Value]) -> Value | None:
    first, times = known[0], whole(known[1]) if len(known) > 1 else None
    if times is None or len(known) > 3 or not first.dtype or {one.arg for one in call.keywords} - {"axis"}:
        return None
    axis = next((one.value.value for one in call.keywords if isinstance(one.value, ast.Constant)), None)
    if len(known) == 3:
        axis = whole(known[2])
    if axis is None and not call.keywords:
        return array(ARRAY, (math.prod(first.shape) * times,), first.dtype, recorded=first.recorded)
    if not isinstance(axis, int) or not -len(first.shape) <= axis < len(first.shape):
        return None
    shape = list(first.shape)
    shape[axis] *= times
    return array(ARRAY, shape, first.dtype, recorded=first.recorded)


def _calculated(name: str, known: Sequence[Value]) -> Value | None:
    if len(known) == 1 and known[0].number is not None and name in _TO_FLOAT:
        try:
            return number(getattr(math, name)(known[0].number))
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            return None
    result = elementwise(known[0], known[-1])
    if result is None or (result.dtype or "").startswith("c"):  # the size of a complex number's parts is another
        return None
    to_float = name in _TO_FLOAT and not (result.dtype or "").startswith("f")
    return array(result.type, result.shape, "float64" if to_float else result.dtype, recorded=result.recorded)


def _outer(known: Sequence[Value], shape: Sequence[int]) -> Value | None:
    item = elementwise(*(array(one.type, (1,), one.dtype, recorded=one.recorded) for one in known))
    return item and array(item.type, shape, item.dtype, recorded=item.recorded)


def _kron(known: Sequence[Value]) -> Value | None:
    one, other = (value.shape for value in known)
    return _outer(known, [a * b for a, b in zip(one, other, strict=True)]) if len(one) == len(other) else None


def _tiled(known: Sequence[Value]) -> Value | None:
    first, count = known[0], whole(known[1])
    times = list(known[1].numbers) if count is None else [count]
    if not times or not first.dtype or not first.shape:
        return None
    dimensions = max(len(times), len(first.shape))
    both = ([1] * (dimensions - len(one)) + [*one] for one in (times, first.shape))
    return array(ARRAY, [a * b for a, b in zip(*both, strict=True)], first.dtype, recorded=first.recorded)


def _flat_outer(known: Sequence[Value]) -> Value | None:
    return _outer(known, [math.prod(one.shape) for one in known])


def _multiplied(known: Sequence[Value]) -> Value | None:
    return operation(ast.MatMult(), *known)


def _distances(known: Sequence[Value]) -> Value | None:
    one, other = (value.shape for value in known)
    return _outer(known, (one[0], other[0])) if len(one) == len(other) == 2 else None


_WITH_WORDS: dict[str, Callable[[str, ast.Call, Sequence[Value]], Value | None]] = {
    **dict.fromkeys(_JOINS, _joined),
    **dict.fromkeys(_ONE_HOT, _one_hot),
    **dict.fromkeys(PAIRWISE, _pairwise),
    **dict.fromkeys(("itertools.product", "itertools.combinations", "itertools.permutations"), _choices),
    **dict.fromkeys(("numpy.cov", "numpy.corrcoef", "torch.cov", "torch.corrcoef"), _covariance),
    "numpy.meshgrid": _grid,
    "numpy.repeat": _repeated,
}
"""Functions whose keywords are looked at."""

_PLAIN: dict[str, Callable[[Sequence[Value]], Value | None]] = {
    "numpy.outer": _flat_outer,
    "torch.outer": _flat_outer,
    "numpy.kron": _kron,
    "torch.kron": _kron,
    "numpy.tile": _tiled,
    "numpy.dot": _multiplied,
    "numpy.matmul": _multiplied,
    "torch.matmul": _multiplied,
    "torch.mm": _multiplied,
    "torch.cdist": _distances,
}
"""Functions of two arguments without keywords."""
