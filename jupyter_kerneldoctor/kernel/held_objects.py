"""Lists the biggest objects that a running cell holds: also those in its functions, and in the user's own objects.

A thread of ours asks for it while the cell goes on. So nothing is held on to but what is examined at the moment:
whoever lets go of an object last destroys it, and not every library bears that in another thread than its own.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import library_objects
from .frame_locals import local_variables
from .introspection import attributes, class_attributes, class_module, module_variables, mro
from .largest_variables import CONTAINERS, LEAST_BYTES, MOST_LISTED, as_fields, candidates, named_variables
from .object_sizes import PLAIN, SizeEstimator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FrameType

    from .largest_variables import Found
    from .object_sizes import Measured

BUDGET_S = 0.004
"""Of processor time."""
LONGEST_S = 0.02
"""The time after which a look ends, however busy the machine is."""

_VARIABLE_S = 0.0003
_SHARE_OF_FRAMES = 0.6
_MOST_FRAMES = 200
_DEEPEST = 3
"""How far attributes are followed: `trainer.model.encoder.seen`."""
_MOST_ATTRIBUTES = 100
_MOST_MEMBERS = 8
"""A list of at most so many of the user's own objects is examined item by item."""
_MOST_REMEMBERED = 1000
_LONGEST_NAME = 80

