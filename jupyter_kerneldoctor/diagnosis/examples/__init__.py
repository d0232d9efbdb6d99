"""Recordings in a few lines, for the examples of the rules and for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from jupyter_kerneldoctor.recording.events import Output
from jupyter_kerneldoctor.recording.model import (
    Cell,
    CgroupDelta,
    End,
    ExitRequest,
    Kernel,
    Limit,
    Recording,
    ServerView,
)
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.samples import Sample

from ..code.cellfiles import murmur2
from ..units import signal_name

MIB = 1 << 20
GIB = 1 << 30

PID = 4242
STARTED_WALL_S = 1_800_000_000.0
CELL_S = 10.0
"""Every cell of an example takes ten seconds."""


@dataclass(frozen=True)
class Group:
    """The kernel's control group in an example."""

    limit_bytes: int | None = None
    oom_kills: tuple[int | None, int | None] = (0, 0)
    limit_hits: tuple[int, int] = (0, 0)
    usage_bytes: int | None = None
    peak_bytes: int | None = None


def recording(
    *sources: str,
    signal: str | None = None,
    exit_code: int | None = None,
    end: Literal["seen", "status-unknown", "not-seen"] = "seen",
    alive: bool | None = False,
    idle: bool = False,
    memory: Sequence[int] = (),
    available_bytes: int | None = None,
    ram_bytes: int = 16 * GIB,
    groups: Sequence[Group] = (),
    server: Literal["watched", "restart", "shutdown"] | ServerView | None = None,
    request: Literal["message", "cell", "terminal"] | None = None,
    crash: str = "",
    lost: bool = False,
    output: str | Sequence[Output] = (),
    kernel_log: Sequence[str] = (),
    parent_gone: bool | None = None,
    versions: dict[str, str] | None = None,
    **evidence: Any,
) -> Recording:
    """Make a recording of a kernel that ran these cells.

    The last cell is running when the kernel ends, unless `idle`; `memory` is the kernel's resident memory, spread
    evenly over that cell; `groups` are its control groups, the own one first. `output` as text is what the process
    wrote last. All other `evidence` has the names of the fields of `Recording`, and its times are counted from the end:
    `mono_s` -0.5 is half a second before it.
    """
    cells = tuple(_cell(number, source) for number, source in enumerate(sources, 1))
    if cells and not idle and request != "cell":
        cells = (*cells[:-1], _running(cells[-1], memory))
    elif cells and request == "cell":
        cells = (*cells[:-1], replace(cells[-1], asked_exit=True))
    death_s = (len(sources) + 1) * CELL_S
    returncode = None if server is None else _returncode(signal, exit_code)
    more: dict[str, Any] = {
        name: _at_the_end(one, death_s) if isinstance(one, Sequence) else one for name, one in evidence.items()
    }
    return Recording(
        id=f"20270115T080000Z-{PID}-a1b2c3",
        kernel=Kernel(
            ProcessIdentity(PID, 100.0, "boot"), kernel_id="kernel", ram_bytes=ram_bytes, versions=versions or {}
        ),
        started_wall_s=STARTED_WALL_S,
        limits=_limits(groups, ram_bytes),
        cells=cells,
        samples=_samples(memory, death_s, available_bytes, groups),
        exit_request=None if request is None else ExitRequest(request, death_s - 0.1),
        end=None
        if alive or end == "not-seen"
        else _end(
            signal, exit_code, death_s, groups, kernel_log=kernel_log, parent_gone=parent_gone, known=end == "seen"
        ),
        server=_server(server, returncode, death_s),
        crash_text=crash,
        output=_at_the_end([Output(-0.1, 2, output)] if isinstance(output, str) else output, death_s),
        lost_wall_s=STARTED_WALL_S + death_s if lost else None,
        last_wall_s=STARTED_WALL_S + death_s,
        alive=alive,
        **more,
    )


def crash_report(message: str, *frames: tuple[str, int, str], cut: bool = False) -> str:
    """Make what faulthandler writes; a frame is (file, line, function), innermost first."""
    lines = [f'  File "{file}", line {line} in {function}' for file, line, function in frames]
    more = ["  ..."] if cut else []
    header = "Current thread 0x00007f97affff6c0 (most recent call first):"
    return "\n".join([f"Fatal Python error: {message}", "", header, *lines, *more, ""])


