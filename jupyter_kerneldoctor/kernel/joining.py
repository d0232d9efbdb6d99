"""Finds the sidecar that the Jupyter server started for this kernel, so that both write one recording."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ..recording.kernel_lock import lock_name, peer_credentials
from ..recording.private_files import is_own_directory
from ..recording.processes import identify
from ..recording.sidecar_launch import directory_of

if TYPE_CHECKING:
    from pathlib import Path

_asked = False
"""The server may have begun only the first recording of a process; later ones begin after ours was switched off."""


class Joined(NamedTuple):
    """The connection to a sidecar that watches this kernel already."""

    link: socket.socket
    directory: Path


def join() -> Joined | None:
    """Connect to the sidecar that watches this process; None when there is none. Never waits, never raises."""
    global _asked  # noqa: PLW0603 - one process, one answer
    if sys.platform != "linux" or _asked:
        return None
    _asked = True
    identity = identify(os.getpid())
    if identity is None:
        return None
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with suppress(OSError):
        link.setblocking(False)
        link.connect(lock_name(identity))
        pid, uid = peer_credentials(link)
        directory = directory_of(pid, os.getpid()) if uid == os.geteuid() else None
        if directory is not None and is_own_directory(directory):
            return Joined(link, directory)
    link.close()
    return None
