"""Tells what memory grew in: the statements that ran meanwhile, and the objects that hold it."""

from collections.abc import Iterator

from ..analysis.growth import Charged
from ..death import Death
from ..postmortem import Evidence, Grown
from ..units import cell_name, enumeration, quote, size, statement

_MOST = 3
_LITTLE = 0.1  # of what is known: statements with less are not named
_WORTH_TELLING_BYTES = 50 << 20


def growth(death: Death) -> Iterator[Evidence]:
    """Say in which statements memory grew, and what grew by name, where that was recorded."""
    if death.growth.grew_bytes >= _WORTH_TELLING_BYTES:
        yield from _statements(death)
    for one in death.growth.objects[:1]:
        if (one.grew_bytes or 0) >= _WORTH_TELLING_BYTES or one.with_graph:
            yield Evidence(f"{named(one)}.", one.grew_bytes, "bytes", "a look at the variables while the cell ran")


def _statements(death: Death) -> Iterator[Evidence]:
    found = death.growth
    worth = [one for one in found.charged if one.bytes >= max(_LITTLE * found.known_bytes, _LITTLE * found.grew_bytes)]
    if not worth:
        yield Evidence(f"Which line took the {size(found.grew_bytes)} that memory grew by is not known.")
        return
    top = worth[0].statement
    same = [one for one in worth if _place(one) == _place(worth[0])][:_MOST]
    same.sort(key=lambda one: one.statement.line)
    grew = sum(one.bytes for one in same)
    part = f"Of {size(found.grew_bytes)}, {size(grew)}" if grew < 0.95 * found.grew_bytes else f"{size(grew)}"
    lines = enumeration([str(one.statement.line) for one in same])
    codes = ", ".join(quote(statement((one.statement.source or "").split("\n")[0])) for one in same)
    code = f" ({codes})" if top.file is None else ""
    yield Evidence(
        f"{part} came while {'lines' if len(same) > 1 else 'line'} {lines} of {_place(worth[0])} ran{code}.",
        grew,
        "bytes",
        "stacks read from outside the process",
    )


def _place(one: Charged) -> str:
    at = one.statement
    return cell_name(at.execution_count) if at.file is None else at.file.rpartition("/")[2]


def named(one: Grown) -> str:
    """Return "`self.seen` (dict) grew from 220 to 910 items, 1.0 GiB"."""
    kind = (one.type or "").rpartition(".")[2]
    items = f" of {one.item_type.rpartition('.')[2]}" if one.item_type else ""
    grew = "with their graphs" if one.with_graph else size(one.grew_bytes or 0)
    if one.length is not None and one.length > (one.length_before or 0):
        since = f"from {one.length_before} " if one.length_before else ""
        return f"{quote(one.name)} ({kind}{items}) grew {since}to {one.length} items, {grew}"
    if one.shape:
        items = f" of {' x '.join(map(str, one.shape))}"
    return f"{quote(one.name)} ({kind}{items}) grew by {size(one.grew_bytes or 0)}"
