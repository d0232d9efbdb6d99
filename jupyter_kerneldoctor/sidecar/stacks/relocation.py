"""Translates addresses of an interpreter from one process to another that runs the same interpreter.

The interpreter's state, the built-in types and None are static (Include/internal/pycore_runtime.h since 3.11), so all
lie in one file, the program or libpython. The system may map that file anywhere, but always as one piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout import Interpreter, Runtime, UnexpectedLayoutError

if TYPE_CHECKING:
    from collections.abc import Iterator

_Mapping = tuple[int, int, str]
"""From, up to, and the file."""


def locate_interpreter(runtime: Runtime) -> Interpreter:
    """Return this process's interpreter, whose addresses are known. Raises UnexpectedLayoutError, OSError."""
    mappings = list(_mappings("self"))
    file = next((file for start, end, file in mappings if start <= runtime.none < end), None)
    if file is None:
        raise UnexpectedLayoutError("the file that None is in")
    return Interpreter(runtime, file, min(start for start, _, where in mappings if where == file))


def relocated_runtime(pid: int, known: Interpreter) -> Runtime:
    """Return the addresses in another process. Raises UnexpectedLayoutError if its interpreter is another, OSError."""
    starts = [start for start, _, file in _mappings(str(pid)) if file == known.file]
    if not starts:
        raise UnexpectedLayoutError("the kernel runs another Python than it seems to")
    shift = min(starts) - known.start
    return Runtime(*(address + shift for address in known.runtime))


def _mappings(process: str) -> Iterator[_Mapping]:
    """Yield what is mapped from files. Raises OSError."""
    with open(f"/proc/{process}/maps", "rb") as lines:
        for line in lines:
            addresses, _, _, device, inode = line.split(None, 5)[:5]
            if inode != b"0":
                start, end = addresses.split(b"-")
                yield int(start, 16), int(end, 16), f"{device.decode()} {inode.decode()}"
