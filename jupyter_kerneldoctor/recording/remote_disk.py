"""Data directories on file systems that ask a server, which may stop answering: then whoever touches them waits.

The kernel must never wait. So such a place is first tried by a process that is nobody's child, and what the kernel has
to write there later is written by one.
"""

from __future__ import annotations

import errno
import os
import re
import select
import subprocess
import time
from typing import TYPE_CHECKING

from .file_system_kinds import MAY_HANG

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT_S = 2.0


def is_remote(path: Path) -> bool:
    """Return whether a path lies on such a file system, by its name alone: links on the way are not followed."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
            kinds = dict(_mount(line) for line in lines if " - " in line)
    except OSError:
        return False
    for place in (path, *path.parents):
        if (kind := kinds.get(str(place))) is not None:
            return MAY_HANG.match(kind) is not None
    return False


def check_answers(path: Path, timeout_s: float = _TIMEOUT_S) -> None:
    """Wait until the file system of a path has answered. Raises OSError when it does not in time."""
    answer, says = os.pipe()
    try:
        try:
            _run_apart('ls -d "$1"; echo >&3', str(path), says)
        finally:
            os.close(says)
        poll = select.poll()
        poll.register(answer, select.POLLIN)
        begun = time.monotonic()
        if not poll.poll(timeout_s * 1000):
            waited_s = time.monotonic() - begun
            raise OSError(errno.ETIMEDOUT, f"the file system has not answered for {waited_s:.0f} s", str(path))
    finally:
        os.close(answer)


def append_line(path: Path, line: str) -> None:
    """Append a line to a file that may be on such a file system, without waiting. Raises OSError."""
    _run_apart(f'umask 077; printf "%s\\n" {_quoted(line)} >> "$1"', str(path), None)


def _run_apart(script: str, path: str, says: int | None) -> None:
    """Run a shell script as an orphan in a session of its own, which user code that waits for children never meets."""
    between = subprocess.Popen(
        ["/bin/sh", "-c", f"({script}) {'3>&1' if says is not None else ''} >/dev/null 2>&1 &", "sh", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if says is None else says,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    between.wait()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _mount(line: str) -> tuple[str, str]:
    """Return mount point and kind (proc_pid_mountinfo(5))."""
    before, _, after = line.partition(" - ")
    point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), before.split(" ")[4])
    return point, after.split(" ", 1)[0]
