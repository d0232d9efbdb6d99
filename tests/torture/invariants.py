"""What must hold: each recording is readable, no answer that is called proven is wrong, and nothing stays behind."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.newest_cell import file_of
from jupyter_kerneldoctor.recording.store import Store, UnknownRecordingError
from jupyter_kerneldoctor.render import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.model import Recording

PROVEN = 0.9

WRONG = (
    *("oom-", "memory-", "gpu-", "shm-", "disk-", "fd-", "pids-"),
    *("self-kill", "exit-call", "hang", "startup-failure"),
)
"""What none of these ends is, as the beginnings of causes. A SIGSEGV from outside looks like any other."""


class Outcome(NamedTuple):
    """What came of a round: what was done, and what was wrong with it."""

    seed: int
    place: str
    disturbance: str
    end: str
    cells: int
    wrong: tuple[str, ...]


_read: dict[str, Store] = {}
"""The recordings that were read in this round."""


def newest(root: Path, *, all_of_them: bool = False) -> list[Recording]:
    """Return the newest recording, or all of them, newest first."""
    store = Store(root)
    _read.update(dict.fromkeys(store.ids(), store))
    found = sorted((store.open(one) for one in store.ids()), key=lambda recording: -recording.started_mono_s)
    return found if all_of_them else found[:1]


def judged(recording: Recording, wrong: list[str], end: str = "nothing") -> dict[str, Any]:
    """Return the post-mortem of a kernel that was killed from outside, or was not killed at all."""
    document: dict[str, Any] = diagnose(recording).to_json()
    terminal.render(document)
    if document["died"] and document["confidence"] >= PROVEN and document["cause"].startswith(WRONG):
        wrong.append(f"proven and wrong: {document['cause']} {document['confidence']} after {end}")
    return document


def signalled(pid: int, number: int) -> None:
    """Send a signal to a process that may have gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def failure(error: Exception, work: Path) -> str:
    """Return what to say of a round that did not come to its end, with what the kernels wrote last."""
    logs = "".join(log.read_text(errors="replace")[-500:] for log in work.glob("*.log"))
    return f"the round failed: {type(error).__name__}: {error} {logs}"


@contextmanager
def without_leftovers() -> Iterator[tuple[Path, list[str]]]:
    """A directory for a round, and the list of what was wrong: processes and files that stay are added to it."""
    work = Path(tempfile.mkdtemp(prefix="doctor-torture-"))
    _read.clear()
    wrong: list[str] = []
    yield work, wrong
    deadline = time.monotonic() + 10
    while (left := _naming(str(work))) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid, command in left.items():
        wrong.append(f"left behind: {command[:200]}")
        signalled(pid, signal.SIGKILL)
    delete_recordings()
    wrong += [f"left behind: {path}" for path in map(file_of, _read) if Path(path).exists()]
    shutil.rmtree(work, ignore_errors=True)


def delete_recordings() -> None:
    """Delete what was read in this round, as long as its disk is there."""
    for recording_id, store in _read.items():
        with suppress(UnknownRecordingError, OSError):
            store.delete(recording_id)


def _naming(work: str) -> dict[int, str]:
    """Return the command lines of the processes that name the directory of the round."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                command = (process / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
                if work in command:
                    found[int(process.name)] = command
    return found
