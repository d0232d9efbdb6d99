"""Where another process of the very same interpreter keeps what this one has told of itself.

What CPython is built with lies in one file, the program or libpython, and so do the interpreter's state, the types and
None, which are all static (Include/internal/pycore_runtime.h since 3.11). The system maps that file anywhere, but as
one piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout import NotUnderstoodError, Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

_Mapping = tuple[int, int, str]
"""From, up to, and the file's device and inode."""


def runtime_of(pid: int, own: Runtime) -> Runtime:
    """The addresses in that process. Raises NotUnderstoodError for another interpreter, OSError."""
    here = list(_mappings("self"))
    file = next((file for start, end, file in here if start <= own.none < end), None)
    ours = [start for start, _, where in here if where == file]
    theirs = [start for start, _, where in _mappings(str(pid)) if where == file]
    if file is None or not theirs:
        raise NotUnderstoodError("it has not mapped the recorder's interpreter")
    shift = min(theirs) - min(ours)
    return Runtime(*(address + shift for address in own))


def _mappings(process: str) -> Iterator[_Mapping]:
    """What is mapped from files (proc_pid_maps(5)). Raises OSError."""
    with open(f"/proc/{process}/maps", "rb") as lines:
        for line in lines:
            addresses, _, _, device, inode = line.split(None, 5)[:5]
            if inode != b"0":
                start, end = addresses.split(b"-")
                yield int(start, 16), int(end, 16), f"{device.decode()} {inode.decode()}"
