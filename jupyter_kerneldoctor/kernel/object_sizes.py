"""Estimates how much memory an object holds, in microseconds and without running any of its code."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from itertools import chain, islice
from threading import Condition
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import library_objects, linked_objects, written_pages
from .buffers import dtype_name
from .deadline import Deadline
from .introspection import attributes, instance_dict, mro, short_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .buffers import Buffer, Objects

SAMPLES = (200, 12, 6, 4)
"""How many items of a container are examined, by depth; of deeper ones it is one."""
_DEEPEST = 30

VARIABLE_S = 0.0006
"""For one variable, so that a deep one leaves time for the others."""

_VARIABLES_AT_LEAST = 6
"""Each may take its share of the time that is left."""

_FEWEST = (8, 8, 3, 1)
"""How many items of a container are examined in any case, by depth."""

_GOLDEN = 0.6180339887  # spreads the sample over a list at any length of the sample
_ITEM_BYTES = 64  # the size of an item of unknown type

_UNINTERESTING = frozenset((ModuleType, FunctionType, BuiltinFunctionType, MethodType, type, Condition))

PLAIN: dict[type, Callable[[Any], int]] = {cls: cls.__sizeof__ for cls in (str, bytes, bytearray, int, float, complex)}
"""The size of an object that refers to no other."""


_ITEMS: dict[type, Callable[[Any], Any]] = {
    dict: dict.values,
    **{kind: kind.__iter__ for kind in (list, tuple, set, frozenset, deque)},
}
"""How to go through a container."""


class TimeUpError(Exception):
    """There is no time left to examine more."""


class Measured(NamedTuple):
    """What is recorded of an object (`recording.events.NamedObject`)."""

    bytes: int
    type: str
    shape: tuple[int, ...] = ()
    dtype: str | None = None
    items: int | None = None
    item_type: str | None = None
    device: str | None = None
    with_graph: bool = False
    unmeasured: bool = False
    written_bytes: int | None = None


class SizeEstimator:
    """Measures objects until a time (time.thread_time); what two of them share counts for the first."""

    def __init__(
        self, until_s: float, variable_s: float = VARIABLE_S, *, until_mono_s: float = math.inf, pages: bool = False
    ) -> None:
        """Measure until `until_s` or `until_mono_s` (time.monotonic), and one variable for at most `variable_s`.

        With `pages`, find out of large arrays how much of each has been written to.
        """
        self._until = Deadline(until_s)
        self._until_mono_s = until_mono_s
        self._variable_s = variable_s
        self._variable_until = self._until
        self._seen: set[int] = set()
        self._counted: set[int] = set()
        self._met = self._draw = 0
        self.node_classes: dict[int, bool] = {}
        """By identity the classes of which an object was met, and whether all of its nodes were counted."""
        self._node: Any = None
        self._found_graph = self._found_unmeasured = False
        self._pages = pages
        self._unwritten_bytes = 0

    @property
    def is_time_up(self) -> bool:
        return self._until.is_over or time.monotonic() > self._until_mono_s

    def measure(self, value: Any) -> Measured | None:
        """Describe one object; None for one that was measured before, or is a module, function, class or None."""
        cls = type(value)
        bases = mro(cls)
        if value is None or not self._is_new(id(value)) or not _UNINTERESTING.isdisjoint(bases):
            return None
        now_s = time.thread_time()
        share_s = (self._until.until_s - now_s) / _VARIABLES_AT_LEAST
        self._variable_until = Deadline(now_s + max(self._variable_s, share_s))
        self._found_graph = self._found_unmeasured = False
        self._unwritten_bytes = 0
        try:
            measured = self._with_nodes(self._measured(value, cls, bases))
        finally:
            self._node = None
        written = max(1, measured.bytes - self._unwritten_bytes) if self._unwritten_bytes else None
        return measured._replace(with_graph=self._found_graph, unmeasured=self._found_unmeasured, written_bytes=written)

    def _measured(self, value: Any, cls: type, bases: tuple[type, ...]) -> Measured:
        if (buffer := library_objects.describe(value, bases, self._until.until_s)) is not None:
            dtype = None if buffer.dtype is None else dtype_name(buffer.dtype)
            return Measured(self._buffer(buffer), short_name(cls), buffer.shape, dtype, device=buffer.device)
        if (size := _plain_bytes(value, bases)) is not None:
            return Measured(size, short_name(cls))
        if (sampled := self._container(value, bases, 0)) is not None:
            size, count, item_type = sampled
            return Measured(size, short_name(cls), items=count, item_type=item_type)
        return Measured(0 if self._meet(value, is_first=True) else self._attributes(value, 0), short_name(cls))

    def _with_nodes(self, measured: Measured) -> Measured:
        """Add the nodes of the tree or chain that an object is part of, or that it leads to."""
        if self._node is None:
            return measured
        found = linked_objects.nodes_near(self._node, lambda one: self._item(one, len(SAMPLES) - 2), self._must_stop)
        self.node_classes.update(dict.fromkeys(found.classes, True))
        if measured.items is None:
            measured = measured._replace(items=found.number, item_type=short_name(type(self._node)))
        return measured._replace(bytes=max(found.bytes, measured.bytes))

    def _meet(self, value: Any, *, is_first: bool = False) -> bool:
        """Note an object that is a node of a kind that was not counted yet."""
        cls = id(type(value))
        if self._node is None and (is_first or cls not in self.node_classes) and not self.node_classes.get(cls):
            self.node_classes[cls] = False
            self._node = value if linked_objects.is_node(value) else None
        return self._node is value

    def _must_stop(self, measured: int, depth: int = 1) -> bool:
        return self.is_time_up or (measured >= _FEWEST[min(depth, 3)] and self._variable_until.is_over)

    def figures(self, figures: Sequence[Any]) -> int:
        """Return the memory of matplotlib figures: their images, and the data that they show."""
        total = measured = 0
        for figure in figures[: SAMPLES[1]]:
            total += self._figure(figure)
            measured += 1
            if self.is_time_up:
                break
        return total * len(figures) // measured

    def _figure(self, figure: Any) -> int:
        parts = instance_dict(figure)
        artists = (
            child
            for axes in library_objects.axes_of(parts)
            for child in (axes, *(instance_dict(axes).get("_children") or ()))
        )
        total = library_objects.canvas_bytes(parts)
        for artist in islice(chain([figure], artists), SAMPLES[0]):
            total += self._arrays(instance_dict(artist))
            if self.is_time_up:
                break
        return total

    def _arrays(self, parts: dict[str, Any]) -> int:
        some = [*islice(parts.values(), SAMPLES[0])]
        found = (library_objects.describe(value, mro(type(value)), self._until.until_s) for value in some)
        return sum(self._buffer(buffer) for buffer in found if buffer is not None)

    def _is_new(self, key: int) -> bool:
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _buffer(self, buffer: Buffer) -> int:
        """Return the memory of an array or frame that has not been counted yet, and of the objects in it."""
        total = 0
        self._found_graph = self._found_graph or buffer.has_graph
        for key, size in buffer.parts:
            self._met += 1
            if key not in self._counted:
                self._counted.add(key)
                total += size
                if self._pages and buffer.address is not None:
                    self._unwritten_bytes += size - written_pages.written_bytes(buffer.address, size)
        if total and buffer.objects:
            total += self._all_objects(buffer.objects)
        return int(total * buffer.scale)

    def _all_objects(self, arrays: Sequence[Objects]) -> int:
        total = measured = 0
        for count, item in arrays:
            total += self._objects(count, item)
            measured += 1
            if self._must_stop(measured):
                break
        return total * len(arrays) // measured

    def _objects(self, count: int, item: Callable[[int], Any]) -> int:
        return self._estimate([item(place) for place in _places(count, SAMPLES[1] * 2)], count, len(SAMPLES) - 1)

    def _item(self, value: Any, depth: int) -> int:
        """Return the memory of an item of a container; 0 for one that was measured before."""
        if value is None or value is True or value is False or not self._is_new(id(value)):
            return 0
        if (plain := PLAIN.get(type(value))) is not None:
            return plain(value)
        bases = mro(type(value))
        if (size := _plain_bytes(value, bases)) is not None:
            return size
        if (buffer := library_objects.describe(value, bases, self._until.until_s)) is not None:
            return self._buffer(buffer) + _ITEM_BYTES
        if not _UNINTERESTING.isdisjoint(bases):
            return 0
        sampled = self._container(value, bases, depth) if depth < _DEEPEST else None
        if sampled is not None:
            return sampled[0]
        return self._attributes(value, depth) if depth < len(SAMPLES) else _ITEM_BYTES

    def _container(self, value: Any, bases: tuple[type, ...], depth: int) -> tuple[int, int, str | None] | None:
        """Return size, number of items and the type of most items; None for what is no container."""
        kind: Any = next((base for base in bases if base in _ITEMS), None)
        if kind is not None:
            count, own = kind.__len__(value), kind.__sizeof__(value)
            if depth >= len(SAMPLES):
                return own + self._far_down([*islice(_ITEMS[kind](value), SAMPLES[1])], count, depth + 1), count, None
            if kind in (list, tuple):
                some = [kind.__getitem__(value, place) for place in _places(count, SAMPLES[depth])]
            else:
                some = [*islice(_ITEMS[kind](value), SAMPLES[depth])]
            if kind is dict:
                own += self._estimate([*islice(dict.keys(value), SAMPLES[1])], count, len(SAMPLES))
        elif library_objects.CACHE in bases:
            count, own, some = library_objects.cached_results(value, SAMPLES[0])
        else:
            return None
        item_type = short_name(Counter(map(type, some)).most_common(1)[0][0]) if some and depth == 0 else None
        return own + self._estimate(some, count, depth + 1), count, item_type

    def _far_down(self, first: list[Any], count: int, depth: int) -> int:
        """Estimate the items of a container by the first of them: all numbers and texts, and one of the others."""
        plain = [one for one in first if one is None or type(one) in PLAIN]
        others = [one for one in first if one is not None and type(one) not in PLAIN]
        self._draw = (self._draw * 1_103_515_245 + 12_345) % (1 << 31)  # as in C's rand()
        inner = self._item(others[(self._draw >> 8) % len(others)], depth) * len(others) if others else 0
        return (sum(self._item(one, depth) for one in plain) + inner) * count // max(1, len(first))

    def _estimate(self, some: list[Any], count: int, depth: int) -> int:
        """Estimate the memory of `count` items from some of them.

        If most of the sample are the same few objects, or views of the same few arrays, the rest counts nothing.
        """
        if not some:
            return 0
        total = measured = 0
        counted, met = len(self._counted), self._met
        for item in some:
            total += self._item(item, depth)
            measured += 1
            if self._must_stop(measured, depth):
                break
        distinct = len(set(map(id, some[:measured])))
        shared = distinct * 2 <= measured or 0 < (len(self._counted) - counted) * 2 <= self._met - met
        return total if shared else total * count // measured

    def _attributes(self, value: Any, depth: int) -> int:
        """Return the memory of an object's attributes."""
        self._meet(value)
        found = [*islice(instance_dict(value).values(), SAMPLES[0])] or [one for _, one in attributes(value)]
        if not found or (depth + 1 >= len(SAMPLES) and any(type(one) not in PLAIN for one in found)):
            self._found_unmeasured = True  # what a library holds in its own memory is not to be seen from here
        total = _ITEM_BYTES
        for number, item in enumerate(found):
            if self._must_stop(number):
                break
            total += self._item(item, depth + 1)
        return total


def _plain_bytes(value: Any, bases: tuple[type, ...]) -> int | None:
    """Return the size of a string, a number or the like, subclasses included; None for anything else."""
    for base in bases:
        if base in PLAIN:
            return PLAIN[base](value)
    return None


def _places(count: int, most: int) -> list[int]:
    """Return the positions to examine: all of a few, or some spread over all."""
    spread = (int((number * _GOLDEN + 0.5) % 1.0 * count) for number in range(most))
    return list(range(count) if count <= most else spread)
