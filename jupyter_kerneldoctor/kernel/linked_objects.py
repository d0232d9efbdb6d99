"""Recognises objects that refer to others of their class: the nodes of trees and graphs, the links of chains.

Each object holds a reference to its class. So the reference count of the class tells how many there are, and a few of
them tell how much all of them take, however deep the tree is.
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from .introspection import attributes, is_heap_type, mro

if TYPE_CHECKING:
    from collections.abc import Callable

_VALUES: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((dict, defaultdict), dict.values),
    **dict.fromkeys((list, tuple, set, frozenset, deque), iter),
}
"""How to go through a container."""
_MOST_ATTRIBUTES, _MOST_CHILDREN = 40, 50
_MOST_NODES = 100
"""So many are looked at; the others are taken to be like them."""
_NODE_BYTES, _REFERENCE_BYTES = 64, 8
_BY_THE_CLASS = 8
"""References to a class that are not those of its objects: its own, and that of the module it stands in."""
_DEFERRED = sys.maxsize // 8
"""CPython 3.14 without the GIL adds it to the count of a class, as _Py_REF_DEFERRED."""


def nodes_beside(value: Any) -> tuple[list[Any], list[Any]]:
    """Return the objects like itself that an object refers to, also in a list or dict of its own, and all else."""
    cls = type(value)
    nodes: list[Any] = []
    others: list[Any] = []
    if is_heap_type(cls):
        for _, item in islice(attributes(value), _MOST_ATTRIBUTES):
            if item is value:
                continue
            values = _VALUES.get(type(item))
            inner = [item] if values is None else islice(values(item), _MOST_CHILDREN)
            inner = [one for one in inner if one is not None and one is not value]
            if inner and _is_kin(cls, type(inner[0])):
                nodes += [one for one in inner if _is_kin(cls, type(one))]
            else:
                others.append(item)
    return nodes, others


def is_node(value: Any) -> bool:
    """Return whether an object refers to others of its class."""
    return bool(nodes_beside(value)[0])


class Nodes(NamedTuple):
    """All nodes of the kinds that were met near one."""

    bytes: int
    number: int
    classes: tuple[int, ...]
    """Their identities."""


def nodes_near(first: Any, size_of: Callable[[Any], int], must_stop: Callable[[int], bool]) -> Nodes:
    """Estimate the memory of all nodes by that of those near one of them.

    `size_of` gives the memory of what a node refers to, `must_stop` whether so many nodes have to do.
    """
    waiting, found = deque([first]), set[int]()
    sizes: dict[type, list[int]] = {}
    while waiting and len(found) < _MOST_NODES and not must_stop(len(found)):
        node = waiting.popleft()
        if id(node) not in found:
            found.add(id(node))
            nodes, others = nodes_beside(node)
            references = _REFERENCE_BYTES * (len(nodes) + len(others))
            sizes.setdefault(type(node), []).append(_NODE_BYTES + references + sum(map(size_of, others)))
            waiting.extend(nodes)
    counts = {cls: max(len(own), _references(cls) - _BY_THE_CLASS) for cls, own in sizes.items()}
    total = sum(sum(own) * counts[cls] // len(own) for cls, own in sizes.items())
    return Nodes(total, sum(counts.values()), tuple(map(id, sizes)))


def _references(cls: type) -> int:
    """Return the reference count of a class.

    Without the GIL each thread counts for itself, and the count is as of the last collection of garbage.
    """
    count = sys.getrefcount(cls)
    return count - _DEFERRED if count > _DEFERRED // 2 else count


def _is_kin(cls: type, other: type) -> bool:
    return cls is other or (is_heap_type(other) and (cls in mro(other) or other in mro(cls)))
