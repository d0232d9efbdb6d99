"""Tells what memory grew in: the statements that ran meanwhile, and the objects that hold it."""

from collections.abc import Iterator

from ..analysis.growth import Charged
from ..death import Death
from ..postmortem import Evidence, Grown
from ..units import cell_name, enumeration, quote, size, statement

_MOST = 3
_LITTLE = 0.1  # of what is known: statements with less are not named
_NEARLY_ALL = 0.95
_WORTH_TELLING_BYTES = 50 << 20


def growth(death: Death) -> Iterator[Evidence]:
    """Say in which statements memory grew, and what grew by name, where that was recorded."""
    if death.growth.grew_bytes >= _WORTH_TELLING_BYTES:
        yield from _statements(death)
    found = death.growth.container
    for one in death.growth.objects[:1] if found is None else (found,):
        if (one.grew_bytes or 0) >= _WORTH_TELLING_BYTES or one.with_graph or one is found:
            yield Evidence(f"{named(one)}.", one.grew_bytes, "bytes", "a look at the variables while the cell ran")


def _statements(death: Death) -> Iterator[Evidence]:
    found = death.growth
    worth = [one for one in found.charged if one.bytes >= max(_LITTLE * found.known_bytes, _LITTLE * found.grew_bytes)]
    if not worth:
        yield Evidence(f"Which line took the {size(found.grew_bytes)} that memory grew by is not known.")
        return
    places = dict.fromkeys(map(_place, worth))
    first, *others = [[one for one in worth if _place(one) == place][:_MOST] for place in places]
    grew = sum(one.bytes for one in first)
    part = f"Of {size(found.grew_bytes)}, {size(grew)}" if grew < _NEARLY_ALL * found.grew_bytes else size(grew)
    told = f"{part} came while {_ran(first)}"
    if others and grew < _NEARLY_ALL * found.known_bytes:
        told += f", and {size(sum(one.bytes for one in others[0]))} while {_ran(others[0])}"
    yield Evidence(f"{told}.", grew, "bytes", "stacks read from outside the process")


def _ran(parts: list[Charged]) -> str:
    """Return "lines 17 and 18 of cell [3] ran (`y = net(x)`, `kept.append(y)`)"."""
    shown = sorted(parts, key=lambda one: one.statement.line)
    lines = enumeration([str(one.statement.line) for one in shown])
    codes = ", ".join(quote(statement((one.statement.source or "").split("\n")[0])) for one in shown)
    code = f" ({codes})" if shown[0].statement.file is None else ""
    return f"{'lines' if len(shown) > 1 else 'line'} {lines} of {_place(shown[0])} ran{code}"


def _place(one: Charged) -> str:
    at = one.statement
    return cell_name(at.execution_count) if at.file is None else at.file.rpartition("/")[2]


def named(one: Grown) -> str:
    """Return "`self.seen` (dict) grew from 220 to 910 items, 1.0 GiB"."""
    kind = (one.type or "").rpartition(".")[2]
    items = f" of {one.item_type.rpartition('.')[2]}" if one.item_type else ""
    grew = "with their graphs" if one.with_graph else size(one.grew_bytes or 0)
    if one.unmeasured:
        grew = "whose memory is a library's own and cannot be measured"
    if one.length is not None and one.length > (one.length_before or 0):
        since = f"from {one.length_before} " if one.length_before else ""
        return f"{quote(one.name)} ({kind}{items}) grew {since}to {one.length} items, {grew}"
    if one.shape:
        items = f" of {' x '.join(map(str, one.shape))}"
    return f"{quote(one.name)} ({kind}{items}) grew by {size(one.grew_bytes or 0)}"
