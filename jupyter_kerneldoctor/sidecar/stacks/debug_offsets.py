"""Reads where this interpreter keeps threads and frames from the table it has for debuggers, `_Py_DebugOffsets`.

CPython has the table since 3.13, at the start of `_PyRuntime` (Include/internal/pycore_debug_offsets.h). It consists of
words: a mark, the version, and for each structure its size and then the offsets of its fields.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple

_MARK = b"xdebugpy"
_INTERPRETER = 6
_WORD_BYTES = 8


class _Places(NamedTuple):
    """The numbers of words in the table."""

    thread: int
    native_id: int
    frame: int


# Each minor version has its own table; what comes before the threads is the same in all.
_PLACES = {
    (3, 13): _Places(thread=19, native_id=25, frame=28),
    (3, 14): _Places(thread=22, native_id=28, frame=31),
    (3, 15): _Places(thread=22, native_id=31, frame=39),
}


def debug_offsets() -> dict[str, Any] | None:
    """Return the fields of `Layout` for threads and frames; None where the interpreter has no table that is known."""
    places = _PLACES.get(sys.version_info[:2])
    if places is None:
        return None
    try:
        start = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    except ValueError:  # the symbol is not exported
        return None
    table = ctypes.string_at(start, _WORD_BYTES * (places.frame + 4))
    words = [int.from_bytes(table[at : at + _WORD_BYTES], sys.byteorder) for at in range(0, len(table), _WORD_BYTES)]
    if table[:_WORD_BYTES] != _MARK or words[1] != sys.hexversion:
        return None
    thread, frame = places.thread, places.frame
    return {
        "interp_head": words[_INTERPRETER + 3],
        "thread_next": words[thread + 2],
        "thread_frame": [words[thread + 4]],
        "thread_native_id": words[places.native_id],
        "frame_previous": words[frame + 1],
        "frame_code": words[frame + 2],
        "frame_instruction": words[frame + 3],
    }
