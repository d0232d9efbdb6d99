"""Reads a recording from disk. Whatever is damaged or missing is left out; no content makes reading fail."""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .cell_events import cells_of, seen_by_server, unheard_events
from .decode import build, build_all, number
from .events import (
    Child,
    Framework,
    Gpu,
    GpuDriver,
    GpuSample,
    Growth,
    Held,
    Incident,
    Namespace,
    Output,
    Stack,
    Stuck,
    SystemState,
    ThreadError,
    Xid,
)
from .journal import read_events, read_lines
from .layout import CRASH, GPU, JOURNAL, KERNEL, OUTPUT, SERVER
from .memory_wait import waits_for_memory
from .model import End, ExitRequest, Kernel, Limit, Recording, ServerView
from .private_files import read_part
from .processes import ProcessIdentity, boot_id, identity_of, is_alive, namespaces
from .samples import Sample, read_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

T = TypeVar("T")
Event = dict[str, Any]

CRASH_TEXT_BYTES = 256 * 1024
"""How much of the crash file is read: faulthandler writes at most 100 frames for each thread."""

_NAMESPACES = 200
"""How many of the newest lists of the user's variables are read: old ones help nobody."""

LAST_WORDS_S = 5.0
"""How long before the end a crash may have been reported: output is dated when the sidecar reads it, every 2 s."""


SILENT_S = 60.0
"""The sidecar of a living kernel writes every few seconds. One that has not for so long has ended."""

_STOPPED_S = 5.0
"""One that has not for so long may have been stopped at the memory limit that it shares with the kernel."""


def read(directory: Path) -> Recording:
    """Read the recording in `directory`; an empty or foreign directory gives a recording without content."""
    journal = read_events(directory / JOURNAL)
    return assemble(
        directory.name,
        [*journal, *unheard_events(journal, read_events(directory / KERNEL))],
        server_events=read_events(directory / SERVER),
        samples=read_samples(directory),
        crash_text=_read_text(directory / CRASH),
        output=[line for name in OUTPUT for line in read_lines(directory / name)],
        gpu_samples=[line for name in GPU for line in read_lines(directory / name)],
    )


def observe(recording: Recording) -> Recording:
    """Add what is not on disk: whether kernel and sidecar live, and whether the machine was rebooted since.

    Where the sidecar did not live to write the whole end, what it wrote first is the end.
    """
    seen = _observed(recording)
    return seen if seen.end is not None or seen.recorder_alive else replace(seen, end=seen.end_begun)


def _observed(recording: Recording) -> Recording:
    process = recording.kernel.process
    if process.pid <= 0:
        return replace(recording, alive=None)
    boot = boot_id()
    rebooted = None if None in (boot, process.boot_id) else boot != process.boot_id
    if recording.kernel.hostname not in (None, platform.node()):  # another machine, or another container of this one
        is_gone = recording.last_wall_s is not None and not _is_written(recording)
        return replace(recording, alive=False if is_gone else None, rebooted=None if rebooted else rebooted)
    recorder = None if recording.sidecar is None else is_alive(recording.sidecar)
    alive = is_alive(process)
    if not alive and recording.kernel.namespaces not in ((), tuple(namespaces())) and _is_written(recording):
        return replace(recording, alive=None, rebooted=rebooted)
    silent_s = time.monotonic() - recording.samples[-1].mono_s if alive and recording.samples else None
    seen = replace(recording, alive=alive, recorder_alive=recorder, rebooted=rebooted, silent_s=silent_s)
    if silent_s is None or silent_s < _STOPPED_S:
        return seen
    now = waits_for_memory(recording.limits, time.monotonic())
    return seen if now is None else replace(seen, system_states=(*seen.system_states, now))


def _is_written(recording: Recording) -> bool:
    """Return whether something was written a moment ago, as far as the wall clock can be trusted."""
    return recording.last_wall_s is not None and abs(time.time() - recording.last_wall_s) < SILENT_S


