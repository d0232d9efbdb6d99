"""Starts the sidecar that writes a recording: for the kernel itself, or for the Jupyter server."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from .layout import JOURNAL
from .private_files import is_own

SIDECAR = Path(__file__).parent.parent / "sidecar" / "__main__.py"
REPORT_VARIABLE = "KERNELDOCTOR_REPORT"
"""Set to `stderr` by the user: a kernel that died is reported where its client prints errors."""

REPORT_FD_VARIABLE = "KERNELDOCTOR_REPORT_FD"
"""Tells the sidecar which of the descriptors that it inherits that is."""

SHARED = "--shared"
"""Stands in the place of the directory where a sidecar watches many kernels."""

_PROGRAM = "/jupyter_kerneldoctor/sidecar/__main__.py"
"""A kernel may run another installation of this package than the server."""


def told_to_sidecar(pid: int) -> str | None:
    """Return what the sidecar with this process id was told to record: a directory, or `SHARED`.

    None if it is no sidecar of this user's.
    """
    try:
        if not is_own(os.stat(f"/proc/{pid}")):
            return None
        words = [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    except OSError:
        return None
    programs = [place for place, word in enumerate(words[:-1]) if word.endswith(_PROGRAM)]
    return words[programs[0] + 1] if programs else None


def directory_of(pid: int, kernel_pid: int) -> Path | None:
    """Return the directory that a process records a kernel into; None if it is no sidecar of this user's.

    One that watches many kernels has the journals of all of them open.
    """
    told = told_to_sidecar(pid)
    if told == SHARED:
        return _among_open_journals(pid, kernel_pid)
    return None if told is None else Path(told)


def _among_open_journals(pid: int, kernel_pid: int) -> Path | None:
    found = []
    with suppress(OSError):  # it has ended
        for link in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):  # closed meanwhile
                path = Path(os.readlink(link.path))
                if path.name == JOURNAL and path.parent.name.split("-")[1:2] == [str(kernel_pid)]:
                    found.append(path.parent)
    return max(found, key=lambda directory: directory.name, default=None)


def spawn_sidecar(
    directory: Path | str, socket_fd: int, kernel_fd: int | None, report_fd: int | None = None
) -> int | None:
    """Start a sidecar as an orphan in a session of its own; return its process id, or None where that is unknown.

    It records into `directory`, listens to `socket_fd`, and watches `kernel_fd`, a pidfd, where there is one. With
    `SHARED` for a directory it is told by that socket what to record. Where the user wants that, it reports a death to
    `report_fd`. It inherits these descriptors; closing ours is up to the caller.
    Raises OSError when no process can be started.

    It is an orphan, so that user code that waits for or lists its children never sees it; the shell in between ends at
    once. It has a session of its own, because a restart kills the kernel's process group. It runs isolated and without
    site-packages, so that it stays small and nothing of the user's affects it: a `json.py` in the working directory,
    PYTHONPATH, .pth files.
    """
    import subprocess  # noqa: PLC0415 - half a megabyte that a sidecar, which imports this module, never needs

    descriptors = [socket_fd] + ([] if kernel_fd is None else [kernel_fd])
    sidecar = sidecar_command(directory, *descriptors)
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": str(256 * 1024)}  # else glibc keeps half a megabyte
    if report_fd is not None:
        environment[REPORT_FD_VARIABLE] = str(report_fd)
    if directory == SHARED:  # else glibc gives each thread a heap of its own, of half a megabyte
        environment["MALLOC_ARENA_MAX"] = "1"
    between = subprocess.Popen(
        ["/bin/sh", "-c", '"$@" >/dev/null & echo $!', "sh", *sidecar],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        pass_fds=descriptors + ([] if report_fd is None else [report_fd]),
        env=environment,
    )
    said, _ = between.communicate()
    return int(said) if said.strip().isdigit() else None


def sidecar_command(directory: Path | str, *descriptors: int) -> list[str]:
    """Return the command line of a sidecar."""
    isolated = ["-I", "-S"] if sys.platform == "linux" else ["-I"]  # elsewhere the meters need psutil
    return [sys.executable, *isolated, str(SIDECAR), str(directory), *map(str, descriptors)]
