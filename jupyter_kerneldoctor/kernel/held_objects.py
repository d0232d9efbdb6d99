"""Lists the biggest objects that a running cell holds: also those in its functions, and in the user's own objects.

A thread of ours asks for it while the cell goes on. So nothing is held on to but what is examined at the moment:
whoever lets go of an object last destroys it, and not every library bears that in another thread than its own.
"""

from __future__ import annotations

import sys
import time
from _thread import get_ident
from contextlib import suppress
from itertools import islice
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import library_objects
from .deadline import Deadline
from .largest_variables import LEAST_BYTES, MOST_LISTED, as_fields, candidates, named_variables, open_figures
from .object_parts import global_variables, parts_of, users_objects, users_variables, waiting_tasks, waiting_variables
from .object_sizes import PLAIN, SizeEstimator

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .largest_variables import Found
    from .object_parts import Part, Place
    from .object_sizes import Measured

BUDGET_S = 0.004
"""Of processor time."""
LONGEST_S = 0.1
"""The time after which a look ends, however busy the machine is. The cell runs meanwhile, too."""

_VARIABLE_S = 0.0003
_SLICE_S, _PAUSE_S = 0.002, 0.0001
"""Python takes the GIL from a thread that has had it for 5 ms (sys.getswitchinterval)."""
_SHARE_OF_FRAMES = 0.6
_MOST_FRAMES = 200
_DEEPEST = 3
"""How far attributes are followed: `trainer.model.encoder.seen`."""
_MOST_PARTS = 300
_MOST_THREADS = 32
_MOST_TASKS = 50
_MOST_REMEMBERED = 1000
_MOST_UNMEASURED = 3
_MOST_CARRIED = 3
_LONGEST_NAME = 80