def assemble(
    recording_id: str,
    events: list[Event],
    *,
    server_events: list[Event] | None = None,
    samples: tuple[Sample, ...] = (),
    crash_text: str = "",
    output: Iterable[Any] = (),
    gpu_samples: Iterable[Any] = (),
) -> Recording:
    """Build a recording from the events of the journal, the kernel and the server, and the other files' lines."""
    by_kind: dict[str, list[Event]] = {}
    for event in events:
        by_kind.setdefault(event["event"], []).append(event)

    def newest(kind: str) -> Event:
        return by_kind.get(kind, [{}])[-1]

    def all_of(kind: str, into: Callable[..., T]) -> tuple[T, ...]:
        return build_all(into, by_kind.get(kind))

    start = _start(by_kind.get("start", []))
    cells, queued = cells_of([*events, *seen_by_server(start, server_events or [], newest("end"))])
    request = by_kind.get("exit_request", [None])[0]
    gpus = newest("gpus")
    log = newest("kernel_log")
    kernel = _kernel(recording_id, start)
    end = build(End, _end(newest("end") or (newest("end_begun") if log else {}), log, kernel.process.pid))
    words = tuple(sorted(build_all(Output, list(output)), key=lambda piece: piece.mono_s))
    walls = [wall_s for event in events if (wall_s := number(event.get("wall_s"))) is not None]
    return Recording(
        id=recording_id,
        kernel=kernel,
        sidecar=identity_of(start.get("sidecar")),
        started_mono_s=number(start.get("mono_s")) or 0.0,
        started_wall_s=number(start.get("wall_s")) or 0.0,
        limits=build_all(Limit, newest("limits").get("limits")),
        cells=cells,
        queued=queued,
        samples=samples,
        exit_request=build(ExitRequest, request),
        end=end,
        end_begun=build(End, newest("end_begun") or None),
        server=_server(server_events or []),
        crash_text=crash_text or _crash_text(words, end),
        output=words,
        stacks=all_of("stack", Stack),
        no_stacks=_text(newest("no_stacks").get("why")),
        not_locked=_text(newest("not_locked").get("why")),
        system_states=all_of("surroundings", SystemState),
        children=all_of("child_end", Child),
        stuck=all_of("stuck", Stuck),
        incidents=all_of("incident", Incident),
        thread_errors=all_of("thread_error", ThreadError),
        namespaces=build_all(Namespace, by_kind.get("namespace", [])[-_NAMESPACES:]),
        held=build_all(Held, by_kind.get("held", [])[-_NAMESPACES:]),
        growths=tuple({one.cell_seq: one for one in all_of("growth", Growth)}.values()),
        frameworks=all_of("framework", Framework),
        gpu_driver=build(GpuDriver, gpus.get("driver")),
        gpus=build_all(Gpu, gpus.get("devices")),
        gpu_samples=tuple(sorted(build_all(GpuSample, list(gpu_samples)), key=lambda sample: sample.mono_s)),
        xids=all_of("xid", Xid),
        switched_off="off" in by_kind,
        lost_wall_s=number(by_kind.get("lost", [{}])[0].get("wall_s")),
        last_wall_s=max([*walls, *_sampled_wall_s(newest("clock") or start, samples)], default=None),
    )


def _start(events: list[Event]) -> Event:
    """Merge the start events: a kernel may join a recording that the server began, and adds what it knows.

    The first event dates the recording. Of two facts the last counts: `loaded_by`, as "server" stands for a kernel that
    never joined, and `sidecar`, as another may have taken the recording up.
    """
    merged: Event = {}
    for event in events:
        merged.update({name: event[name] for name in ("loaded_by", "sidecar") if event.get(name) is not None})
        merged.update({name: value for name, value in event.items() if value is not None and name not in merged})
    return merged


def _sampled_wall_s(clock: Event, samples: tuple[Sample, ...]) -> Iterator[float]:
    """Yield when the newest sample was taken, by an event with both times: it may be much newer than all events."""
    mono_s, wall_s = number(clock.get("mono_s")), number(clock.get("wall_s"))
    if samples and mono_s is not None and wall_s is not None:
        yield wall_s + max(sample.mono_s for sample in samples) - mono_s


def _kernel(recording_id: str, start: Event) -> Kernel:
    identity = identity_of(start.get("process"))
    if identity is None:  # the first line is lost: the id still has the pid, and nothing shows that it lives
        pid = recording_id.split("-")[1] if recording_id.count("-") == 2 else ""
        identity = ProcessIdentity(int(pid) if pid.isascii() and pid.isdigit() and len(pid) <= 10 else 0, -1, None)
    return build(Kernel, {**start, "process": identity}) or Kernel(identity)


def _end(end: Event, log: Event, pid: int) -> Event | None:
    """Return the end, with what the operating system logged of it; its log alone may tell of one, too."""
    late = {"kernel_log": log["lines"]} if "lines" in log and "kernel_log" not in end else {}
    return {**(end or {**log, **_logged_status(late, pid)}), **late} if end or late else None


def _logged_status(log: Event, pid: int) -> Event:
    """Return the status of a process whose kill the operating system logged; it is unknown otherwise."""
    if any(f"Killed process {pid} " in str(line) for line in log.get("kernel_log") or ()):
        return {"kind": "signal", "signal": "SIGKILL", "source": "the system's log"}
    return {"kind": "unknown"}


def _crash_text(words: tuple[Output, ...], end: End | None) -> str:
    """Return what faulthandler wrote if the user enabled it: in a kernel that goes to file descriptor 2."""
    if end is None or end.kind == "exit":
        return ""
    late = (piece.text for piece in words if piece.fd == 2 and end.mono_s - piece.mono_s < LAST_WORDS_S)
    _, header, report = "".join(late).partition("Fatal Python error: ")
    return header + report


def _server(events: list[Event]) -> ServerView:
    """Take the first event of each kind: later ones may be about the kernel that was started next."""
    view: Event = {}
    for event in events:
        if event["event"] == "request_failed":
            view = {name: value for name, value in view.items() if name not in _SERVER_FIELDS["request"]}
        names = _SERVER_FIELDS.get(event["event"], {})
        known = {name: event.get(key) for name, key in names.items() if event.get(key) is not None}
        if not any(name in view for name in known):
            view.update(known)
    return build(ServerView, view) or ServerView()


_SERVER_FIELDS = {
    "request": {"requested": "action", "requested_by": "by", "requested_wall_s": "wall_s"},
    "exit": {"returncode": "returncode"},
    "restarted": {"restarted": "automatic"},
    "start_failed": {
        "never_ready": "never_ready",
        "start_error": "error",
        "start_command": "command",
        "stderr": "stderr",
    },
    "server_end": {"ended_wall_s": "wall_s"},
}
"""Which fields of `ServerView` an event sets, and from which of its own."""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read_text(path: Path) -> str:
    try:
        return read_part(path, 0, CRASH_TEXT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
