"""A recording as a list of events in order of time, without any judgement."""

from collections.abc import Iterator
from typing import NamedTuple

from jupyter_kerneldoctor.diagnosis.code.cellfiles import CellFiles, user_line
from jupyter_kerneldoctor.diagnosis.postmortem import iso
from jupyter_kerneldoctor.diagnosis.units import cell_name, duration, plural, quote, size
from jupyter_kerneldoctor.recording.events import Child, Frame, Held, Incident, NamedObject, Namespace, Stuck
from jupyter_kerneldoctor.recording.layout import started_wall_s
from jupyter_kerneldoctor.recording.model import Cell, End, Recording

from .printable import one_line
from .wording import timestamp

_FRAMES = 3
_OBJECTS = 5
_LONGEST_TEXT = 120


class _Entry(NamedTuple):
    mono_s: float
    text: str


def render(recording: Recording) -> str:
    """Return what is known of the kernel, then each event with the seconds since the start."""
    entries = sorted(_entries(recording), key=lambda entry: entry.mono_s)
    start = recording.started_mono_s
    lines = [f"{entry.mono_s - start:10.2f} s  {one_line(entry.text)}" for entry in entries]
    return "\n".join(
        [*(one_line(line) for line in _facts(recording)), "", *lines, *(one_line(line) for line in _last(recording))]
    )


def _facts(recording: Recording) -> Iterator[str]:
    kernel, knows_its_start = recording.kernel, bool(recording.started_wall_s)
    yield f"Recording {recording.id}"
    name = kernel.kernel_id or ("of IPython in a terminal" if knows_its_start else "unknown")
    starter = f", started by {kernel.started_by}" if kernel.started_by else ""
    yield f"Kernel {name}, process {kernel.process.pid or 'none'}{starter}"
    if kernel.notebook:
        yield f"Notebook {kernel.notebook}"
    versions = [f"Python {kernel.python}" if kernel.python else "", *(f"{k} {v}" for k, v in kernel.versions.items())]
    if known := [*filter(None, versions), *([f"on {kernel.hostname}"] if kernel.hostname else [])]:
        yield ", ".join(known)
    started = timestamp(iso(recording.started_wall_s or started_wall_s(recording.id)))
    starter = f", {_STARTERS[kernel.loaded_by]}" if knows_its_start else ""
    yield f"Started {started or 'at an unknown time'}{starter}"
    for limit in recording.limits:
        yield f"Limit: {limit.name}, {size(limit.bytes)} ({limit.source})"
    driver = recording.gpu_driver
    if driver is not None:
        said = f", {driver.error}" if driver.error else ""
        yield f"GPU driver {driver.version or '?'}, CUDA {driver.cuda or '?'}{said}"
    for card in recording.gpus:
        yield f"GPU {card.index}: {card.name or 'unnamed'}{f', {size(card.total_bytes)}' if card.total_bytes else ''}"


_STARTERS = {
    "startup": "loaded when the kernel started",
    "magic": "loaded by `%load_ext kerneldoctor`",
    "server": "by the Jupyter server",
}


def _entries(recording: Recording) -> Iterator[_Entry]:
    yield from _cells(recording)
    yield from _from_processes(recording)
    yield from _from_memory(recording)
    yield from _system_states(recording)
    for piece in recording.output:
        yield _Entry(piece.mono_s, f"written to {_STREAMS[piece.fd]}: {quote(piece.text.strip(), _LONGEST_TEXT)}")
    if recording.exit_request is not None:
        yield _Entry(recording.exit_request.mono_s, f"asked to end by {_ASKED_BY[recording.exit_request.by]}")
    if recording.end is not None:
        yield _Entry(recording.end.mono_s, _end(recording, recording.end))