_LIBRARIES = tuple(sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PACKAGES = ("/site-packages/", "/dist-packages/", str(Path(__file__).parents[1]) + "/")
_WITHOUT_FILE = ("<ipython-input", "<timed exec>", "<string>")
_OF_TORCH = {"_modules", "_parameters", "_buffers"}

Place = dict[str, str]
"""The function whose variable it is, as `file` and `function`; empty for a global variable."""
Part = tuple[str, Any, Place]


class CellHoldings:
    """What one cell holds, compared with what it held when each object was first seen."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self._first: dict[int | tuple[str, ...], Measured] = {}
        """By identity, and by name, file and function."""

    def biggest(
        self, threads: Iterable[int], variables: dict[str, Any], hidden: dict[str, Any], *, budget_s: float = BUDGET_S
    ) -> tuple[list[Found], bool]:
        """Return the biggest as `recording.events.NamedObject`, biggest first, and whether all were examined.

        `threads` are those that run the cell, by `threading.get_ident`.
        """
        look = _Look(budget_s)
        complete = look.examine(threads, variables, hidden)
        found = [fields for one in look.seen if (fields := self._compared(one)) is not None]
        if len(found) > MOST_LISTED:  # then what grows comes first
            found.sort(key=lambda one: -max(one["bytes"], MOST_LISTED * one.get("grew_bytes", 0)))
        return sorted(found[:MOST_LISTED], key=lambda one: -one["bytes"]), complete

    def _compared(self, one: _Seen) -> Found | None:
        """Return what is recorded of an object; None for a small one, unless PyTorch keeps graphs with its items."""
        fields = as_fields(one.name, one.measured, is_hidden=one.is_hidden) | one.place
        keys: tuple[Any, ...] = one.identity, (one.name, *one.place.values())
        known = [first for key in keys if (first := self._first.get(key)) and first.type == one.measured.type]
        if known:
            fields["grew_bytes"] = max(0, one.measured.bytes - known[0].bytes)
            if known[0].items is not None:
                fields["items_before"] = known[0].items
        elif len(self._first) < _MOST_REMEMBERED:
            self._first |= dict.fromkeys(keys, one.measured)
        is_small = one.measured.bytes < LEAST_BYTES and not (one.measured.with_graph and one.measured.items)
        return None if is_small else fields


class _Seen(NamedTuple):
    """A measured object, which itself is not held."""

    name: str
    identity: int
    measured: Measured
    place: Place
    is_hidden: bool


class _Look:
    """One examination."""

    def __init__(self, budget_s: float) -> None:
        begin_s = time.thread_time()
        self._frames_until_s = begin_s + budget_s * _SHARE_OF_FRAMES
        self._names_until_s = begin_s + budget_s * (1 + _SHARE_OF_FRAMES) / 2
        self._estimator = SizeEstimator(begin_s + budget_s, _VARIABLE_S, until_mono_s=time.monotonic() + LONGEST_S)
        self._expanded: set[int] = set()
        self.seen: list[_Seen] = []

    def examine(self, threads: Iterable[int], variables: dict[str, Any], hidden: dict[str, Any]) -> bool:
        """Examine the functions that run, then all other variables; return whether there was time for all."""
        # The result of `_current_frames` holds our own frame, too. Were it kept in a variable, that would be a cycle.
        complete = all(self._stack(sys._current_frames().get(thread), variables) for thread in threads)  # noqa: SLF001
        named, has_all = named_variables(variables, hidden, self._names_until_s)
        for name, value, is_hidden in candidates(named, variables):
            self._variable(name, value, {}, is_hidden=is_hidden)
            if self._estimator.is_time_up:
                return False
        return complete and has_all

    def _stack(self, frame: FrameType | None, variables: dict[str, Any]) -> bool:
        """Examine the variables of the user's functions, innermost first; return whether there was time for all."""
        for _ in range(_MOST_FRAMES):
            if frame is None or (frame.f_code.co_name == "<module>" and frame.f_globals is variables):
                return True
            self._expand(_variables(frame), 0)
            is_users = is_users_file(frame.f_code.co_filename)
            if is_users and frame.f_globals is not variables and self._is_new(frame.f_globals):
                self._expand(_members(str(frame.f_globals.get("__name__")), frame.f_globals.items(), {}), 1)
            if time.thread_time() > self._frames_until_s or self._estimator.is_time_up:
                return False
            frame = frame.f_back
        return False

    def _variable(self, name: str, value: Any, place: Place, depth: int = 0, *, is_hidden: bool = False) -> None:
        """Measure a variable or attribute; of the user's own objects, the attributes."""
        cls = type(value)
        plain = PLAIN.get(cls)
        if value is None or (plain is not None and plain(value) < LEAST_BYTES) or self._estimator.is_time_up:
            return
        with suppress(Exception):  # the cell goes on, and may have changed it
            parts = _parts(name, value, cls, place) if depth < _DEEPEST else None
            if (parts is None or library_objects.knows(cls)) and (measured := self._estimator.measure(value)):
                self.seen.append(_Seen(name[:_LONGEST_NAME], id(value), measured, place, is_hidden))
            if parts is not None and self._is_new(value):
                self._expand(parts, depth + 1)

    def _expand(self, parts: Iterator[Part], depth: int) -> None:
        with suppress(RuntimeError):  # the cell has added one
            for name, value, place in islice(parts, _MOST_ATTRIBUTES):
                self._variable(name, value, place, depth)

    def _is_new(self, value: Any) -> bool:
        is_new = id(value) not in self._expanded
        self._expanded.add(id(value))
        return is_new


def _parts(name: str, value: Any, cls: type, place: Place) -> Iterator[Part] | None:
    """Yield what is examined in an object's stead; None for an object that is measured as a whole."""
    if cls is FunctionType:
        return _shared_variables(value)
    if cls in _FRAMES:
        frame: FrameType | None = _FRAMES[cls](value)
        return iter(()) if frame is None else _variables(frame)
    if cls is ModuleType:
        inner = module_variables(value)
        return _members(name, inner.items(), place) if _is_users_module(inner.get("__name__")) else iter(())
    if type in mro(cls):
        return _members(name, class_attributes(value).items(), place) if _is_users_class(value) else iter(())
    if cls in (list, tuple):
        is_team = 0 < len(value) <= _MOST_MEMBERS and all(_is_users_object(type(item)) for item in value)
        return ((f"{name}[{at}]", item, place) for at, item in enumerate(value)) if is_team else None
    return _members(name, attributes(value), place) if _is_users_object(cls) else None


def _members(name: str, members: Iterable[tuple[str, Any]], place: Place) -> Iterator[Part]:
    for member, value in members:
        if member == "_modules" and type(value) is dict:  # PyTorch keeps there what was set as an attribute
            yield from _members(name, value.items(), place)
        elif member not in _OF_TORCH and not (type(member) is str and member.startswith("__")):
            yield f"{name}.{member}", value, place


def _variables(frame: FrameType) -> Iterator[Part]:
    """Yield the variables of a function, if it is the user's; what it has in common with others under its own name."""
    if is_users_file(frame.f_code.co_filename):
        found = local_variables(frame)
        for name, value in sorted(found, key=lambda pair: type(pair[1]) is FunctionType):
            yield name, value, _place(frame.f_code)


def _shared_variables(function: FunctionType) -> Iterator[Part]:
    """Yield the variables that a function shares with the one it is defined in."""
    code = function.__code__
    if is_users_file(code.co_filename):
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            with suppress(ValueError):  # it has no value yet
                yield name, cell.cell_contents, _place(code)


_FRAMES: dict[type, Any] = {
    GeneratorType: lambda value: value.gi_frame,
    CoroutineType: lambda value: value.cr_frame,
    AsyncGeneratorType: lambda value: value.ag_frame,
}


def _place(code: CodeType) -> Place:
    return {"file": code.co_filename, "function": code.co_name}


def is_users_file(file: str) -> bool:
    """Return whether code is the user's own: of a cell, or of a file outside Python's and the packages' directories."""
    if file.startswith("<"):
        return file.startswith(_WITHOUT_FILE)
    return not file.startswith(_LIBRARIES) and not any(package in file for package in _PACKAGES)


def _is_users_object(cls: type) -> bool:
    return _is_users_class(cls) and not CONTAINERS.intersection(mro(cls))


def _is_users_class(cls: type) -> bool:
    return _is_users_module(class_module(cls))


@cache
def _is_users_module(name: Any) -> bool:
    if name == "__main__":
        return True
    module = sys.modules.get(name) if type(name) is str else None
    file = module_variables(module).get("__file__") if type(module) is ModuleType else None
    return type(file) is str and is_users_file(file)
