"""What a kernel is doing (the document of `reports.inspection`), as text for a terminal."""

from collections.abc import Iterable
from typing import Any

from jupyter_kerneldoctor.recording.model import Recording

from ..diagnosis.analysis.last_look import last_look
from ..diagnosis.units import cell_name, duration, plural, quote, size
from .printable import one_line, visible

_SHOWN = 12
"""Frames of a thread; those in cells are shown in any case."""

_OTHERS = 5
"""Running kernels to name besides the one that was inspected."""


def render(document: dict[str, Any]) -> str:
    """Return the cell, the threads with the main one first, and the child processes."""
    user_threads = [thread for thread in document["threads"] if not thread["serves_the_kernel"] and thread["frames"]]
    stuck = document.get("stuck")
    lines = [*([stuck, ""] if stuck else []), *_head(document), ""]
    for thread in user_threads or document["threads"][:1]:
        is_idle = document["cell"] is None and thread["main"]
        lines += [_title(thread), *(() if is_idle else _frames(thread["frames"])), ""]
    lines += _rest(document["threads"], user_threads)
    for child in document["children"]:
        lines += [_child_title(child), *_frames(child["frames"]), ""]
    if document["no_stacks"]:
        lines += [f"Python functions cannot be shown: {document['no_stacks']}.", ""]
    if stuck:
        lines += [f"What to change: `jupyter kerneldoctor report {one_line(document['recording'])}`."]
    return visible("\n".join(lines).rstrip())


def others(recordings: list[Recording], now_mono_s: float) -> str:
    """Return the kernels that run besides the one that was inspected, on one line."""
    shown = [f"{recording.id} ({_state(recording, now_mono_s)})" for recording in recordings[:_OTHERS]]
    more = len(recordings) - _OTHERS
    return f"Other running kernels: {', '.join(shown)}{f' and {more} more' if more > 0 else ''}."


def _state(recording: Recording, now_mono_s: float) -> str:
    if recording.stopped_early or not recording.recorder_alive:
        return "not being recorded"
    cell = recording.running_cell
    if cell is None:
        return "idle"
    waits = "" if last_look(recording) is None else "waiting "
    return f"{waits}in {cell_name(cell.execution_count)} for {duration(now_mono_s - cell.started_mono_s)}"


def _head(document: dict[str, Any]) -> list[str]:
    kernel = f"Kernel {document['pid']}" + (f" ({document['notebook']})" if document["notebook"] else "")
    cell = document["cell"]
    if cell is None:
        return [f"{kernel} is not running a cell."]
    since = f"{kernel} has been running {cell_name(cell['execution_count'])} for {duration(cell['running_s'])}"
    if cell["line"] is None:
        return [f"{since}."]
    inner = next((one for thread in document["threads"][:1] for one in thread["frames"] if one["code"]), None)
    if inner is None or inner["execution_count"] == cell["execution_count"]:
        return [f"{since}. It is in line {cell['line']}:", f"    {cell['line_source'].strip()}"]
    return [f"{since}. It is in {cell_name(inner['execution_count'])}, line {inner['line']}:", f"    {inner['code']}"]


def _title(thread: dict[str, Any]) -> str:
    name = "The thread that runs the cells" if thread["main"] else f"Thread {thread['name'] or thread['thread_id']}"
    return f"{name} {thread['doing']}{_kernel_function(thread)}."


def _child_title(child: dict[str, Any]) -> str:
    kind = ", a fork of the kernel," if child["forked"] else ""
    figures = [size(child["rss_bytes"])] if child["rss_bytes"] else []
    figures += [f"{duration(child['cpu_s'])} of processor time"] if child["cpu_s"] is not None else []
    name = f" ({child['name']})" if child["name"] else ""
    so_far = f" So far: {', '.join(figures)}." if figures else ""
    return f"Child process {child['pid']}{name}{kind} {child['doing']}{_kernel_function(child)}.{so_far}"


def _kernel_function(waiting: dict[str, Any]) -> str:
    return f" ({waiting['waits_in']} in Linux)" if waiting["waits_in"] else ""


def _frames(frames: list[dict[str, Any]]) -> Iterable[str]:
    for number, frame in enumerate(frames):
        if number >= _SHOWN and not frame["in_cell"]:
            continue
        place = cell_name(frame["execution_count"]) if frame["in_cell"] else frame["short_file"]
        line = "" if frame["line"] is None else f", line {frame['line']}"
        code = f": {quote(frame['code'])}" if frame["code"] else ""
        yield f"    {frame['function']} ({place}{line}){code}"


def _rest(threads: list[dict[str, Any]], shown: list[dict[str, Any]]) -> list[str]:
    """Return one sentence on the threads of the kernel and of libraries."""
    kernel = sum(thread["serves_the_kernel"] for thread in threads)
    native = sum(not thread["frames"] and thread not in shown[:1] for thread in threads)
    parts = [f"{plural(kernel, 'thread')} of the kernel itself"] if kernel else []
    parts += [f"{plural(native, 'thread')} without Python code"] if native and shown else []
    return [f"Not shown: {' and '.join(parts)}.", ""] if parts else []
