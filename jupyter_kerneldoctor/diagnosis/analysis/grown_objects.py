"""The objects that memory grew in, by the names that the user gave them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import Held, NamedObject, Namespace
from jupyter_kerneldoctor.recording.model import Cell, Recording

from ..postmortem import Grown
from ..units import cell_name
from .frame_names import FrameNames
from .memory import Memory

CONTAINERS = ("list", "dict", "set", "collections.deque", "collections.defaultdict")
_WORTH_TELLING_BYTES = 10 << 20
_MOST = 10
_MEASURED = 1.1  # sizes of objects are rounded, and resident memory lags behind

_STAYED = 0.95  # of the memory


def grown_objects(memory: Memory, names: FrameNames) -> tuple[Grown, ...]:
    """Return what grew while the cell ran, as the looks into it show, most growth first.

    What keeps graphs of PyTorch comes first: what these hold is not in its bytes.
    """
    cell, recording = memory.cell, memory.recording
    if cell is None or cell.seq is None:
        return ()
    looks = sorted((one for one in recording.held if one.cell_seq == cell.seq), key=lambda one: one.mono_s)
    whole = next((at for at in reversed(range(len(looks))) if looks[at].complete), 0)
    if not any(look.objects for look in looks[whole:]):
        whole = _last_with_objects(looks, memory)
    newest = {_key(one): one for look in looks[whole:] for one in look.objects}
    for one in () if (last := look_at_its_end(recording, cell)) is None else last.objects:
        if not one.hidden and ((seen := newest.get(_key(one))) is None or _tells_more(one, seen)):
            newest[_key(one)] = one
    earlier = [look.objects for look in recording.namespaces if look.mono_s <= cell.started_mono_s]
    before = {one.name: one for objects in earlier[-1:] for one in objects}
    made = [_since(one, before, memory) for one in newest.values() if is_in_memory(one)]
    found = [
        one for one in made if (one.grew_bytes or 0) >= _WORTH_TELLING_BYTES or _keeps_graphs(one) or one.unmeasured
    ]
    found.sort(key=lambda one: (_keeps_graphs(one), one.grew_bytes or 0, one.bytes), reverse=True)
    return tuple(_grown(one, names) for one in found[:_MOST])


def look_at_its_end(recording: Recording, cell: Cell) -> Namespace | None:
    """Return the look at the variables right after a cell that raised; None without one."""
    looks = (one for one in recording.namespaces if one.cell_seq == cell.seq is not None and cell.error is not None)
    return next(looks, None)


def _tells_more(later: NamedObject, seen: NamedObject) -> bool:
    return later.type == seen.type and later.bytes > seen.bytes and not (seen.with_graph or seen.unmeasured)


def _key(one: NamedObject) -> tuple[str | None, ...]:
    """Return what tells objects apart from look to look: all nodes of a tree are one, whatever the root is called."""
    is_tree = one.items is not None and one.item_type == one.type and one.type not in CONTAINERS
    return (one.type,) if is_tree else (one.name, one.file, one.function)


def _last_with_objects(looks: Sequence[Held], memory: Memory) -> int:
    """Return the last look that saw objects, if they were handed on, not given back: memory has not fallen since."""
    at = next((number for number in reversed(range(len(looks))) if looks[number].objects), 0)
    since = [one.rss_bytes for one in memory.samples if looks and one.mono_s >= looks[at].mono_s and one.rss_bytes]
    return at if since and min(since) >= _STAYED * since[0] else len(looks)


def _keeps_graphs(one: NamedObject) -> bool:
    gets_longer = (one.items or 0) > (one.items_before or 0)
    is_filled = one.item_type in CONTAINERS and (one.grew_bytes or 0) > 0  # `log["loss"].append(x)`
    return one.with_graph and (gets_longer or is_filled)


def _since(one: NamedObject, before: Mapping[str, NamedObject], memory: Memory) -> NamedObject:
    """Return an object with its growth since the cell began.

    A look tells how much it grew since it was first seen in the cell. It was there before if the last look before the
    cell saw one of that name or size, or if it is larger than all that the cell grew by, not than the memory before.
    """
    if one.unmeasured:
        return one
    if one.written_bytes is not None:  # what was reserved in an earlier cell may be filled only now
        made_here = one.name not in before
        return replace(one, bytes=one.written_bytes, grew_bytes=one.written_bytes if made_here else one.grew_bytes)
    had = before.get(one.name)
    if had is not None and had.type == one.type:
        return replace(one, grew_bytes=max(0, one.grew_bytes or 0, one.bytes - had.bytes), items_before=had.items)
    same = any((other.type, other.bytes, other.items) == (one.type, one.bytes, one.items) for other in before.values())
    growth = memory.growth_bytes or 0
    is_sampled = one.items is not None and one.items_before in (None, one.items) and not same
    if is_sampled and one.bytes > _MEASURED * max(growth, memory.before_bytes or one.bytes):
        one = replace(one, bytes=growth)  # too few items showed too much
    if same or one.bytes > _MEASURED * growth:
        return one
    stayed = one.items_before is not None and one.items_before == one.items  # its items grow: `log["loss"].append(x)`
    return replace(one, grew_bytes=one.bytes, items_before=None if one.items is None else one.items if stayed else 0)


def largest_objects(objects: Iterable[NamedObject], names: FrameNames) -> tuple[Grown, ...]:
    """Return what was large at a look between two cells, largest first."""
    found = sorted((one for one in objects if one.bytes >= _WORTH_TELLING_BYTES), key=lambda one: -one.bytes)
    return tuple(_grown(one, names) for one in found[:_MOST])


def is_in_memory(one: NamedObject) -> bool:
    """Return whether an object is neither on a card nor a window into a file."""
    return one.device in (None, "cpu") and "memmap" not in one.type


def _grown(one: NamedObject, names: FrameNames) -> Grown:
    return Grown(
        one.name,
        one.type,
        one.items,
        list(one.shape) if one.shape else None,
        one.dtype,
        one.bytes,
        one.grew_bytes,
        _where(one, names),
        one.items_before,
        one.item_type,
        one.with_graph,
        one.unmeasured,
    )


def _where(one: NamedObject, names: FrameNames) -> str:
    """Return "local of fit, cell [4]"."""
    if one.hidden:
        return "kept by IPython or a library"
    cell = None if one.file is None else names.cell_of_file(one.file)
    place = cell_name(cell.execution_count) if cell is not None else (one.file or "").rpartition("/")[2]
    function = (one.function or "").rpartition(".")[2]
    if function in ("", "<module>"):
        return f"variable of {place}" if place else "variable of the notebook"
    kind = "attribute used in" if "." in one.name else "local of"
    return f"{kind} {function}, {place}" if place else f"{kind} {function}"
