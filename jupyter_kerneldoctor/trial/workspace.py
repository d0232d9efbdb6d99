"""The directory that a trial works in: its copy of the notebook's files, and its recording. Nothing of it stays."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..recording import newest_cell
from ..recording.layout import ROOT_VARIABLE
from ..recording.private_files import is_own_directory
from .directory import NAME

_GONE_S = 5.0


@contextmanager
def workspace() -> Iterator[Path]:
    """Yield a new directory on a disk, where there is one: what lies in memory would count towards the limit.

    A process that is killed cannot clean up after itself, so each trial first removes what killed ones have left.
    """
    disk = os.environ.get("TMPDIR") or "/var/tmp"  # noqa: S108 - mkdtemp makes a private directory there
    parent = Path(disk if os.access(disk, os.W_OK) else tempfile.gettempdir())
    remove_abandoned(parent)
    work = Path(tempfile.mkdtemp(prefix=NAME, dir=parent))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        with suppress(OSError):  # a file system without locks, where nothing is taken for abandoned, either
            stack.enter_context(_locked(work))
        yield work


def remove_abandoned(parent: Path) -> None:
    """Remove the directories of this user's trials whose process is gone, and end what runs of them still."""
    for path in parent.glob(f"{NAME}*"):
        with suppress(OSError):  # BlockingIOError: that trial is alive
            if is_own_directory(path) and time.time() - path.lstat().st_mtime > _GONE_S:  # else it may lock it only now
                with _locked(path):
                    end_processes(path)
                    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a trial's directory; the system gives it back when the process ends. Raises OSError."""
    import fcntl  # noqa: PLC0415 - Windows has none

    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def end_processes(work: Path) -> None:
    """End what the trial started and left running, sidecars last: they record the end of the others."""
    mark = f"{ROOT_VARIABLE}={work / 'data'}".encode()
    deadline = time.monotonic() + _GONE_S
    while (left := list(_marked(mark))) and time.monotonic() < deadline:
        for pid, is_sidecar in left:
            if not is_sidecar or time.monotonic() > deadline - _GONE_S / 2:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for recording_id in newest_cell.ids():  # what a recorder that was killed left in memory
        if (work / "data" / "recordings" / recording_id).exists():
            newest_cell.discard(recording_id)


def _marked(mark: bytes) -> Iterator[tuple[int, bool]]:
    """Yield the processes with a mark in their environment, and whether they are recorders."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with suppress(OSError):
            if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                command = Path(f"/proc/{name}/cmdline").read_bytes()
                yield int(name), b"jupyter_kerneldoctor/sidecar" in command
