"""Walks the frames of a thread of another process that goes on running meanwhile.

Nothing that is read is believed before it is checked: types, lengths, ranges, and the number of steps. A stack is
read twice, and only the outer part on which both readings agree is told. What a thread entered or left in between is
missing then; a frame that was never there is not invented.
"""

from __future__ import annotations

import struct
import time
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from .frame_window import CODE, INSTRUCTION, Link, Window
from .linetable import line_at
from .memory import UnreadableError, word_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layout import Layout, Runtime
    from .memory import Memory

MOST_FRAMES = 8192
MOST_THREADS = 512
_GLANCE_FRAMES = 128
_PATIENCE_S = 0.01
"""What changes while it is being read may hold still the next time."""

_LONGEST_STR = 1024
_LONGEST_TABLE = 256 * 1024
_MOST_TABLE_BYTES = 4 * 1024 * 1024
"""Of all functions of a stack. Many may name one table, which would be held here as often."""
_MOST_CPU_S = 0.5
"""For one stack. A usual one takes a few milliseconds, but all that is read may have been made to take long."""
_MOST_UNITS = 1 << 24

_REACH_BYTES = 512 * 1024
"""How much of a stack to take at once when it changes too fast to be read in pieces."""

_SHIM = "<shim>"
"""The file of frames that stand between C and Python in 3.12; from 3.13 on these have None for their code."""

_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}


class RawFrame(NamedTuple):
    """One frame: the file, the line, and the function's name."""

    file: str
    line: int | None
    function: str


class _Code(NamedTuple):
    file: str
    function: str
    first_line: int
    units: int
    lines: bytes


class Reading(NamedTuple):
    """A stack, innermost frame first, and what it was made of."""

    links: list[Link]
    frames: list[RawFrame]
    codes: dict[int, _Code]


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
        begun = time.monotonic()
        reach_bytes = 0
        while True:
            try:
                return self._read(thread, reach_bytes)
            except UnreadableError:
                if time.monotonic() - begun > _PATIENCE_S:
                    raise
            reach_bytes = _REACH_BYTES

    def glance(self, thread: int, last: Reading, within: int) -> Reading | None:
        """The stack as it is now, at a small part of the cost of a reading.

        Only the calls within a frame that is still there are read anew: the innermost such frame of the last reading
        from number `within` on. Around it all is taken to be as it was. None where there is no such frame.
        """
        still = {link[:3]: at for at, link in enumerate(last.links[within : within + _GLANCE_FRAMES], within)}
        first: list[Link] = []
        at = None
        for link in islice(self._links(thread), _GLANCE_FRAMES):
            first.append(link)
            at = still.get(link[:3])
            if at is not None:
                break
        if at is None:
            return None
        links = _agreed(first, self._again(first))
        codes = last.codes
        for address in {link[CODE] for link in links}:
            if address not in codes or codes[address].file.startswith("<"):  # code that is made comes and goes
                codes = {**codes, address: self._code(address)}
        if codes is not last.codes and sum(len(code.lines) for code in codes.values()) > _MOST_TABLE_BYTES:
            return None
        links = [link for link in links if codes[link[CODE]].file != _SHIM]
        return Reading(links + last.links[at + 1 :], self._frames(links, codes) + last.frames[at + 1 :], codes)

    def _read(self, thread: int, reach_bytes: int) -> Reading:
        first = self._chain(thread, reach_bytes)
        codes = self._codes(first)
        is_cut = len(first) == MOST_FRAMES
        links = _agreed(first, self._again(first) if is_cut else self._chain(thread, reach_bytes))
        known: dict[int, _Code] = {}
        for address, code in self._codes(links).items():
            if code is None or code != codes[address]:
                raise UnreadableError
            known[address] = code
        links = [link for link in links if known[link[CODE]].file != _SHIM]
        return Reading(links, self._frames(links, known), known)

    def _frames(self, links: list[Link], codes: dict[int, _Code]) -> list[RawFrame]:
        told: dict[tuple[int, int], RawFrame] = {}
        until = time.thread_time() + _MOST_CPU_S
        for address, at in {(link[CODE], link[INSTRUCTION]) for link in links}:
            told[address, at] = self._frame(at, address, codes[address])
            if time.thread_time() > until:
                raise UnreadableError
        return [told[link[CODE], link[INSTRUCTION]] for link in links]

    def _chain(self, thread: int, reach_bytes: int) -> list[Link]:
        return list(islice(self._links(thread, reach_bytes), MOST_FRAMES))

    def _links(self, thread: int, reach_bytes: int = 0) -> Iterator[Link]:
        """The frames from the innermost outwards, each read when it is asked for."""
        address = thread
        for step in self._layout.thread_frame:
            address = self._memory.word(address + step)
        none = self._runtime.none
        link = Window(self._memory, self._layout, reach_bytes).link
        seen = 0
        while address and seen <= 2 * MOST_FRAMES:
            found = link(address)
            if found[CODE] != none:
                yield found
            address = found[1]
            seen += 1

    def _again(self, links: list[Link]) -> list[Link]:
        """What stands now where these frames were; a stack that is cut off need not be the same part of it again."""
        link = Window(self._memory, self._layout).link
        found: list[Link] = []
        for address, *_ in links:
            try:
                found.append(link(address))
            except UnreadableError:
                found = []  # this frame is gone, and so are those that it had called
        return found

    def _codes(self, links: list[Link]) -> dict[int, _Code | None]:
        """Read anew each time: the address of a code object that was freed may be another's a moment later.

        None for what is none: the frame of a call that is just beginning or over has nothing in it.
        """
        found: dict[int, _Code | None] = {}
        table_bytes = 0
        for address in {link[CODE] for link in links}:
            try:
                code = found[address] = self._code(address)
                table_bytes += len(code.lines)
            except UnreadableError:
                found[address] = None
            if table_bytes > _MOST_TABLE_BYTES:
                raise UnreadableError
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

    def _frame(self, instruction: int, address: int, code: _Code) -> RawFrame:
        start = address + self._layout.code_start
        # Of a frame that has only just been made the instruction is the one before the first.
        if not start - 2 <= instruction < start + 2 * code.units:
            start = self._copy(address, instruction, 2 * code.units)
        offset = max(0, instruction - start)
        return RawFrame(code.file, line_at(code.lines, code.first_line, offset), code.function)

    def _copy(self, code: int, instruction: int, size: int) -> int:
        """Where the copy of the code begins that has this instruction: without the GIL each thread may run its own."""
        if self._layout.code_copies is None:
            raise UnreadableError
        copies = self._memory.word(code + self._layout.code_copies)
        count = self._memory.word(copies)
        if count > MOST_THREADS:
            raise UnreadableError
        for (start,) in struct.iter_unpack("=Q", self._memory.read(copies + 8, 8 * count)):
            if start <= instruction < start + size:
                return int(start)
        raise UnreadableError

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


def _agreed(first: list[Link], second: list[Link]) -> list[Link]:
    """The outer part that is the same in both; its innermost frame may have gone on to another instruction.

    Raises UnreadableError when not even the outermost frame is.
    """
    seen = {link[0]: link for link in first}
    common: list[Link] = []
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
