"""Reads the local variables of a running function, and changes nothing about it.

Up to Python 3.12 `frame.f_locals` makes a dict that stays with the frame: it keeps all values alive until the function
ends, and it is the very dict that the user's own `locals()` has returned. 3.13 made it a view without these effects
(PEP 667). 3.12 has PyFrame_GetVar, which returns one variable. For 3.11 the variables are read where the frame keeps
them.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from functools import cache
from itertools import compress, repeat
from operator import attrgetter
from types import CellType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

Variables = list[tuple[str, Any]]

_OPTIMIZED = 0x1  # of code.co_flags: the code of a function, not of a module or a class
_MOST = 300
"""Of the variables of one function."""

# CPython 3.11, Include/internal/pycore_frame.h: PyFrameObject.f_frame, and localsplus in what it points to.
_F_FRAME = 24
_LOCALSPLUS = 72
_Pointers = ctypes.c_void_p * _MOST
_Objects = ctypes.py_object * _MOST

_value = attrgetter("value")


def local_variables(frame: FrameType) -> Variables:
    """Return the names and values of a function's variables, those it shares with other functions included.

    None are returned for a module or a class, whose variables are in a dict that is theirs, and on interpreters of
    which it is not known how to. The garbage collector must be disabled meanwhile.
    """
    reader = _reader()
    return reader(frame) if reader is not None and frame.f_code.co_flags & _OPTIMIZED else []


@cache
def _reader() -> Callable[[FrameType], Variables] | None:
    """Return how to read this interpreter's frames; None where that fails on a frame of our own."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    if sys.version_info >= (3, 13):
        reader = _through_view
    elif sys.version_info >= (3, 12):
        reader = _through_function
    else:
        reader = _from_memory
    with suppress(Exception):
        if _is_right(reader):
            return reader
    return None


def _is_right(reader: Callable[[FrameType], Variables]) -> bool:
    free = object()

    def probe(shared: object, alone: object) -> bool:
        def uses() -> tuple[object, ...]:
            return shared, free, later

        found = reader(sys._getframe())  # noqa: SLF001 - the only way to a frame
        later = {"shared": shared, "alone": alone, "uses": uses, "free": free, "reader": reader}
        return {name: value for name, value in found if value is not None} == later

    return probe(object(), object())


def _through_view(frame: FrameType) -> Variables:
    return list(frame.f_locals.items())[:_MOST]


def _through_function(frame: FrameType) -> Variables:
    get = _get_variable()
    found = []
    for name in _names(frame.f_code)[:_MOST]:
        with suppress(NameError):  # it has no value yet, or no longer
            found.append((name, get(frame, name)))
    return found


@cache
def _get_variable() -> Any:
    # A library object of our own: all code shares the argument types of `ctypes.pythonapi`.
    function = ctypes.PyDLL(None).PyFrame_GetVar
    function.argtypes, function.restype = [ctypes.py_object, ctypes.py_object], ctypes.py_object
    return function


def _from_memory(frame: FrameType) -> Variables:
    """Read the variables where the frame keeps them.

    Whether they are still there (the function may have ended), which of them have values, and the values: all of that
    is found out by one call of `list`, which no other thread can interrupt as it runs no bytecode.
    """
    place = ctypes.c_void_p.from_address(id(frame) + _F_FRAME)
    begin = place.value
    if begin is None:
        return []
    names = _names(frame.f_code)[:_MOST]
    pointers = _Pointers.from_address(begin + _LOCALSPLUS)
    objects = _Objects.from_address(begin + _LOCALSPLUS)

    def have_values() -> map[Any]:
        are_there = map(begin.__eq__, map(_value, repeat(place)))
        return map(pointers.__getitem__, compress(range(len(names)), are_there))

    values = map(objects.__getitem__, compress(range(len(names)), have_values()))
    found = list(zip(compress(names, have_values()), values, strict=False))
    return [(name, _content(value)) for name, value in found]


def _names(code: CodeType) -> list[str]:
    """Return the names of a function's variables, in the order in which a frame keeps them."""
    own = code.co_varnames
    return [*own, *(name for name in code.co_cellvars if name not in own), *code.co_freevars]


def _content(value: Any) -> Any:
    """Return the value of a variable that functions share."""
    if type(value) is not CellType:
        return value
    try:
        return value.cell_contents
    except ValueError:
        return None  # it has none yet
