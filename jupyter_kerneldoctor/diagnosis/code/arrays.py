"""The shapes and sizes of arrays and lists: what NumPy and PyTorch make of known arguments, and arithmetic on them."""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .dtypes import ITEM_BYTES, written_dtype
from .literals import number as literal

POINTER_BYTES = 8
_MOST_BYTES = 1 << 62
_MOST_DIMENSIONS = 32

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}

_BY_SHAPE = {"zeros": 1, "ones": 1, "empty": 1, "full": 2}
"""NumPy's functions that take a shape first, and at which position the type may follow."""

_BY_LENGTHS = frozenset({"numpy.random.rand", "numpy.random.randn"})
_BY_SIZE = {
    **dict.fromkeys(("random", "random_sample", "standard_normal"), (0, "float64")),
    **dict.fromkeys(("normal", "uniform"), (2, "float64")),
    **dict.fromkeys(("randint", "integers"), (2, "int64")),
}
"""NumPy's functions of random numbers: where the shape may stand that is also called `size`, and the type."""

_WHOLE = ("int", "uint", "bool")
_TORCH = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn"))
ARRAY, TENSOR, FRAME = "numpy.ndarray", "torch.Tensor", "pandas.DataFrame"
_COPIES = frozenset({"copy", "clone", "fillna", "dropna", "sort_values", "reset_index"})


