"""Names the directories and files of recordings.

One directory per kernel process, `<root>/recordings/<UTC start>-<pid>-<6 hex>/`, mode 0700, files 0600. Each file has
one writer: the journal and the samples belong to the sidecar, the crash file to the kernel's faulthandler, the kernel
file to the kernel, the server file to the Jupyter server.
"""

import os
import re
import time
from pathlib import Path

from .private_files import make_recording

FORMAT = 1

JOURNAL = "journal.jsonl"
"""Events, one JSON object a line: the kernel's facts, cells, requests to end, the end."""

SAMPLES = "samples.jsonl"
"""Samples older than about a minute, thinned; see `samples`."""

RECENT = ("recent-0.jsonl", "recent-1.jsonl")
"""Samples at full rate, in two files that alternate, so that the last minute outlives the sidecar."""

OUTPUT = ("output-0.jsonl", "output-1.jsonl")
"""The newest text the process wrote to its file descriptors 1 and 2, in two files that alternate."""

GPU = ("gpu-0.jsonl", "gpu-1.jsonl")
"""Samples of the graphics cards, in two files that alternate."""

CRASH = "crash.txt"
"""What faulthandler writes when the kernel gets a fatal signal."""

KERNEL = "kernel.jsonl"
"""What only the kernel knows: that its sidecar is gone."""

SERVER = "server.jsonl"
"""What the Jupyter server saw: requests to restart or shut down, exit codes."""

ROW = "row.json"
"""Its row in lists, kept by whoever made it once the kernel had ended; made again when the rules are others."""

REPORT = "report.json"
"""Its report, kept in the same way where its recording is long."""

ASKED = "asked"
"""Asks a sidecar that watches many kernels for the stacks of this one. It is empty; the sidecar removes it."""

FILES = (JOURNAL, SAMPLES, *RECENT, *OUTPUT, *GPU, CRASH, KERNEL, SERVER)

O_CLOEXEC = getattr(os, "O_CLOEXEC", 0)  # Windows has none, and inherits nothing unasked

ROOT_VARIABLE = "KERNELDOCTOR_DATA_DIR"

_ID = re.compile(r"\d{8}T\d{6}Z-\d{1,10}-[0-9a-f]{6}", re.ASCII)


def data_root() -> Path:
    """Return the parent of `recordings/`: $KERNELDOCTOR_DATA_DIR, or `kerneldoctor` in Jupyter's data directory."""
    if root := os.environ.get(ROOT_VARIABLE):
        return Path(root).expanduser().absolute()  # the sidecar works in another directory
    from jupyter_core.paths import jupyter_data_dir  # noqa: PLC0415 - not needed by the sidecar, which is given a path

    return Path(jupyter_data_dir()) / "kerneldoctor"


def recordings_dir(root: Path | None = None) -> Path:
    """Return the directory that holds the directories of the recordings; it need not exist yet."""
    return (root or data_root()) / "recordings"


def new_id(pid: int) -> str:
    """Return an id for a new recording: start time in UTC, process id, six random hex digits."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{pid}-{os.urandom(3).hex()}"


def is_id(text: str) -> bool:
    """Return whether `text` has the form of a recording's id. No other text is ever joined to a path."""
    return _ID.fullmatch(text) is not None


def started_wall_s(recording_id: str) -> float | None:
    """Return the start, to the second, from an id; None for a date that does not exist."""
    from calendar import timegm  # noqa: PLC0415 - not needed by the sidecar

    try:
        return float(timegm(time.strptime(recording_id.partition("-")[0], "%Y%m%dT%H%M%SZ")))
    except ValueError:
        return None


def create(recording_id: str, root: Path | None = None) -> Path:
    """Make the directory of a new recording, readable by its owner only.

    Raises OSError when the place cannot be written, or another user could change what is written there.
    """
    directory = recordings_dir(root) / recording_id
    make_recording(directory)
    return directory
