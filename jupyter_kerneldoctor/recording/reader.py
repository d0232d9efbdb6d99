"""Reads a recording from disk. Whatever is damaged or missing is left out; reading never fails on content."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .journal import read_events
from .layout import CRASH, JOURNAL, KERNEL, SERVER
from .model import Cell, CgroupDelta, End, ExitRequest, Kernel, Limit, Recording, ServerView
from .processes import ProcessIdentity, is_alive
from .samples import Sample, read_samples

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
Event = dict[str, Any]
Check = Callable[[Any], bool]

CRASH_TEXT_BYTES = 256 * 1024
"""How much of the crash file is read: faulthandler writes at most 100 frames for each thread."""


def read(directory: Path) -> Recording:
    """Read the recording in `directory`; an empty or foreign directory gives a recording that knows nothing."""
    return assemble(
        directory.name,
        [*read_events(directory / JOURNAL), *read_events(directory / KERNEL)],
        server_events=list(read_events(directory / SERVER)),
        samples=read_samples(directory),
        crash_text=_read_text(directory / CRASH),
    )


def observe(recording: Recording) -> Recording:
    """Add whether the kernel process lives: the one fact that is not on disk."""
    if recording.kernel.process.pid <= 0 or recording.kernel.hostname not in (None, platform.node()):
        return replace(recording, alive=None)
    return replace(recording, alive=is_alive(recording.kernel.process))


def assemble(
    recording_id: str,
    events: list[Event],
    *,
    server_events: list[Event] | None = None,
    samples: tuple[Any, ...] = (),
    crash_text: str = "",
) -> Recording:
    """Build a recording from the events of its journal, and what the kernel itself noted."""
    start = next((event for event in events if event["event"] == "start"), {})
    end = next((event for event in reversed(events) if event["event"] == "end"), None)
    limits = next((event for event in reversed(events) if event["event"] == "limits"), {})
    request = next((event for event in events if event["event"] == "exit_request"), None)
    lost = next((event for event in events if event["event"] == "lost"), {})
    walls = _some(_number(event.get("wall_s")) for event in events)
    return Recording(
        id=recording_id,
        kernel=_kernel(recording_id, start),
        sidecar=_identity(start.get("sidecar")),
        started_mono_s=_number(start.get("mono_s")) or 0.0,
        started_wall_s=_number(start.get("wall_s")) or 0.0,
        limits=tuple(_some(_build(Limit, entry) for entry in _list(limits.get("limits")))),
        cells=_cells(events),
        samples=tuple(_some(_sample(sample) for sample in samples)),
        exit_request=None if request is None else _build(ExitRequest, request),
        end=None if end is None else _end(end),
        server=_server(server_events or []),
        crash_text=crash_text,
        switched_off=any(event["event"] == "off" for event in events),
        lost_wall_s=_number(lost.get("wall_s")),
        last_wall_s=max(walls, default=None),
    )


def _kernel(recording_id: str, start: Event) -> Kernel:
    identity = _identity(start.get("process"))
    if identity is None:  # the first line is lost: the id still tells the pid, and nothing can be proved alive
        pid = recording_id.split("-")[1] if recording_id.count("-") == 2 else ""
        identity = ProcessIdentity(int(pid) if pid.isascii() and pid.isdigit() and len(pid) <= 10 else 0, -1, None)
    return _build(Kernel, {**start, "process": identity}) or Kernel(identity)


def _identity(value: Any) -> ProcessIdentity | None:
    try:
        pid, start, boot = value
        return ProcessIdentity(int(pid), float(start), boot if isinstance(boot, str) else None)
    except (TypeError, ValueError, OverflowError):
        return None


def _cells(events: list[Event]) -> tuple[Cell, ...]:
    """Pair starts and ends. An execution has a sequence number, as a cell may run many times and ends may be lost."""
    cells: dict[Any, Cell] = {}
    for event in events:
        number = _number(event.get("seq"))
        if event["event"] == "cell_start":
            cell = _build(Cell, {**event, "started_mono_s": event.get("mono_s")})
            if cell is not None:
                cells[number] = cell
        elif number in cells and event["event"] == "cell_end":
            names = ("rss_after_bytes", "peak_bytes", "peak_basis", "error", "asked_exit")
            known = {name: value for name, value in _fitting(Cell, event).items() if name in names}
            ended = _number(event.get("mono_s"))
            started = cells[number].started_mono_s
            cells[number] = replace(cells[number], ended_mono_s=started if ended is None else ended, **known)
    return tuple(cells.values())


def _end(event: Event) -> End | None:
    groups = tuple(_some(_build(CgroupDelta, entry) for entry in _list(event.get("cgroups"))))
    return _build(End, {**event, "cgroups": groups})


def _server(events: list[Event]) -> ServerView:
    """Take the first event of each kind: what comes later may be about the kernel that took the place."""
    view = ServerView()
    for event in events:
        known = _fitting(ServerView, {"requested": event.get("action"), "returncode": event.get("returncode")})
        if event["event"] == "request" and view.requested is None and "requested" in known:
            view = replace(view, requested=known["requested"], requested_wall_s=_number(event.get("wall_s")))
        elif event["event"] == "exit" and view.returncode is None and "returncode" in known:
            view = replace(view, returncode=known["returncode"])
    return view


def _build(kind: Callable[..., T], values: Any) -> T | None:
    """Make a dataclass from what its fields name; None when something it needs is missing or no object was given."""
    if not isinstance(values, dict):
        return None
    try:
        return kind(**_fitting(kind, values))
    except TypeError:
        return None


def _fitting(kind: Callable[..., Any], values: Event) -> Event:
    """Keep the values that are fields of a dataclass and of the type it declares; the rest counts as not known."""
    return {name: values[name] for name, fits in _checks(kind).items() if name in values and fits(values[name])}


@cache
def _checks(kind: Callable[..., Any]) -> dict[str, Check]:
    hints = get_type_hints(kind, localns={"ProcessIdentity": ProcessIdentity})
    return {name: _check(hint, name) for name, hint in hints.items()}


def _check(hint: Any, name: str) -> Check:
    """Return what tells whether a value is of the type; None never is, as it says nothing."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        checks = [_check(option, name) for option in get_args(hint)]
        return lambda value: value is not None and any(check(value) for check in checks)
    if origin is Literal:
        words = frozenset(get_args(hint))
        return lambda value: isinstance(value, str) and value in words
    if origin is dict:  # the only one is names to versions
        return lambda value: isinstance(value, dict) and all(isinstance(t, str) for pair in value.items() for t in pair)
    if hint is float:
        return lambda value: _number(value) is not None
    if hint is int:
        return _is_size if name.endswith("bytes") else _is_whole
    return lambda value: isinstance(value, origin or hint)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and _number(value) is not None


def _is_size(value: Any) -> bool:
    return _is_whole(value) and value >= 0


def _sample(sample: Any) -> Sample | None:
    """Keep of a sample what can be a measurement; None without a time."""
    if not isinstance(sample, Sample) or _number(sample.mono_s) is None:
        return None
    return Sample(sample.mono_s, *(value if _is_size(value) else None for value in sample[1:]))


def _some(values: Any) -> list[Any]:
    return [value for value in values if value is not None]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    """Return the value if it is a number that can have been counted: no NaN, no infinity, at most 63 bits."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1 << 63:
        return None
    return value


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(CRASH_TEXT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
