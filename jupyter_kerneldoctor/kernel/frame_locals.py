"""Reads the local variables of a running function, and changes nothing about it.

Up to Python 3.12 `frame.f_locals` makes a dict that stays with the frame: it keeps all values alive until the function
ends, and it is the very dict that the user's own `locals()` has returned. 3.13 made it a view without these effects
(PEP 667). 3.12 has PyFrame_GetVar, which returns one variable. Before that the variables are read where the frame
keeps them.
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
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    Variables = Iterator[tuple[str, Any]]


_OPTIMIZED = 0x1  # of code.co_flags: the code of a function, not of a module or a class
_MOST = 300
"""Of the variables of one function."""

# CPython 3.11, Include/internal/pycore_frame.h: PyFrameObject.f_frame, and localsplus in what it points to.
_F_FRAME = 24
_LOCALSPLUS = 72
# CPython 3.10, Include/cpython/frameobject.h: the variables are in the frame object itself.
_F_LOCALSPLUS = 352
_IS_APART = sys.version_info >= (3, 11)
_Pointers = ctypes.c_void_p * _MOST
_Objects = ctypes.py_object * _MOST

_value = attrgetter("value")


def local_variables(frame: FrameType) -> Variables:
    """Yield the names and values of a function's variables, first those that it shares with other functions.

    Each is read when it is asked for, so that only one is held at a time. None are yielded for a module or a class,
    whose variables are in a dict that is theirs, and on interpreters of which it is not known how to. The garbage
    collector must be disabled meanwhile.
    """
    reader = _reader()
    return reader(frame) if reader is not None and frame.f_code.co_flags & _OPTIMIZED else iter(())


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

        found = dict(reader(sys._getframe()))  # noqa: SLF001 - the only way to a frame
        later = {"shared": shared, "alone": alone, "uses": uses, "free": free, "reader": reader}
        return {name: value for name, value in found.items() if value is not None} == later

    return probe(object(), object())


def _through_view(frame: FrameType) -> Variables:
    for _, name in _numbered_names(frame.f_code):
        with suppress(KeyError):  # it has no value yet, or no longer
            yield name, frame.f_locals[name]


def _through_function(frame: FrameType) -> Variables:
    get = _get_variable()
    for _, name in _numbered_names(frame.f_code):
        with suppress(NameError):
            yield name, get(frame, name)


@cache
def _get_variable() -> Any:
    # A library object of our own: all code shares the argument types of `ctypes.pythonapi`.
    function = ctypes.PyDLL(None).PyFrame_GetVar
    function.argtypes, function.restype = [ctypes.py_object, ctypes.py_object], ctypes.py_object
    return function


def _from_memory(frame: FrameType) -> Variables:
    """Read the variables where the frame keeps them.

    Whether a variable is still there (the function may have ended), whether it has a value, and the value: all of that
    is found out by one call of `list`, which no other thread can interrupt as it runs no bytecode.
    """
    place = ctypes.c_void_p.from_address(id(frame) + _F_FRAME) if _IS_APART else ctypes.c_void_p(id(frame))
    offset = _LOCALSPLUS if _IS_APART else _F_LOCALSPLUS
    for number, name in _numbered_names(frame.f_code):
        begin = place.value
        if begin is None:
            return
        pointers = _Pointers.from_address(begin + offset)
        objects = _Objects.from_address(begin + offset)
        is_there = map(begin.__eq__, map(_value, repeat(place)))
        has_value = map(pointers.__getitem__, compress((number,), is_there))
        for value in list(map(objects.__getitem__, compress((number,), has_value))):
            yield name, _content(value)


def _numbered_names(code: CodeType) -> list[tuple[int, str]]:
    """Return the names of a function's variables, and at which place a frame keeps each; those it shares come first."""
    own, shared = code.co_varnames, {*code.co_cellvars, *code.co_freevars}
    names = [*own, *(name for name in code.co_cellvars if not _IS_APART or name not in own), *code.co_freevars]
    return sorted(enumerate(names[:_MOST]), key=lambda pair: pair[1] not in shared)


def _content(value: Any) -> Any:
    """Return the value of a variable that functions share."""
    if type(value) is not CellType:
        return value
    try:
        return value.cell_contents
    except ValueError:
        return None  # it has none yet
