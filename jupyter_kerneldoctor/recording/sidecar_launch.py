"""Starts the sidecar that writes a recording: for the kernel itself, or for the Jupyter server."""

import os
import subprocess
import sys
from pathlib import Path

from .private_files import is_own

SIDECAR = Path(__file__).parent.parent / "sidecar" / "__main__.py"
REPORT_VARIABLE = "KERNELDOCTOR_REPORT"
"""Set to `stderr` by the user: a kernel that died is reported where its client prints errors."""

REPORT_FD_VARIABLE = "KERNELDOCTOR_REPORT_FD"
"""Tells the sidecar which of the descriptors that it inherits that is."""

_PROGRAM = "/jupyter_kerneldoctor/sidecar/__main__.py"
"""A kernel may run another installation of this package than the server."""


def directory_of(pid: int) -> Path | None:
    """Return the directory that a process records into; None if it is no sidecar of this user's."""
    try:
        if not is_own(os.stat(f"/proc/{pid}")):
            return None
        words = [os.fsdecode(word) for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    except OSError:
        return None
    programs = [place for place, word in enumerate(words[:-1]) if word.endswith(_PROGRAM)]
    return Path(words[programs[0] + 1]) if programs else None


def spawn_sidecar(directory: Path, socket_fd: int, kernel_fd: int | None, report_fd: int | None = None) -> int | None:
    """Start a sidecar as an orphan in a session of its own; return its process id, or None where that is unknown.

    It records into `directory`, listens to `socket_fd`, and watches `kernel_fd`, a pidfd, where there is one. Where the
    user wants that, it reports a death to `report_fd`. It inherits these descriptors; closing ours is up to the caller.
    Raises OSError when no process can be started.

    It is an orphan, so that user code that waits for or lists its children never sees it; the shell in between ends at
    once. It has a session of its own, because a restart kills the kernel's process group. It runs isolated and without
    site-packages, so that it stays small and nothing of the user's affects it: a `json.py` in the working directory,
    PYTHONPATH, .pth files.
    """
    descriptors = [socket_fd] + ([] if kernel_fd is None else [kernel_fd])
    isolated = ["-I", "-S"] if sys.platform == "linux" else ["-I"]  # elsewhere the meters need psutil
    sidecar = [sys.executable, *isolated, str(SIDECAR), str(directory), *map(str, descriptors)]
    environment = None if report_fd is None else {**os.environ, REPORT_FD_VARIABLE: str(report_fd)}
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
