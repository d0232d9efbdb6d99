"""Finds the memory behind an array."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from . import written_pages
from .introspection import class_module, class_name, mro

if TYPE_CHECKING:
    from collections.abc import Callable

Part = tuple[int, int]
"""An identity, so that shared memory is counted once, and a number of bytes."""

Objects = tuple[int, "Callable[[int], Any]"]
"""The number of Python objects in an array, and a function that returns one of them."""


_LONGEST_NAME = 60
_OF_LIBRARIES = ("numpy", "pandas")


class Buffer(NamedTuple):
    """The memory of a library's object."""

    parts: tuple[Part, ...]
    shape: tuple[int, ...] = ()
    dtype: Any = None
    """A name, or a dtype that `dtype_name` turns into one."""
    device: str | None = None
    objects: tuple[Objects, ...] = ()
    scale: float = 1.0
    """All of the object by the part that was examined."""
    has_graph: bool = False
    """Whether PyTorch keeps with it what its gradient takes: the tensors that it was computed from."""
    address: int | None = None
    """Where a large array of numbers begins, in case not all of it has been written to."""


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, without names of columns and values; that of the class where it is a user's own."""
    cls = type(dtype)
    if cls is str:
        return str(dtype).partition("(")[0][:_LONGEST_NAME]  # Polars names the values of an enumeration
    package = (class_module(cls) or "").partition(".")[0]
    if package not in _OF_LIBRARIES:
        return class_name(cls)[:_LONGEST_NAME]
    if package == "numpy" and dtype.names:
        return "structured"
    if class_name(cls).endswith(".SparseDtype"):  # its name holds a value, which may be any object
        return f"Sparse[{dtype.subtype}]"[:_LONGEST_NAME]
    if class_name(cls).endswith(".DatetimeTZDtype"):  # and this one a time zone, which may be of a user's class
        return f"datetime64[{dtype.unit}, tz]"
    return str(dtype).partition("(")[0][:_LONGEST_NAME]


def of_array(value: Any) -> Buffer:
    """Describe a NumPy array."""
    ndarray = sys.modules["numpy"].ndarray
    shape, dtype = ndarray.shape.__get__(value), ndarray.dtype.__get__(value)
    part, address = owner(value), None
    if part[1] >= written_pages.LEAST_BYTES and not dtype.hasobject and not dtype.names:
        address = ndarray.__array_interface__.__get__(_base(value)[0])["data"][0]
    return Buffer((part,), shape, dtype, objects=_objects(value, dtype), address=address)


def _base(array: Any) -> tuple[Any, Any]:
    """Return the outermost array that an array is a view of, and what that takes its memory from, if from anything."""
    ndarray = sys.modules["numpy"].ndarray
    while (base := ndarray.base.__get__(array)) is not None and ndarray in mro(type(base)):
        array = base
    return array, base


def owner(array: Any) -> Part:
    """Return the memory of the array that owns it, which a view shares. A mapped file counts nothing."""
    ndarray = sys.modules["numpy"].ndarray
    base, next_base = _base(array)
    mapped = next_base is not None and class_name(type(next_base)) == "mmap.mmap"
    size = int(ndarray.nbytes.__get__(base))
    if next_base is not None and ndarray.base.__get__(array) is not None:
        size = max(size, int(ndarray.nbytes.__get__(array)))
    key = id(base) if next_base is None else id(next_base)
    return (key, 0 if mapped else size)


def _objects(array: Any, dtype: Any) -> tuple[Objects, ...]:
    if not dtype.hasobject or dtype.names:
        return ()
    ndarray = sys.modules["numpy"].ndarray
    return ((int(ndarray.size.__get__(array)), lambda place: ndarray.item(array, place)),)
