"""Walks the frames of a thread of another process that goes on running meanwhile.

Nothing that is read is believed before it is checked: types, lengths, ranges, and the number of steps. A stack is
read twice, and only the outer part on which both readings agree is told. What a thread entered or left in between is
missing then; a frame that was never there is not invented.
"""

from __future__ import annotations

import struct
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from .linetable import line_at
from .memory import UnreadableError, word_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .layout import Layout, Runtime
    from .memory import Memory

MOST_FRAMES = 512
MOST_THREADS = 512
_GLANCE_FRAMES = 128
_TRIES = 12
"""What changes while it is being read may hold still the next time."""

_LONGEST_STR = 1024
_LONGEST_TABLE = 256 * 1024
_MOST_UNITS = 1 << 24
_PAGE_BYTES = 4096
_PAGES_BELOW = 3  # CPython keeps frames in pieces of 16 KiB
_TAGS = 7
"""The lowest bits of a reference to an object (objects are aligned to 8 bytes at least)."""

_SHIM = "<shim>"
"""The file of frames that stand between C and Python in 3.12; from 3.13 on these have None for their code."""

_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}


class RawFrame(NamedTuple):
    """One frame: the file, the line, and the function's name."""

    file: str
    line: int | None
    function: str


_Link = tuple[int, int, int, int]
"""A frame's address, and what stands in it: the address of its caller's, the code, the instruction."""

_CODE, _INSTRUCTION = 2, 3


class _Code(NamedTuple):
    file: str
    function: str
    first_line: int
    units: int
    lines: bytes


class Reading(NamedTuple):
    """A stack, innermost frame first, and what it was made of."""

    links: list[_Link]
    frames: list[RawFrame]
    codes: dict[int, _Code]


class _Window:
    """Frames lie one behind the other, callers below: reading many at once is faster, and they change less meanwhile.

    Those of generators lie elsewhere, and are read one by one.
    """

    def __init__(self, memory: Memory, layout: Layout) -> None:
        self._memory = memory
        offsets = sorted((layout.frame_previous, layout.frame_code, layout.frame_instruction))
        self._order = [offsets.index(at) for at in (layout.frame_previous, layout.frame_code, layout.frame_instruction)]
        first, second, third = offsets
        self._fields = struct.Struct(f"={first}xQ{second - first - 8}xQ{third - second - 8}xQ")
        self._start = 0
        self._data = b""

    def link(self, address: int) -> _Link:
        """What a frame says. Raises UnreadableError."""
        at = address - self._start
        if not 0 <= at <= len(self._data) - self._fields.size:
            at = self._move(address)
        fields = self._fields.unpack_from(self._data, at)
        previous, code, instruction = self._order
        return address, fields[previous], fields[code] & ~_TAGS, fields[instruction]

    def _move(self, address: int) -> int:
        """Read what lies around an address; return where in it that is."""
        size = self._fields.size
        below = address % _PAGE_BYTES + _PAGES_BELOW * _PAGE_BYTES
        try:
            self._data = self._memory.read(address - below, below + size)
        except UnreadableError:
            below = 0
            self._data = self._memory.read(address, size)
        self._start = address - below
        return below