def _from_processes(recording: Recording) -> Iterator[_Entry]:
    files = CellFiles(recording.cells)
    for stack in recording.stacks:
        for thread in stack.threads[:1]:
            shown = _frames(files, thread.frames)
            yield _Entry(stack.mono_s, f"stack ({stack.reason.replace('_', ' ')}): {shown}")
    for child in recording.children:
        yield _Entry(child.mono_s, _child(child))
    for stuck in recording.stuck:
        yield _Entry(stuck.mono_s, _stuck(files, stuck))


def _from_memory(recording: Recording) -> Iterator[_Entry]:
    for incident in recording.incidents:
        yield _Entry(incident.mono_s, _incident(incident))
    looks: tuple[Namespace | Held, ...] = (*recording.namespaces, *recording.held)
    for look in looks:
        if look.objects:
            biggest = ", ".join(_object(found) for found in look.objects[:_OBJECTS])
            yield _Entry(look.mono_s, f"biggest objects: {biggest}")
    files = CellFiles(recording.cells)
    for growth in recording.growths:
        for part in growth.statements[:_OBJECTS]:
            yield _Entry(growth.mono_s, f"grew by {size(part.bytes)} in: {_frames(files, part.frames)}")
    for framework in recording.frameworks:
        figures = {"allocated": framework.allocated_bytes, "reserved": framework.reserved_bytes}
        known = [f"{size(value)} {name}" for name, value in figures.items() if value is not None]
        yield _Entry(framework.mono_s, f"{framework.name} {framework.version or ''}: {', '.join(known) or 'imported'}")
    for xid in recording.xids:
        yield _Entry(xid.mono_s, f"Xid {xid.code} of GPU {'?' if xid.index is None else xid.index}")


_STREAMS = {1: "standard output", 2: "standard error"}
_ASKED_BY = {"message": "a message", "cell": "the cell", "terminal": "the user, who closed the terminal"}


def _cells(recording: Recording) -> Iterator[_Entry]:
    for cell in recording.queued:
        if recording.end is not None:
            yield _Entry(recording.end.mono_s, f"{cell_name(cell.execution_count)} was queued")
    for cell in recording.cells:
        name, first = cell_name(cell.execution_count), cell.source.strip().partition("\n")[0]
        held = "" if cell.rss_before_bytes is None else f", {size(cell.rss_before_bytes)} in use"
        yield _Entry(cell.started_mono_s, f"{name} started{held}: {quote(first, _LONGEST_TEXT)}")
        if cell.ended_mono_s is not None:
            yield _Entry(cell.ended_mono_s, f"{name} ended{_outcome(cell)}")


def _outcome(cell: Cell) -> str:
    parts = [f" after {duration((cell.ended_mono_s or 0.0) - cell.started_mono_s)}"]
    if cell.peak_bytes is not None:
        parts.append(f"peak {size(cell.peak_bytes)}")
    if cell.rss_after_bytes is not None:
        parts.append(f"{size(cell.rss_after_bytes)} in use")
    if cell.error is not None:
        parts.append(f"with {cell.error}")
    return ", ".join(parts)


def _frames(files: CellFiles, frames: tuple[Frame, ...]) -> str:
    shown = [f"{frame.function} ({_place(files, frame)})" for frame in frames[:_FRAMES]]
    left_out = len(frames) - _FRAMES
    return " < ".join(shown) + (f" < {left_out} more" if left_out > 0 else "")


def _place(files: CellFiles, frame: Frame) -> str:
    """Return where a frame is: "cell [2], line 3", or the end of the file's path with the line."""
    cell = files.cell_of(frame)
    if cell is None:
        return f"{'/'.join(frame.file.split('/')[-2:])}:{frame.line or '?'}"
    return f"{cell_name(cell.execution_count)}, line {user_line(cell, frame)}"


def _child(child: Child) -> str:
    how = {"signal": f"was ended by {child.signal}", "exit": f"ended with exit code {child.exit_code}"}
    peak = "" if child.peak_bytes is None else f", at most {size(child.peak_bytes)}"
    kills = f"; memory kills counted meanwhile: {child.oom_kills}" if child.oom_kills else ""
    return f"child {child.pid} ({child.name or '?'}) {how.get(child.kind, 'ended in an unknown way')}{peak}{kills}"


