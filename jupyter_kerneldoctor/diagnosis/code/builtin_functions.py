"""What Python's own functions give, from what they are given."""

from collections.abc import Sequence

from .arrays import POINTER_BYTES, Value, number, repeated, whole

_TUPLE_BYTES = 40
"""An empty tuple, with what the garbage collector keeps of it (CPython, sys.getsizeof)."""


def _range(values: Sequence[Value | None]) -> Value | None:
    numbers = [whole(one) for one in values]
    known = [one for one in numbers if one is not None]
    if len(known) != len(numbers) or len(known) > 3 or known[2:] == [0]:
        return None
    start, stop, step = (0, known[0], 1) if len(known) == 1 else (*known, 1)[:3]
    return Value("range", 48, (max(0, -((start - stop) // step)),))


def _length(values: Sequence[Value | None]) -> Value | None:
    return number(values[0].shape[0]) if values[0] is not None and values[0].shape else None


def _listed(values: Sequence[Value | None]) -> Value | None:
    one = values[0]
    if one is not None and one.type.startswith("itertools."):
        return repeated(Value("tuple", _TUPLE_BYTES + POINTER_BYTES * one.shape[1]), one.shape[0])
    return repeated(Value("int", 32), one.shape[0]) if one is not None and one.type == "range" else None


def _zeroed(values: Sequence[Value | None]) -> Value | None:
    length = whole(values[0])
    return None if length is None or length < 0 else Value("bytes", length, (length,))


def _truncated(values: Sequence[Value | None]) -> Value | None:
    length = whole(values[0])
    return None if length is None else number(length)


BUILT_IN = {"range": _range, "len": _length, "list": _listed, "bytes": _zeroed, "bytearray": _zeroed, "int": _truncated}
"""What Python's own functions give."""
