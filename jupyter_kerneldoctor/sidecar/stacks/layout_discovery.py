"""Finds the layout of this interpreter's structures by looking at its own objects through /proc/self/mem.

Where threads and frames are, CPython says itself since 3.13 (`debug_offsets`); before that it is found here, too. All
of it needs `ctypes`. It runs in a child process (`discovery_process`), so that none of it stays in the sidecar's
memory.
"""

from __future__ import annotations

import _thread
import os
import sys
import types
from typing import TYPE_CHECKING, Any

from .debug_offsets import debug_offsets
from .layout import Layout, UnexpectedLayoutError
from .memory import Memory, UnreadableError, word_at
from .own_interpreter import WaitingThread, callers, interpreter_state, thread_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TAGS = 7
_OBJECT_BYTES = 40
"""An object's head and its length: 24 bytes, in builds without the GIL 40."""
_HASH_AND_STATE_BYTES = 16
"""What follows the length of a str."""
_HEADER_BYTES = 96
_CODE_BYTES = 256
_THREAD_BYTES = 1024
_INTERPRETER_BYTES = 512 * 1024
_PAGE_BYTES = 4096
_CFRAME_BYTES = 64
_FRAME_BYTES = 128


def discover_layout() -> Layout:
    """Return the layout. Raises UnexpectedLayoutError, UnreadableError, OSError."""
    memory = Memory(os.getpid())
    return Layout(
        **_objects(memory),
        **_codes(memory),
        **_strings(memory),
        **(debug_offsets() or {**_frames(memory), **_threads(memory)}),
    )


def _one(name: str, candidates: Iterable[set[int]]) -> int:
    """Return the lowest offset found in every example: the memory behind a structure may hold copies.

    Raises UnexpectedLayoutError.
    """
    common = set.intersection(*candidates)
    if not common:
        raise UnexpectedLayoutError(name)
    return min(common)


def _where(data: bytes, value: int, width: int = 8) -> set[int]:
    """Return the aligned offsets at which a number stands."""
    wanted = value.to_bytes(width, "little", signed=value < 0)
    return {at for at in range(0, len(data) - width + 1, width) if data[at : at + width] == wanted}


def _available(memory: Memory, address: int, size: int) -> bytes:
    """Return as many bytes as can be read from an address on, up to a size."""
    while size:
        try:
            return memory.read(address, size)
        except UnreadableError:
            # Try up to the start of the last page, which may not be mapped.
            end = (address + size - 1) // _PAGE_BYTES * _PAGE_BYTES
            size = max(0, end - address)
    return b""


def _objects(memory: Memory) -> dict[str, Any]:
    examples: list[object] = [b"example", "example", _objects.__code__, types, _objects]
    types_ = [_where(memory.read(id(example), _OBJECT_BYTES), id(type(example))) for example in examples]
    contents = [b"an example", b"another that is longer", bytes(range(7, 130))]
    return {
        "type_": _one("PyObject", types_),
        "bytes_length": _one("PyBytesObject", [_where(memory.read(id(b), _OBJECT_BYTES), len(b)) for b in contents]),
        "bytes_data": _one("PyBytesObject", [{memory.read(id(b), 256).find(b)} - {-1} for b in contents]),
    }


class _Examples:
    """Functions whose names, qualified names, first lines and sizes all differ."""

    def short(self) -> None:
        pass

    def longer(self, argument: int) -> list[int]:
        return [argument * number for number in range(argument) if number != argument]

    class Inner:
        def method(self) -> Callable[[], str]:
            return lambda: str(self)