def _stuck(files: CellFiles, stuck: Stuck) -> str:
    if stuck.over:
        return "the cell continued"
    where = f": {_frames(files, stuck.threads[0].frames)}" if stuck.threads else ""
    return f"the cell had done nothing for {duration(stuck.mono_s - stuck.since_mono_s)}{where}"


def _incident(incident: Incident) -> str:
    asked = "" if incident.asked_bytes is None else f", {size(incident.asked_bytes)} requested"
    return f"survived: {incident.error}{asked}{f': {incident.signature}' if incident.signature else ''}"


def _object(found: NamedObject) -> str:
    shape = f" {'x'.join(map(str, found.shape))}" if found.shape else ""
    return f"{found.name} ({found.type}{shape}, {size(found.bytes)})"


def _rlimit(name: str, soft: int) -> str:
    """Return a limit of the process in words, with its unit (getrlimit(2))."""
    if name == "NOFILE":
        return f"at most {soft} open files"
    if name == "NPROC":
        return f"at most {soft} threads and processes of this user"
    if name == "CPU":
        return f"processor time limit {duration(soft)}"
    words = {"AS": "address space limit", "FSIZE": "file size limit"}
    return f"{words.get(name, f'{name.lower()} limit')} {size(soft)}"


def _system_states(recording: Recording) -> Iterator[_Entry]:
    for seen in recording.system_states:
        limits = ((name, limit.soft) for name, limit in seen.rlimits.items() if limit.soft is not None)
        parts = [_rlimit(name, soft) for name, soft in limits]
        parts += [] if seen.threads is None else [f"{seen.threads} threads"]
        parts += [] if seen.open_files is None else [f"{seen.open_files} open files"]
        parts += [
            f"{system.path} {size(system.free_bytes)} free of {size(system.total_bytes)}"
            for system in seen.filesystems
            if system.free_bytes is not None and system.total_bytes is not None
        ]
        parts += ["memory limit reached, no process killed"] if seen.under_oom else []
        if parts:
            yield _Entry(seen.mono_s, f"system state ({seen.when}): {', '.join(parts)}")


def _end(recording: Recording, end: End) -> str:
    how = {"signal": f"ended by {end.signal}", "exit": f"ended with exit code {end.exit_code}"}
    parts = [how.get(end.kind, "ended, exit status unknown")]
    peak = max((sample.rss_bytes or 0 for sample in recording.samples), default=0)
    parts += [f"highest sample {size(peak)}"] if peak else []
    parts += [
        f"{group.path}: memory kills {group.oom_kills_before} -> {group.oom_kills_after}, "
        f"limit hits {group.limit_hits_before} -> {group.limit_hits_after}"
        for group in end.cgroups[:1]
    ]
    parts += [f"{plural(end.lost, 'line')} of the recording could not be written"] if end.lost else []
    return "; ".join([*parts, *end.kernel_log])


def _last(recording: Recording) -> Iterator[str]:
    """Yield what has no monotonic time."""
    server = recording.server
    if server.requested is not None:
        by = f" by {server.requested_by}" if server.requested_by else ""
        yield f"The Jupyter server was asked for a {server.requested}{by}."
    if server.returncode is not None:
        yield f"The Jupyter server saw exit status {server.returncode}."
    if server.never_ready:
        yield f"The kernel never became ready. {server.start_error or ''}".rstrip()
    if recording.not_locked is not None:
        yield f"There may be another recording of this kernel: {recording.not_locked}."
    if recording.switched_off:
        yield "The recording was switched off."
    elif recording.lost_wall_s is not None:
        yield f"The kernel found its recorder gone at {timestamp(iso(recording.lost_wall_s))}."
    elif recording.end is None:
        yield _WITHOUT_END[recording.alive]


_WITHOUT_END = {
    True: "The kernel is running.",
    False: "The end was not recorded.",
    None: "Whether the kernel still runs is unknown.",
}