class CellHoldings:
    """What one cell holds, compared with what it held when each object was first seen."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self._first: dict[int | tuple[str, ...], Measured] = {}
        """Containers by identity, as they grow in place; all else by name, file and function."""

    def biggest(
        self, threads: Collection[int], variables: dict[str, Any], hidden: dict[str, Any], *, budget_s: float = BUDGET_S
    ) -> tuple[list[Found], bool]:
        """Return the biggest as `recording.events.NamedObject`, biggest first, and whether all were examined.

        `threads` are those that run the cell, by `threading.get_ident`.
        """
        look = _Look(budget_s)
        complete = look.examine(threads, variables, hidden)
        found = [self._compared(one) for one in look.seen if one.is_worth_telling]
        gaining = sorted((one for one in look.seen if self._gained_unmeasured(one)), key=self._gained_unmeasured)
        found += [self._compared(one) | {"unmeasured": True} for one in gaining[-_MOST_UNMEASURED:]]
        carried = [one for one in look.seen if one.is_carried]
        found += [self._compared(one) | {"bytes": one.measured.bytes} for one in carried[:_MOST_CARRIED]]
        if len(self._first) < _MOST_REMEMBERED:
            self._first = {one.key: one.measured for one in reversed(look.seen)} | self._first
        if len(found) > MOST_LISTED:  # then what grows comes first
            found.sort(key=lambda one: -max(one["bytes"], MOST_LISTED * one.get("grew_bytes", 0)))
        return sorted(found[:MOST_LISTED], key=lambda one: -one["bytes"]), complete

    def _gained_unmeasured(self, one: _Seen) -> int:
        """Return how many items a small container has gained whose items keep memory that nobody can measure."""
        first = self._first.get(one.key)
        if one.is_worth_telling or first is None or not one.measured.unmeasured or one.measured.type != first.type:
            return 0
        return max(0, (one.measured.items or 0) - (first.items or 0))

    def _compared(self, one: _Seen) -> Found:
        fields = as_fields(one.name, one.measured, is_hidden=one.is_hidden) | one.place
        first = self._first.get(one.key)
        if first is not None and first.type == one.measured.type:
            fields["grew_bytes"] = max(0, _taken(one.measured) - _taken(first))
            if first.items is not None:
                fields["items_before"] = first.items
        return fields


def _taken(measured: Measured) -> int:
    """Return how much memory an object takes: of an array, what has been written to."""
    return measured.bytes if measured.written_bytes is None else measured.written_bytes


class _Seen(NamedTuple):
    """A measured object, which itself is not held."""

    name: str
    identity: int
    measured: Measured
    place: Place
    is_hidden: bool
    is_node: bool = False
    """Whether it stands for all objects like it, whichever of them the name is of."""

    @property
    def key(self) -> int | tuple[str, ...]:
        is_kept = self.measured.items is not None and not self.is_node
        return self.identity if is_kept else (self.name, *self.place.values())

    @property
    def is_worth_telling(self) -> bool:
        """Whether it is big, or a container of tensors with which PyTorch keeps much more."""
        return self.measured.bytes >= LEAST_BYTES or bool(self.measured.with_graph and self.measured.items)

    @property
    def is_carried(self) -> bool:
        """Whether it is a small tensor that an object keeps with the graph that made it: `self.centre`."""
        return self.measured.with_graph and "." in self.name and not self.is_worth_telling


class _Look:
    """One examination."""

    def __init__(self, budget_s: float) -> None:
        begin_s = time.thread_time()
        self._frames_until = Deadline(begin_s + budget_s * _SHARE_OF_FRAMES)
        self._names_until_s = begin_s + budget_s * (1 + _SHARE_OF_FRAMES) / 2
        longest_s = time.monotonic() + LONGEST_S
        self._estimator = SizeEstimator(begin_s + budget_s, _VARIABLE_S, until_mono_s=longest_s, pages=True)
        self._has_gil_since_mono_s = time.monotonic()
        self._expanded: set[int] = set()
        self._nodes: dict[int, int] = {}
        """By class, where the nodes of trees and chains are among what was seen."""
        self.seen: list[_Seen] = []

    def examine(self, threads: Collection[int], variables: dict[str, Any], hidden: dict[str, Any]) -> bool:
        """Examine what runs in these and other threads, then all other variables; return whether time was enough."""
        complete = min((self._stack(thread, variables) for thread in _with_others(threads)), default=True)
        for coroutine in islice(waiting_tasks(), _MOST_TASKS):
            self._expand(waiting_variables(coroutine))
        named, has_all = named_variables(variables, hidden, self._names_until_s)
        names = [name for name, _ in named]
        del named  # which holds the values
        for name in names:
            self._give_way()
            self._variable(name, variables.get(name), {})
        for name, value, is_hidden in candidates([], variables):
            self._variable(name, value, {}, is_hidden=is_hidden)
        if self._estimator.is_time_up:
            return False
        if (figures := open_figures(self._estimator)) is not None:
            self.seen.append(_Seen("open figures", 0, figures, {}, is_hidden=True))
        for thread in threads:
            self._stack_of_libraries(thread)
        return complete and has_all

    def _stack(self, thread: int, variables: dict[str, Any]) -> bool:
        """Examine the variables of the user's functions, innermost first; return whether there was time for all.

        Those of lambdas come last: what they are given has a better name where it comes from.
        """
        return self._functions(thread, variables, lambdas=False) and self._functions(thread, variables, lambdas=True)

    def _functions(self, thread: int, variables: dict[str, Any], *, lambdas: bool) -> bool:
        # What `_current_frames` returns holds our own frame, too. Were it kept in a variable, that would be a cycle.
        frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only way
        for _ in range(_MOST_FRAMES):
            if frame is None or (frame.f_code.co_name == "<module>" and frame.f_globals is variables):
                return True
            if (frame.f_code.co_name == "<lambda>") is lambdas:
                self._expand(users_variables(frame))
            if frame.f_globals is not variables and self._is_new(frame.f_globals):
                self._expand(global_variables(frame), 1)
            if self._frames_until.is_over or self._estimator.is_time_up:
                return False
            frame = frame.f_back
        return False

    def _give_way(self) -> None:
        """Give the GIL away before it is taken from us, which could be while an object of the user's is held.

        Some operations fail on an object that is held elsewhere, too: `ndarray.resize` does. Not while a frame is held:
        it takes over the variables of a function that ends meanwhile.
        """
        if time.monotonic() - self._has_gil_since_mono_s > _SLICE_S and type(time.sleep) is BuiltinFunctionType:
            time.sleep(_PAUSE_S)
            self._has_gil_since_mono_s = time.monotonic()

    def _stack_of_libraries(self, thread: int) -> None:
        frame = sys._current_frames().get(thread)  # noqa: SLF001
        for _ in range(_MOST_FRAMES):
            if frame is None or frame.f_code.co_name == "<module>" or self._estimator.is_time_up:
                return
            self._expand(users_objects(frame))
            frame = frame.f_back

    def _variable(self, name: str, value: Any, place: Place, depth: int = 0, *, is_hidden: bool = False) -> None:
        """Measure a variable or attribute, and what of it is the user's own by itself."""
        plain = PLAIN.get(type(value))
        if value is None or (plain is not None and plain(value) < LEAST_BYTES) or self._estimator.is_time_up:
            return
        with suppress(Exception):  # the cell goes on, and may have changed it
            parts, is_all = parts_of(name, value, place) if depth < _DEEPEST else ((), False)
            is_known = library_objects.knows(type(value))
            if is_known:  # its memory is its own, not that of its parts
                self._measure(name, value, place, is_hidden=is_hidden)
            if self._is_new(value):
                self._expand(parts, depth + 1)
            if not is_known and not is_all:
                self._measure(name, value, place, is_hidden=is_hidden)

    def _measure(self, name: str, value: Any, place: Place, *, is_hidden: bool) -> None:
        if self._is_known_node(name, value, place):
            return
        if (measured := self._estimator.measure(value)) is not None:
            is_node = measured.items is not None and self._estimator.node_classes.get(id(type(value)), False)
            if is_node:
                self._nodes[id(type(value))] = len(self.seen)
                name = measured.type if name == "self" else name
            self.seen.append(_Seen(name[:_LONGEST_NAME], id(value), measured, place, is_hidden, is_node))

    def _is_known_node(self, name: str, value: Any, place: Place) -> bool:
        """Whether a value is one of the nodes that were measured together. Their name is that of the outermost."""
        if (at := self._nodes.get(id(type(value)))) is None:
            return False
        known = self.seen[at]
        is_farther = known.place != place and ("." not in known.name or not place)
        is_better = known.name == known.measured.type or ("." in name and "." not in known.name)
        if name != "self" and (is_farther or is_better):
            self.seen[at] = known._replace(name=name[:_LONGEST_NAME], place=place)
        return True

    def _expand(self, parts: Iterable[Part], depth: int = 0) -> None:
        with suppress(RuntimeError):  # the cell has added one
            for name, value, place in islice(parts, _MOST_PARTS):
                self._variable(name, value, place, depth)

    def _is_new(self, value: Any) -> bool:
        is_new = id(value) not in self._expanded
        self._expanded.add(id(value))
        return is_new


def _with_others(threads: Collection[int]) -> list[int]:
    """Return these threads, then others of the user's, but not our own."""
    others = [thread for thread in [*sys._current_frames()] if thread not in (*threads, get_ident())]  # noqa: SLF001
    return [*threads, *others][:_MOST_THREADS]
