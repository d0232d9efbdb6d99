"""A sidecar without a kernel: it watches any process."""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.recording.sidecar_launch import spawn_sidecar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def record(pid: int, data_root: Path) -> tuple[Path, socket.socket]:
    """Begin to record a process; return the recording's directory and the socket to its sidecar."""
    directory = layout.create(layout.new_id(pid), data_root)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    send(ours, {"event": "start", "process": identify(pid), "mono_s": time.monotonic(), "wall_s": time.time()})
    spawn_sidecar(directory, theirs.fileno(), None)
    theirs.close()
    wait_for(lambda: read(directory).sidecar is not None)
    return directory, ours


def send(link: socket.socket, event: Any) -> None:
    """Send an event as the kernel would."""
    link.send(json.dumps(event).encode())


def wait_for(is_so: Callable[[], object]) -> None:
    """Wait until something is so, for 20 s at most."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