def lengths(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape that was recorded; nothing for one that no array can have."""
    return tuple(shape) if len(shape) <= _MOST_DIMENSIONS and min(shape, default=0) >= 0 else ()


@dataclass(frozen=True)
class Value:
    """What an expression stood for."""

    type: str
    """Full name: "numpy.ndarray", "pandas.DataFrame", "list", "int"."""
    bytes: int | None = None
    """How much memory it takes; None where that is not known."""
    shape: tuple[int, ...] = ()
    """Of an array or data frame, or the length of a list."""
    dtype: str | None = None
    number: float | None = None
    """The value of a plain number."""
    numbers: tuple[int, ...] = ()
    """The values of a list or tuple of whole numbers, as a shape is."""
    recorded: bool = False
    """Whether it, or what it was made of, was recorded in the kernel; else the code says so."""

    @property
    def rows(self) -> int | None:
        """How many rows, or items, it has; None of a number, or where that is not known."""
        return self.shape[0] if self.shape else None


def number(value: complex) -> Value | None:
    """Return a plain number; None for one that is not finite, not real, or longer than any size."""
    if isinstance(value, complex) or not abs(value) < (_MOST_BYTES if isinstance(value, int) else math.inf):
        return None
    return Value("int" if isinstance(value, int) else "float", 32, number=value)


def whole(value: Value | None) -> int | None:
    """Return the whole number that a value is; None where it is none, or not known."""
    if value is None or value.number is None or value.number != value.number or abs(value.number) > _MOST_BYTES:
        return None
    return int(value.number)


def array(kind: str, shape: Sequence[int], dtype: str | None, *, recorded: bool = False) -> Value | None:
    """Return an array of this shape; None for a type or a size that cannot be."""
    item = ITEM_BYTES.get(dtype or "")
    if item is None or len(shape) > _MOST_DIMENSIONS or any(length < 0 for length in shape):
        return None
    size = math.prod(shape) * item
    return Value(kind, size, tuple(shape), dtype, recorded=recorded) if size < _MOST_BYTES else None


def operation(op: ast.operator, left: Value | None, right: Value | None) -> Value | None:
    """Return the result of an operator on two values."""
    if left is None or right is None:
        return None
    if left.number is not None and right.number is not None:
        return _calculated(op, left.number, right.number)
    if isinstance(op, ast.Mult):
        for value, times in ((left, right), (right, left)):
            count = whole(times)
            if value.type in ("list", "tuple", "str", "bytes") and value.shape and count is not None:
                length, count = value.shape[0] * max(0, count), max(0, count)
                size = None if value.bytes is None else _sized(value.type, length, value.bytes * count)
                is_possible = max(length, size or 0) < _MOST_BYTES
                numbers = value.numbers * count if length <= _MOST_DIMENSIONS else ()
                again = replace(value, bytes=size, shape=(length, *value.shape[1:]), numbers=numbers)
                return again if is_possible else None
    if isinstance(op, ast.MatMult):
        return _product(left, right)
    result = elementwise(left, right)
    if result is not None and isinstance(op, ast.Div) and (result.dtype or "").startswith(_WHOLE):
        return array(result.type, result.shape, "float64", recorded=result.recorded)
    return result


def _product(left: Value, right: Value) -> Value | None:
    """Return the product of a matrix with a matrix or a vector (numpy.matmul)."""
    if len(left.shape) != 2 or len(right.shape) not in (1, 2) or left.shape[1] != right.shape[0]:
        return None
    wider = max((left, right), key=lambda one: ITEM_BYTES.get(one.dtype or "", 0))
    shape = (left.shape[0], *right.shape[1:])
    return array(left.type, shape, wider.dtype, recorded=left.recorded or right.recorded)


def _calculated(op: ast.operator, left: float, right: float) -> Value | None:
    try:
        if isinstance(op, ast.Pow):
            return number(left**right) if abs(right) <= 64 and abs(left) <= 1 << 32 else None
        result = _ARITHMETIC[type(op)](left, right)
    except (KeyError, ArithmeticError):
        return None
    return number(result)


def _sized(kind: str, length: int, content_bytes: int) -> int:
    """Return the size of a repeated list, whose items are the same objects, or of a text."""
    return length * POINTER_BYTES if kind in ("list", "tuple") else content_bytes


def elementwise(left: Value | None, right: Value | None) -> Value | None:
    """Return the result of arithmetic on two arrays, or an array and a number, broadcast (NumPy's manual)."""
    if left is None or right is None:
        return None
    arrays = [one for one in (left, right) if one.number is None]
    if not arrays or not all(one.type in (ARRAY, TENSOR, FRAME) and one.dtype for one in arrays):
        return None
    shape: list[int] = []
    for place in range(1, max(len(one.shape) for one in arrays) + 1):
        lengths = {one.shape[-place] for one in arrays if len(one.shape) >= place} - {1}
        if len(lengths) > 1:
            return None
        shape.insert(0, next(iter(lengths), 1))
    dtype = max((one.dtype or "" for one in arrays), key=lambda name: (ITEM_BYTES.get(name, 0), name.startswith("f")))
    floats = any(one.number is not None and isinstance(one.number, float) for one in (left, right))
    if floats and dtype.startswith(_WHOLE):
        dtype = "float64"
    return array(arrays[0].type, shape, dtype, recorded=any(one.recorded for one in arrays))


def container(kind: str, items: Sequence[Value | None]) -> Value:
    """Return a list or tuple of these items."""
    sizes = [None if one is None else one.bytes for one in items]
    known = [one for one in sizes if one is not None]
    total = sum(known) + len(items) * POINTER_BYTES if len(known) == len(items) else None
    first = items[0] if items else None
    alike = first is not None and all(one is not None and one.shape == first.shape for one in items)
    numbers = [whole(one) for one in items if one is not None and isinstance(one.number, int)]
    shape = (len(items), *(first.shape if first is not None and alike and first.dtype else ()))
    plain = tuple(_all(numbers) or ()) if len(numbers) == len(items) else ()
    return Value(kind, total, shape, first.dtype if first is not None and alike else None, numbers=plain)


def repeated(item: Value, count: int) -> Value:
    """Return a list of as many new items like this one; its size is not known where no machine could hold it."""
    size = _MOST_BYTES if item.bytes is None else (item.bytes + POINTER_BYTES) * count
    return Value(
        "list",
        size if size < _MOST_BYTES else None,
        (count, *(item.shape if item.dtype else ())),
        item.dtype,
        recorded=item.recorded,
    )


def indexed(value: Value, index: ast.expr) -> Value | None:
    """Return what `a[:, None]` or `a[3]` gives; None for a slice, whose length is not known."""
    if value.numbers and isinstance(index, ast.Constant | ast.UnaryOp) and (place := literal(index)) is not None:
        return number(value.numbers[place]) if -len(value.numbers) <= place < len(value.numbers) else None
    if value.dtype is None or value.type not in (ARRAY, TENSOR):
        return None
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    rest, shape = list(value.shape), []
    for part in parts:
        match part:
            case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
                shape.append(1)
            case ast.Slice(lower=None, upper=None, step=None) if rest:
                shape.append(rest.pop(0))
            case ast.Constant(value=int()) if rest:
                rest.pop(0)
            case _:
                return None
    return array(value.type, [*shape, *rest], value.dtype, recorded=value.recorded)


def made(
    function: str, call: ast.Call, values: Sequence[Value | None], words: Mapping[str, Value | None]
) -> Value | None:
    """Return what a function of NumPy or PyTorch makes of these arguments; None where that is not sure."""
    package, _, name = function.rpartition(".")
    first, by_shape = (values[0] if values else None), package == "numpy" and name in _BY_SHAPE
    positional = call.args[_BY_SHAPE[name] :][:1] if by_shape else []
    written = [one.value for one in call.keywords if one.arg == "dtype"] or positional
    dtype = written_dtype(written[0]) if written else None
    if written and dtype is None:
        return None
    shape, kind, default = None, ARRAY, "float64"
    if by_shape:
        fill = values[1:2] if name == "full" else []
        if not written and fill and (fill[0] is None or fill[0].number is None):
            return None
        shape = _shape(words.get("shape", first))
    elif function in _TORCH or function in _BY_LENGTHS:
        shape = _shape(first) if len(values) == 1 else _all([whole(one) for one in values])
        kind, default = (TENSOR, "float32") if function in _TORCH else (kind, default)
    elif package.startswith("numpy.random") and name in _BY_SIZE:
        place, default = _BY_SIZE[name]
        shape = _shape(words.get("size", values[place] if len(values) > place else None))
    elif package == "numpy" and name in ("eye", "identity"):
        shape = _all([whole(one) for one in (first, values[1] if len(values) > 1 else first)])
    elif package == "numpy" and name in ("arange", "linspace"):
        return _sequence(name, values, dtype)
    elif package == "numpy.linalg" and name == "solve" and (right := values[1] if len(values) == 2 else None):
        return array(kind, right.shape, "float64", recorded=right.recorded) if right.dtype else None
    elif first is not None and first.dtype and first.shape:
        return _derived(name, first, dtype, plain=not words)
    return None if shape is None else array(kind, shape, dtype or default)


def _derived(name: str, first: Value, dtype: str | None, *, plain: bool) -> Value | None:
    """Return what a function makes of an array, or of a list of equal ones."""
    kind, made = (ARRAY if first.type in ("list", "tuple") else first.type), dtype or first.dtype
    if name in ("zeros_like", "ones_like", "empty_like", "array", "asarray", "stack", "copy"):
        return array(kind, first.shape, made, recorded=first.recorded)
    if name in ("concatenate", "vstack", "cat") and len(first.shape) > 1 and plain:
        return array(kind, (first.shape[0] * first.shape[1], *first.shape[2:]), made, recorded=first.recorded)
    return None


def _sequence(name: str, values: Sequence[Value | None], dtype: str | None) -> Value | None:
    numbers = [None if one is None else one.number for one in values]
    known = [one for one in numbers if one is not None]
    if not known or len(known) != len(numbers) or len(known) > 3:
        return None
    if max(map(abs, known)) > _MOST_BYTES:
        return None
    if name == "linspace":
        return array(ARRAY, (int(known[2]) if len(known) > 2 else 50,), dtype or "float64")
    start, stop, step = (0, known[0], 1) if len(known) == 1 else (*known, 1)[:3]
    default = "int64" if all(isinstance(one, int) for one in known) else "float64"
    count = (stop - start) / step if step else math.inf
    return array(ARRAY, (max(0, math.ceil(count)),), dtype or default) if abs(count) < _MOST_BYTES else None


def method(owner: Value, call: ast.Call, values: Sequence[Value | None]) -> Value | None:
    """Return what a method of a known array gives."""
    assert isinstance(call.func, ast.Attribute)
    name = call.func.attr
    if name in _COPIES:
        return owner
    if name == "astype" and len(call.args) == 1 and owner.shape:
        return array(owner.type, owner.shape, written_dtype(call.args[0]), recorded=owner.recorded)
    if name == "reshape" and owner.bytes is not None:
        shape = _shape(values[0]) if len(values) == 1 else _all([whole(one) for one in values])
        if shape is None or len(shape) > _MOST_DIMENSIONS:
            return None
        rest = -math.prod(shape) if shape.count(-1) == 1 else 0
        if rest > 0:
            shape[shape.index(-1)] = math.prod(owner.shape) // rest
        return None if min(shape, default=0) < 0 else replace(owner, shape=tuple(shape))
    if name in ("ravel", "flatten") and owner.shape:
        return replace(owner, shape=(math.prod(owner.shape),))
    return None


def _shape(value: Value | None) -> list[int] | None:
    """Return the shape that a number or a tuple of numbers stands for."""
    length = whole(value)
    return [length] if length is not None else list(value.numbers) if value is not None and value.numbers else None


def _all(lengths: Sequence[int | None]) -> list[int] | None:
    known = [one for one in lengths if one is not None]
    return known if known and len(known) == len(lengths) else None
