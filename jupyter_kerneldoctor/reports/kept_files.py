"""Keeps beside a recording that has ended what was made of it, so that it is made once.

It is kept with what it was made from: the rules, and the files of the recording that may still change. Where any of
that is different now, it is made again.
"""

import json
import os
from binascii import crc32
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..recording.layout import JOURNAL, KERNEL, RECENT, SERVER
from ..recording.private_files import open_file_in, read_end_in, recording

Stamp = list[list[int] | None]
"""Size and time of the last change of each file in `_MAY_CHANGE`; None for one that is not there."""

_MAY_CHANGE = (JOURNAL, SERVER, KERNEL, *RECENT)


def stamp(directory: int) -> Stamp:
    """Return what the files of an open recording look like now."""
    return [_of_file(directory, name) for name in _MAY_CHANGE]


def read(directory: int, name: str, made_from: object, most_bytes: int) -> Any:
    """Return what a file of an open recording keeps; None where it is not what these rules made of this."""
    try:
        kept = json.loads(read_end_in(directory, name, most_bytes))
        return kept["made"] if kept["rules"] == rules() and kept["files"] == made_from else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write(path: Path, name: str, made: object, made_from: object, most_bytes: int) -> None:
    """Keep what was made; where that is not possible, do without."""
    data = json.dumps({"rules": rules(), "files": made_from, "made": made}).encode("ascii")
    if len(data) > most_bytes:
        return
    with suppress(OSError), recording(path) as directory:
        new = f"{name}-{os.urandom(4).hex()}"
        descriptor = open_file_in(directory, new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            if os.write(descriptor, data) == len(data):
                os.rename(new, name, src_dir_fd=directory, dst_dir_fd=directory)
        finally:
            os.close(descriptor)
            with suppress(FileNotFoundError):
                os.unlink(new, dir_fd=directory)


@cache
def rules() -> str:
    """Return a text that is another one when any module that makes what is kept was changed."""
    package = Path(__file__).parent.parent
    files = sorted(found for part in ("diagnosis", "recording", "reports") for found in _modules(package / part))
    return f"{crc32(repr(files).encode()):08x}"


def _modules(directory: Path) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(directory):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _modules(Path(entry.path))
        elif entry.name.endswith(".py"):
            status = entry.stat()
            yield f"{directory.name}/{entry.name}", status.st_size, status.st_mtime_ns


def _of_file(directory: int, name: str) -> list[int] | None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return [status.st_size, status.st_mtime_ns]
