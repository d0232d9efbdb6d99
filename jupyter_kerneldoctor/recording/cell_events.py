"""Tells which cells ran from what three writers saw: the sidecar, the kernel and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cell_source import SOURCE_FIELDS
from .decode import build, fitting, number
from .model import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Event = dict[str, Any]


def unheard_events(journal: list[Event], said: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of the kernel's file, and of its cells what the sidecar did not hear, numbered anew.

    A kernel that joined a recording of the server's counts its cells anew, so they are told apart by when they began.
    """
    begun, over, numbers = {}, set(), {}
    for event in journal:
        if event["event"] == "cell_start":
            begun[number(event.get("mono_s"))] = number(event.get("seq"))
        elif event["event"] == "cell_end":
            over.add(number(event.get("seq")))
    for event in said:
        seq, mono_s = number(event.get("seq")), number(event.get("mono_s"))
        if event["event"] == "cell_start":
            is_known = mono_s in begun
            numbers[seq] = begun.setdefault(mono_s, max((one or 0 for one in begun.values()), default=0) + 1)
            if not is_known:
                yield {**event, "seq": numbers[seq], "beside": []}
        elif event["event"] != "cell_end":
            yield event
        elif seq in numbers and numbers[seq] not in over:
            over.add(numbers[seq])
            yield {**event, "seq": numbers[seq]}


def seen_by_server(start: Event, events: list[Event], end: Event) -> Iterator[Event]:
    """Yield what the server noted of the newest cells of a kernel that it watches alone, none after the end.

    They are those it had sent to the sidecar, in that order, so that it does no harm to read them twice.
    """
    last_mono_s = number(end.get("mono_s"))
    for event in events if start.get("loaded_by") == "server" else ():
        mono_s = number(event.get("mono_s"))
        if event["event"] in _OF_CELLS and mono_s is not None:
            yield event if last_mono_s is None else {**event, "mono_s": min(mono_s, last_mono_s)}


_OF_CELLS = ("cell_queued", "cell_start", "cell_end", "cell_withdrawn")


def cells_of(events: list[Event]) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """Return the cells that ran, and those still queued.

    Starts and ends are paired by sequence number, as a cell may run many times and ends may be lost.
    """
    cells: dict[Any, Event] = {}
    """What is known of each; a day has thousands, and each is made once."""
    queued: dict[Any, Cell] = {}
    sources: dict[Any, Event] = {}
    for event in events:
        seq = number(event.get("seq"))
        if event["event"] == "cell_start":
            source = _source(event, sources)
            known = fitting(Cell, {**event, **source, "started_mono_s": event.get("mono_s")})
            if "source" in known:
                cells[seq] = known
                queued.pop(seq, None)
        elif event["event"] == "cell_queued" and seq not in cells and (waiting := build(Cell, event)) is not None:
            queued[seq] = waiting
        elif event["event"] == "cell_withdrawn":
            cells.pop(seq, None)  # it was queued and never ran
            queued.pop(seq, None)
        elif seq in cells and event["event"] == "cell_end":
            names = ("rss_after_bytes", "peak_bytes", "peak_basis", "error", "asked_exit")
            known = fitting(Cell, {name: event[name] for name in names if name in event})
            ended = number(event.get("mono_s"))
            started = cells[seq].get("started_mono_s", 0.0)
            cells[seq] |= {"ended_mono_s": started if ended is None else ended, **known}
    return tuple(Cell(**cell) for cell in cells.values()), tuple(queued.values())


def _source(start: Event, sources: dict[Any, Event]) -> Event:
    """Return the fields of a cell's source, from its own start event or from that of an earlier execution."""
    if "source_of" in start:
        return sources.get(number(start["source_of"]), {"source": ""})
    own = {name: start[name] for name in SOURCE_FIELDS if name in start}
    sources[number(start.get("seq"))] = own
    return own
