"""The objects that memory grew in, by the names that the user gave them."""

from collections.abc import Iterable

from jupyter_kerneldoctor.recording.events import NamedObject
from jupyter_kerneldoctor.recording.model import Cell, Recording

from ..postmortem import Grown
from ..units import cell_name
from .frame_names import FrameNames

_WORTH_TELLING_BYTES = 10 << 20
_MOST = 10


def grown_objects(recording: Recording, cell: Cell, names: FrameNames) -> tuple[Grown, ...]:
    """Return what grew while the cell ran, as the looks into it show, most growth first."""
    newest: dict[tuple[str, str | None, str | None], NamedObject] = {}
    for look in sorted(recording.held, key=lambda one: one.mono_s):
        if look.cell_seq == cell.seq and look.cell_seq is not None:
            newest.update({(one.name, one.file, one.function): one for one in look.objects})
    found = [one for one in newest.values() if is_in_memory(one) and (one.grew_bytes or 0) >= _WORTH_TELLING_BYTES]
    found.sort(key=lambda one: (one.grew_bytes or 0, one.bytes), reverse=True)
    return tuple(_grown(one, names) for one in found[:_MOST])


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
