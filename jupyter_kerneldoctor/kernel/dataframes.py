"""Finds the memory of the data frames of pandas, Arrow and Polars, in the arrays that hold their columns.

The size of one that consists of thousands of pieces is estimated from some: asking all would take too long.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .buffers import Buffer, dtype_name, of_array
from .introspection import class_name, instance_dict, mro

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BLOCKS = 100
"""Of a frame. One whose columns were added one by one has more; the others count like these."""


def of_pandas(value: Any) -> Buffer:
    """Describe a frame, series or index by the arrays that hold its columns."""
    manager = instance_dict(value).get("_mgr")
    if manager is None:
        return _joined([*_pandas_index(value)], (), _index_dtypes(instance_dict(value)), 1.0)
    blocks = manager.blocks[:_MOST_BLOCKS]
    pieces = [piece for block in blocks for piece in _pandas_array(block.values)]
    pieces += [piece for axis in manager.axes for piece in _pandas_index(axis)]
    scale = 1.0
    if len(manager.blocks) > len(blocks):
        scale = _index_length(manager.axes[0]) / sum(len(block.mgr_locs) for block in blocks)
    shape = tuple(_index_length(axis) for axis in reversed(manager.axes))
    return _joined(pieces, shape, {_pandas_dtype(block.values) for block in blocks}, scale)


def _joined(pieces: list[Buffer], shape: tuple[int, ...], dtypes: set[str], scale: float) -> Buffer:
    parts = tuple(part for piece in pieces for part in piece.parts)
    objects = tuple(one for piece in pieces for one in piece.objects)
    dtype = dtypes.pop() if len(dtypes) == 1 else ("mixed" if dtypes else None)
    return Buffer(parts, shape, dtype, objects=objects, scale=scale)


def _pandas_dtype(array: Any) -> str:
    """Return the name of a column's dtype. Another library's is called after its class: `dtype` may run anything."""
    ndarray, cls = sys.modules["numpy"].ndarray, type(array)
    if ndarray in mro(cls):
        return dtype_name(ndarray.dtype.__get__(array))
    return dtype_name(array.dtype) if class_name(cls).startswith("pandas.") else class_name(cls)


def _index_dtypes(attributes: dict[str, Any]) -> set[str]:
    if "_data" in attributes:
        return {_pandas_dtype(attributes["_data"])}
    return {"int64"} if "_range" in attributes else {"object"}


def _pandas_index(index: Any) -> Iterator[Buffer]:
    attributes = instance_dict(index)
    if "_codes" in attributes:  # several levels
        for codes in attributes["_codes"]:
            yield from _pandas_array(codes)
        for level in attributes.get("_levels", ()):
            yield from _pandas_index(level)
    elif "_data" in attributes:
        yield from _pandas_array(attributes["_data"])


def _index_length(index: Any) -> int:
    """Return how many labels an index has, by the method of pandas: a class of the user's may have its own."""
    own = (vars(cls).get("__len__") for cls in mro(type(index)) if class_name(cls).startswith("pandas."))
    return int(next(filter(None, own))(index))


def _pandas_array(array: Any) -> Iterator[Buffer]:
    if sys.modules["numpy"].ndarray in mro(type(array)):
        yield of_array(array)
        return
    if not class_name(type(array)).startswith("pandas."):
        return  # another library's column, whose attributes may compute anything
    ndarray = sys.modules["numpy"].ndarray
    inner = [getattr(array, name, None) for name in ("_ndarray", "_data", "_mask")]
    inner = [one for one in inner if ndarray in mro(type(one))]
    yield from map(of_array, inner)
    if not inner:
        yield Buffer(((id(array), _pandas_bytes(array)),))


def _pandas_bytes(array: Any) -> int:
    """Return the size of an array that is not NumPy's, such as one of Arrow's strings."""
    inner = instance_dict(array).get("_pa_array")
    return int(array.nbytes) if inner is None else _arrow_bytes(inner)


_MOST_CHUNKS = 20
"""The most chunks of an Arrow column, and columns of a table, that are examined."""


def of_arrow(value: Any) -> Buffer:
    """Describe a table, a batch of rows, or an array."""
    shape = (value.num_rows, value.num_columns) if hasattr(value, "num_rows") else (len(value),)
    return Buffer(((id(value), _arrow_bytes(value)),), shape)


def _arrow_bytes(value: Any) -> int:
    """Return the bytes of an array or table, estimated from a sample of its columns and chunks if it has very many."""
    if hasattr(value, "num_chunks"):
        count, chunks, piece = value.num_chunks, value.num_chunks, value.chunk
    elif hasattr(value, "itercolumns") and value.num_columns:
        count, piece = value.num_columns, value.column
        chunks = count * getattr(value.column(0), "num_chunks", 1)
    else:
        return int(value.nbytes)
    if chunks <= _MOST_CHUNKS**2:
        return int(value.nbytes)
    some = range(0, count, -(-count // _MOST_CHUNKS))
    return int(sum(_arrow_bytes(piece(place)) for place in some) * count // len(some))


def of_polars(value: Any) -> Buffer:
    """Describe a frame or series."""
    inner = getattr(value, "_df", None)
    if inner is not None:
        return Buffer(((id(inner), int(inner.estimated_size())),), tuple(inner.shape()))
    series = value._s  # noqa: SLF001 - polars has no other way without a copy
    return Buffer(((id(series), int(series.estimated_size())),), (int(series.len()),), str(series.dtype()))