class StackReader:
    """Reads the stacks of one process. All methods raise UnreadableError when what they find makes no sense."""

    def __init__(self, memory: Memory, layout: Layout, runtime: Runtime) -> None:
        self._memory = memory
        self._layout = layout
        self._runtime = runtime
        self._code_bytes = max(layout.code_start, layout.code_file + 8)
        self._str_bytes = max(layout.type_, layout.str_length, layout.str_state) + 8

    def threads(self) -> dict[int, int]:
        """The thread states there are now, by native thread id; the newest thread first."""
        layout = self._layout
        found: dict[int, int] = {}
        size = max(layout.thread_next, layout.thread_native_id) + 8
        state = self._memory.word(self._runtime.interpreter + layout.interp_head)
        while state:
            if len(found) >= MOST_THREADS:
                raise UnreadableError
            data = self._memory.read(state, size)
            found[word_at(data, layout.thread_native_id)] = state
            state = word_at(data, layout.thread_next)
        return found

    def stack(self, thread: int) -> list[RawFrame]:
        """The frames of the thread with this state, innermost first; of a deep recursion the inner ones."""
        return self.read(thread).frames

    def read(self, thread: int) -> Reading:
        """The same, with what is needed to look again."""
        for _ in range(_TRIES - 1):
            try:
                return self._read(thread)
            except UnreadableError:
                continue
        return self._read(thread)

    def glance(self, thread: int, last: Reading, landmarks: Callable[[str], bool]) -> Reading | None:
        """Where the thread is now, as far as the last reading helps to tell; it costs a small part of a reading.

        The calls are followed outwards to the first frame that is known from then and whose file is a landmark. What
        lies within it is told if it is all as it was. None when there is no such frame.
        """
        known = {link[:3]: at for at, link in enumerate(last.links) if landmarks(last.frames[at].file)}
        inner: list[_Link] = []
        for link in self._links(thread):
            at = known.get(link[:3])
            if at is not None:
                return self._moved(last, at, inner, link)
            inner.append(link)
            if len(inner) > _GLANCE_FRAMES:
                break
        return None

    def _moved(self, last: Reading, at: int, inner: list[_Link], link: _Link) -> Reading:
        if [*inner, link] == last.links[: at + 1]:
            return last
        return Reading(
            [link, *last.links[at + 1 :]],
            [self._frame(link, last.codes[link[_CODE]]), *last.frames[at + 1 :]],
            last.codes,
        )

    def _read(self, thread: int) -> Reading:
        first = self._chain(thread)
        codes = self._codes(first)
        links = _agreed(first, self._again(first) if len(first) == MOST_FRAMES else self._chain(thread))
        known: dict[int, _Code] = {}
        for address, code in self._codes(links).items():
            if code is None or code != codes[address]:
                raise UnreadableError
            known[address] = code
        links = [link for link in links if known[link[_CODE]].file != _SHIM]
        return Reading(links, [self._frame(link, known[link[_CODE]]) for link in links], known)

    def _chain(self, thread: int) -> list[_Link]:
        return list(islice(self._links(thread), MOST_FRAMES))

    def _links(self, thread: int) -> Iterator[_Link]:
        """The frames from the innermost outwards, each read when it is asked for."""
        address = thread
        for step in self._layout.thread_frame:
            address = self._memory.word(address + step)
        none = self._runtime.none
        link = _Window(self._memory, self._layout).link
        seen = 0
        while address and seen <= 2 * MOST_FRAMES:
            found = link(address)
            if found[_CODE] != none:
                yield found
            address = found[1]
            seen += 1

    def _again(self, links: list[_Link]) -> list[_Link]:
        """What stands now where these frames were; a stack that is cut off need not be the same part of it again."""
        link = _Window(self._memory, self._layout).link
        found: list[_Link] = []
        for address, *_ in links:
            try:
                found.append(link(address))
            except UnreadableError:
                found = []  # this frame is gone, and so are those that it had called
        return found

    def _codes(self, links: list[_Link]) -> dict[int, _Code | None]:
        """Read anew each time: the address of a code object that was freed may be another's a moment later.

        None for what is none: the frame of a call that is just beginning or over has nothing in it.
        """
        found: dict[int, _Code | None] = {}
        for address in {link[_CODE] for link in links}:
            try:
                found[address] = self._code(address)
            except UnreadableError:
                found[address] = None
        return found

    def _code(self, address: int) -> _Code:
        layout = self._layout
        data = self._memory.read(address, self._code_bytes)
        units = word_at(data, layout.code_units)
        if word_at(data, layout.type_) != self._runtime.code_type or not 0 < units <= _MOST_UNITS:
            raise UnreadableError
        return _Code(
            file=self._str(word_at(data, layout.code_file)),
            function=self._str(word_at(data, layout.code_name)),
            first_line=int.from_bytes(data[layout.code_first_line : layout.code_first_line + 4], "little", signed=True),
            units=units,
            lines=self._bytes(word_at(data, layout.code_lines)),
        )

    def _frame(self, link: _Link, code: _Code) -> RawFrame:
        start = link[_CODE] + self._layout.code_start
        # Of a frame that has only just been made the instruction is the one before the first.
        offset = max(0, link[_INSTRUCTION] - start)
        if not start - 2 <= link[_INSTRUCTION] < start + 2 * code.units:
            raise UnreadableError
        return RawFrame(code.file, line_at(code.lines, code.first_line, offset), code.function)

    def _str(self, address: int) -> str:
        layout = self._layout
        head = self._memory.read(address, self._str_bytes)
        length = word_at(head, layout.str_length)
        state = int.from_bytes(head[layout.str_state : layout.str_state + 4], "little") & layout.str_mask
        kind = layout.str_kinds.get(str(state))
        if word_at(head, layout.type_) != self._runtime.str_type or kind is None or length > _LONGEST_STR:
            raise UnreadableError
        start, width = kind
        return self._memory.read(address + start, length * width).decode(_ENCODINGS[width], "replace")

    def _bytes(self, address: int) -> bytes:
        layout = self._layout
        head = self._memory.read(address, layout.bytes_data)
        length = word_at(head, layout.bytes_length)
        if word_at(head, layout.type_) != self._runtime.bytes_type or length > _LONGEST_TABLE:
            raise UnreadableError
        return self._memory.read(address + layout.bytes_data, length)


def _agreed(first: list[_Link], second: list[_Link]) -> list[_Link]:
    """The outer part that is the same in both; its innermost frame may have gone on to another instruction.

    Raises UnreadableError when not even the outermost frame is.
    """
    seen = {link[0]: link for link in first}
    common: list[_Link] = []
    for link in second:
        before = seen.get(link[0])
        if before == link:
            common.append(link)
        elif before is not None and before[:3] == link[:3]:
            common = [link]
        else:
            common = []
    if not common or common[-1][0] != first[-1][0]:
        raise UnreadableError
    return common
