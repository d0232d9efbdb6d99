"""Starts a sidecar: the kernel does it for itself, the Jupyter server for kernels that load nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SIDECAR = Path(__file__).parent / "sidecar" / "__main__.py"


def spawn_sidecar(directory: Path, socket_fd: int, kernel_fd: int | None) -> int | None:
    """Start a sidecar as an orphan in a session of its own. Raises OSError when no process can be started.

    Return its process id, if the shell told it.

    It records into `directory`, listens to `socket_fd`, and watches `kernel_fd`, a pidfd, where there is one; both
    are inherited, not taken away.

    Orphan: user code that waits for its children, or lists them, never meets it; the shell between us is reaped at
    once. Own session: a restart kills the kernel's process group. Isolated and without site-packages: nothing of the
    user's (a `json.py` in the working directory, PYTHONPATH, .pth files) reaches it, and it stays small.
    """
    descriptors = [socket_fd] + ([] if kernel_fd is None else [kernel_fd])
    isolated = ["-I", "-S"] if sys.platform == "linux" else ["-I"]  # elsewhere the meters need psutil
    sidecar = [sys.executable, *isolated, str(SIDECAR), str(directory), *map(str, descriptors)]
    between = subprocess.Popen(
        ["/bin/sh", "-c", '"$@" >/dev/null & echo $!', "sh", *sidecar],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        pass_fds=descriptors,
    )
    said, _ = between.communicate()
    return int(said) if said.strip().isdigit() else None


def open_pidfd(pid: int) -> int | None:
    """A descriptor of a process that exists now, so that no reused pid can be mistaken for it.

    pidfd_open(2), Linux 5.3; None where there is no such thing.
    """
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