def _codes(memory: Memory) -> dict[str, Any]:
    functions = (_Examples.short, _Examples.longer, _Examples.Inner.method, _one, _where, _available)
    seen = [(function.__code__, memory.read(id(function.__code__), _CODE_BYTES)) for function in functions]
    return {
        "code_units": _one("co_code", [_where(data, len(code.co_code) // 2) for code, data in seen]),
        "code_start": types.CodeType.__basicsize__,
        "code_copies": min(set.intersection(*(_copies(memory, code, data) for code, data in seen)), default=None),
        "code_file": _one("co_filename", [_where(data, id(code.co_filename)) for code, data in seen]),
        "code_name": _one("co_name", [_where(data, id(code.co_name)) for code, data in seen]),
        "code_lines": _one("co_linetable", [_where(data, id(code.co_linetable)) for code, data in seen]),
        "code_first_line": _one("co_firstlineno", [_where(data, code.co_firstlineno, 4) for code, data in seen]),
    }


def _copies(memory: Memory, code: types.CodeType, data: bytes) -> set[int]:
    """Return where a code object refers to an array of copies: its length, then the code object's own instructions."""
    start = id(code) + types.CodeType.__basicsize__
    return {at for at in range(0, len(data) - 7, 8) if word_at(_available(memory, word_at(data, at), 16), 8) == start}


_TEXTS = {
    ("ascii", 1): ("example", "file name.py", "x" * 70, "<cell>"),
    ("latin-1", 1): ("\xe9t\xe9", "M\xfcller.py", "\xf8" * 41, "na\xefve name"),
    ("utf-16-le", 2): ("\u0436\u0443\u043a", "\u4e2d\u6587.py", "\u03b1" * 33, "a\u2026"),
    ("utf-32-le", 4): ("\U0001f600", "x\U0001f680.py", "\U0001d400" * 29, "a \U0001f4a5"),
}


def _strings(memory: Memory) -> dict[str, Any]:
    """Find the few bits that tell the kind of a string: the same within a kind, different between kinds."""
    # Strings made at run time are not interned, unlike some of the table's.
    samples = {kind: [*texts, *("-".join(texts[:n]) for n in (2, 3))] for kind, texts in _TEXTS.items()}
    heads = {kind: [memory.read(id(text), _HEADER_BYTES) for text in texts] for kind, texts in samples.items()}
    lengths = [
        _where(head[:_OBJECT_BYTES], len(text))
        for kind in samples
        for text, head in zip(samples[kind], heads[kind], strict=True)
    ]
    length = _one("PyUnicodeObject", lengths)
    for at in range(length + 8, length + 8 + _HASH_AND_STATE_BYTES, 4):
        states = {
            kind: [int.from_bytes(head[at : at + 4], "little") for head in found] for kind, found in heads.items()
        }
        mask = _mask(list(states.values()))
        kinds = {str(found[0] & mask): kind for kind, found in states.items()}
        if mask and len(kinds) == len(samples):
            starts = {state: [_data_start(memory, kind, samples[kind]), kind[1]] for state, kind in kinds.items()}
            return {"str_length": length, "str_state": at, "str_mask": mask, "str_kinds": starts}
    raise UnexpectedLayoutError("PyUnicodeObject")


def _mask(groups: list[list[int]]) -> int:
    """Return the bits that never differ within a group, but do between groups."""
    within = between = 0
    for group in groups:
        for value in group:
            within |= value ^ group[0]
            between |= value ^ groups[0][0]
    return between & ~within


def _data_start(memory: Memory, kind: tuple[str, int], texts: list[str]) -> int:
    encoding = kind[0]
    found = []
    for text in texts:
        data = text.encode(encoding)
        found.append({memory.read(id(text), _HEADER_BYTES).find(data[: _HEADER_BYTES - 72])} - {-1})
    return _one("PyUnicodeObject data", found)


def _frames(memory: Memory) -> dict[str, Any]:
    """Examine nested calls: the frame objects lead to the interpreter's own frames, and these to each other.

    The calls must still be running; afterwards a frame object holds a copy.
    """
    return _nested(3, lambda: _frames_of_callers(memory))


def _nested(depth: int, look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return _nested_again(depth - 1, look) if depth else look()


def _nested_again(depth: int, look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return _nested(depth - 1, look) if depth else look()


def _frames_of_callers(memory: Memory) -> dict[str, Any]:
    frames = callers(sys._getframe())[2:6]  # noqa: SLF001 - there is no public way to a frame object
    heads = [memory.read(id(frame), type(frame).__basicsize__) for frame in frames]
    pairs = [_inner_frames(memory, frame, head) for frame, head in zip(frames, heads, strict=True)]
    for at, code in sorted(set.intersection(*pairs)):
        addresses = [word_at(head, at) for head in heads]
        data = [memory.read(address, _FRAME_BYTES) for address in addresses]
        starts = [id(frame.f_code) + types.CodeType.__basicsize__ + frame.f_lasti for frame in frames]
        previous = [_where(inner, outer) for inner, outer in zip(data, addresses[1:], strict=False)]
        instruction = [_where(one, start) for one, start in zip(data, starts, strict=True)]
        if set.intersection(*previous) and set.intersection(*instruction):
            return {
                "frame_code": code,
                "frame_previous": _one("previous", previous),
                "frame_instruction": _one("instruction", instruction),
            }
    raise UnexpectedLayoutError("_PyInterpreterFrame")


def _inner_frames(memory: Memory, frame: types.FrameType, head: bytes) -> set[tuple[int, int]]:
    """Return pairs: where a frame object points to something that refers to the code, and where that refers to it."""
    found: set[tuple[int, int]] = set()
    for at in range(0, len(head) - 7, 8):
        address = word_at(head, at)
        if address % 8 == 0 and address != id(frame.f_back):
            found.update(
                (at, code) for code in _references(_available(memory, address, _FRAME_BYTES), id(frame.f_code))
            )
    return found


def _references(data: bytes, address: int) -> set[int]:
    """Return where a reference to an object stands; its lowest bits may be tags."""
    return {at for at in range(0, len(data) - 7, 8) if word_at(data, at) & ~_TAGS == address}


def _threads(memory: Memory) -> dict[str, Any]:
    main, main_id = thread_state(), _thread.get_native_id()
    older, newer = WaitingThread(), WaitingThread()
    states = (newer.state, older.state, main)
    try:
        data: list[bytes] = [_available(memory, state, _THREAD_BYTES) for state in states]
        chain = [_where(data[0], older.state), _where(data[1], main)]
        interpreter = _available(memory, interpreter_state(), _INTERPRETER_BYTES)
        ids = (newer.native_id, older.native_id, main_id)
        steps: set[tuple[int, ...]] = set.intersection(
            *(_ways_to_frame(memory, w.state, w.frame) for w in (older, newer))
        )
        if not steps:
            raise UnexpectedLayoutError("the way from a thread to its frame")
        return {
            "interp_head": _one("PyInterpreterState", [_where(interpreter, newer.state)]),
            "thread_next": _one("PyThreadState", chain),
            "thread_native_id": _one(
                "native_thread_id", [_where(head, number) for head, number in zip(data, ids, strict=True)]
            ),
            "thread_frame": list(min((len(way), way) for way in steps)[1]),
        }
    finally:
        older.end()
        newer.end()


def _ways_to_frame(memory: Memory, state: int, frame: types.FrameType | None) -> set[tuple[int, ...]]:
    """Return the steps from a waiting thread's state to its innermost frame: one, or two through `cframe`."""
    head = memory.read(id(frame), type(frame).__basicsize__)
    wanted = {word_at(head, at) for at in range(0, len(head), 8)} - {0}
    code = id(frame.f_code) if frame is not None else 0
    wanted = {word for word in wanted if word % 8 == 0 and _references(_available(memory, word, _FRAME_BYTES), code)}
    data = _available(memory, state, _THREAD_BYTES)
    ways: set[tuple[int, ...]] = set()
    for at in range(0, len(data) - 7, 8):
        word = word_at(data, at)
        if word in wanted:
            ways.add((at,))
        elif word % 8 == 0 and word:
            behind = _available(memory, word, _CFRAME_BYTES)
            ways.update((at, step) for step in range(0, len(behind) - 7, 8) if word_at(behind, step) in wanted)
    return ways