def crash_in(source: str, *inner: tuple[str, int, str], line: int = 1, message: str = "Segmentation fault") -> str:
    """Make what faulthandler writes of a crash at a line of a cell; `inner` are the functions called there."""
    return crash_report(message, *inner, (cell_file(source), line, "<module>"))


def cell_file(source: str) -> str:
    """Return the name ipykernel gives the file of a cell."""
    return f"/tmp/ipykernel_{PID}/{murmur2(source)}.py"  # noqa: S108 - a name in a traceback, no file


def _cell(number: int, source: str) -> Cell:
    started = number * CELL_S
    return Cell(
        source,
        execution_count=number,
        cell_id=f"cell-{number}",
        started_mono_s=started,
        ended_mono_s=started + CELL_S - 1,
        rss_before_bytes=100 * MIB,
        rss_after_bytes=100 * MIB,
        peak_bytes=100 * MIB,
        peak_basis="exact",
        seq=number,
    )


def _running(cell: Cell, memory: Sequence[int]) -> Cell:
    before = memory[0] if memory else cell.rss_before_bytes
    cell = replace(cell, rss_before_bytes=before, ended_mono_s=None)
    return replace(cell, rss_after_bytes=None, peak_bytes=None, peak_basis=None)


def _limits(groups: Sequence[Group], ram_bytes: int) -> tuple[Limit, ...]:
    own = [one.limit_bytes for one in groups if one.limit_bytes]
    of_groups = (Limit("cgroup", "container limit", limit, "/sys/fs/cgroup/memory.max") for limit in own)
    return (*of_groups, Limit("ram", "the machine's memory", ram_bytes, "/proc/meminfo MemTotal"))


def _samples(
    memory: Sequence[int], death_s: float, available_bytes: int | None, groups: Sequence[Group]
) -> tuple[Sample, ...]:
    step = CELL_S / max(1, len(memory))
    kills = groups[0].oom_kills[0] if groups else None
    return tuple(
        Sample(death_s - CELL_S + (position + 0.9) * step, rss, rss + 20 * MIB, available_bytes, kills)
        for position, rss in enumerate(memory)
    )


def _server(
    seen: Literal["watched", "restart", "shutdown"] | ServerView | None, returncode: int | None, death_s: float
) -> ServerView:
    if isinstance(seen, ServerView):
        return seen
    requested = None if seen in (None, "watched") else seen
    return ServerView(requested, requested_wall_s=STARTED_WALL_S + death_s - 1, returncode=returncode)  # type: ignore[arg-type]


def _at_the_end(events: Sequence[Any], death_s: float) -> tuple[Any, ...]:
    """Give the events their place on the recording's clock."""
    return tuple(_shifted(event, death_s) for event in events)


def _shifted(event: Any, death_s: float) -> Any:
    times = [field.name for field in fields(event) if field.name.endswith("mono_s")]
    moved: dict[str, Any] = {name: getattr(event, name) + death_s for name in times if getattr(event, name) is not None}
    if getattr(event, "surroundings", None) is not None:
        moved["surroundings"] = _shifted(event.surroundings, death_s)
    return replace(event, **moved)


def _end(
    signal: str | None,
    exit_code: int | None,
    death_s: float,
    groups: Sequence[Group],
    *,
    kernel_log: Sequence[str],
    parent_gone: bool | None,
    known: bool,
) -> End:
    deltas = tuple(_delta(group, depth) for depth, group in enumerate(groups))
    wall_s = STARTED_WALL_S + death_s
    if not known:
        return End("unknown", death_s, wall_s, cgroups=deltas, kernel_log=tuple(kernel_log), parent_gone=parent_gone)
    kind: Literal["signal", "exit"] = "exit" if signal is None else "signal"
    code, source = exit_code if signal is None else None, f"/proc/{PID}/stat exit_code"
    return End(kind, death_s, wall_s, signal, code, source, deltas, tuple(kernel_log), parent_gone)


def _delta(group: Group, depth: int) -> CgroupDelta:
    path = "/" if depth else "/kernel"
    source = f"/sys/fs/cgroup{path.rstrip('/')}/memory.events"
    counts = (*group.oom_kills, *group.limit_hits)
    return CgroupDelta(path, source, *counts, group.usage_bytes, group.limit_bytes, group.peak_bytes)


def _returncode(signal: str | None, exit_code: int | None) -> int | None:
    if signal is None:
        return exit_code
    return next((-number for number in range(1, 65) if signal_name(number) == signal), None)
