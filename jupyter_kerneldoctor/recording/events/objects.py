"""Defines what was recorded of the user's objects, without their values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedObject:
    """One of the biggest objects that the user's variables hold, without its value."""

    name: str
    """`df`, `losses`, `Out[3]`, `_`, `open figures`, `the last traceback`."""
    type: str
    bytes: int
    shape: tuple[int, ...] = ()
    dtype: str | None = None
    items: int | None = None
    """How many items a list, dict or the like has."""
    item_type: str | None = None
    hidden: bool = False
    """Whether IPython or a library keeps it, not a variable of the user's: the Out cache, open figures, a traceback."""
    device: str | None = None
    """`cuda:0` for an object on a card."""
    with_graph: bool = False
    """Whether it is a PyTorch tensor, or holds some, with the graph for its gradient; `bytes` is without the graph."""
    unmeasured: bool = False
    """Whether it is a small container that gains items, and these keep memory of a library's own, which `bytes` lacks;
    only in a `held` event."""
    written_bytes: int | None = None
    """How much of it has been written to, where that is less: the rest of an array of `np.zeros` takes no memory yet.
    Only in a `held` event."""
    grew_bytes: int | None = None
    """How much it has grown since it was seen first while this cell ran; only in a `held` event, as are the fields
    below."""
    items_before: int | None = None
    """How many items it had then."""
    file: str | None = None
    """The file of the function whose local variable it is; None for a global one."""
    function: str | None = None
    """That function."""


@dataclass(frozen=True)
class Namespace:
    """The biggest objects at the end of a cell (event `namespace`), biggest first."""

    mono_s: float
    cell_seq: int | None = None
    objects: tuple[NamedObject, ...] = ()
    complete: bool = True
    """False if there was no time to examine all."""


@dataclass(frozen=True)
class Held:
    """The biggest objects in the middle of a cell that grows, also those in its functions (event `held`).

    Names are as the user would write them: `kept`, `self.seen`, `losses`.
    """

    mono_s: float
    cell_seq: int | None = None
    objects: tuple[NamedObject, ...] = ()
    complete: bool = True
    """False if there was no time to examine all."""
    took_s: float | None = None
    """How long the examination took."""
