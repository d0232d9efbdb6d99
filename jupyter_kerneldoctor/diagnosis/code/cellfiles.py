"""Which cell a file in a traceback is, and which line of it the user sees."""

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.model import Cell

from .cellsource import header_magics

_KERNEL_FILE = re.compile(r"ipykernel_\d+[/\\](\d+)\.py$")
_TERMINAL_FILE = re.compile(r"<ipython-input-(\d+)-\w+>")
_TIMED = "<timed exec>"  # what %%time compiles its body as

_LONGEST = 200_000
"""Characters; longer cells, which nobody writes, are not looked for: to hash 10 MB takes most of a second."""
_MOST_CHARACTERS = 5_000_000
"""In all cells, newest first."""
_MOST_HEADERS = 3
"""Cell magics above each other."""

_SEED = 0xC70F6907  # ipykernel's
_MULTIPLIER = 0x5BD1E995
_WORD = 0xFFFFFFFF


def user_line(cell: Cell, frame: Frame) -> int | None:
    """Return the line of the cell that a frame stands at; None when the frame is not this cell's.

    A line that is the cell magic itself is no answer either: it stands for all of the body.
    """
    offset = _offset(cell, frame.file)
    if frame.line is None or offset is None or cell.truncated:
        return None
    line = frame.line + offset
    headers = header_magics(cell.source)
    return line if line not in headers and 0 < line <= cell.source.count("\n") + 1 else None


class CellFiles:
    """The cells of a recording, found by their files. Hashing them takes a while: each is read once, newest first."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self._unread = reversed(cells)
        self._by_hash: dict[int, list[Cell]] = {}
        self._left = _MOST_CHARACTERS

    def cell_of(self, frame: Frame) -> Cell | None:
        """Return the newest of the cells whose code a frame executes; None for a library's."""
        return next((cell for cell in self._candidates(frame.file) if user_line(cell, frame) is not None), None)

    def cell_of_file(self, file: str) -> Cell | None:
        """Return the newest of the cells that were compiled under this file name."""
        return next(iter(self._candidates(file)), None)

    def _candidates(self, file: str) -> Iterable[Cell]:
        if found := _TERMINAL_FILE.match(file):
            return self._by_count.get(int(found[1]), ())
        if file == _TIMED:
            return self._timed
        found = _KERNEL_FILE.search(file)
        return () if found is None else self._hashed(int(found[1]))

    def _hashed(self, number: int) -> Iterator[Cell]:
        yield from self._by_hash.get(number, ())
        while self._left > 0 and (cell := next(self._unread, None)) is not None:
            self._left -= min(len(cell.source), _LONGEST)
            hashes = _hashes(cell.source)
            for known in hashes:
                self._by_hash.setdefault(known, []).append(cell)
            if number in hashes:
                yield cell

    @cached_property
    def _by_count(self) -> dict[int | None, list[Cell]]:
        found: dict[int | None, list[Cell]] = {}
        for cell in reversed(self._cells):
            found.setdefault(cell.execution_count, []).append(cell)
        return found

    @cached_property
    def _timed(self) -> list[Cell]:
        return [cell for cell in reversed(self._cells) if "time" in header_magics(cell.source).values()]


def _offset(cell: Cell, file: str) -> int | None:
    """Return how many lines of the cell stand above the code compiled as `file`; None for another cell's code."""
    if found := _TERMINAL_FILE.match(file):
        return _blank_lines(cell.source) if int(found[1]) == cell.execution_count else None
    if file == _TIMED:
        header = next((line for line, magic in header_magics(cell.source).items() if magic == "time"), None)
        return None if header is None else header + _blank_lines(cell.source, header)
    if found := _KERNEL_FILE.search(file):
        return _hashes(cell.source).get(int(found[1]))
    return None


@lru_cache(maxsize=256)
def _hashes(source: str) -> dict[int, int]:
    """The hashes ipykernel may name this cell's code by, each with the lines above that code.

    It hashes what it is given to run: the cell, or the body that a cell magic hands on (with a line end added).
    """
    if len(source) > _LONGEST:
        return {}
    hashes = {murmur2(source): _blank_lines(source)}
    lines = source.split("\n")
    for header in islice(header_magics(source), _MOST_HEADERS):
        body = "\n".join(lines[header:])
        above = header + _blank_lines(source, header)
        hashes.update({murmur2(body): above, murmur2(body + "\n"): above})
    return hashes


def _blank_lines(source: str, first: int = 0) -> int:
    """How many blank lines there are from line `first` (0-based) on: IPython drops those that code begins with."""
    lines = source.split("\n")[first:]
    return next((number for number, line in enumerate(lines) if line.strip()), 0)


def murmur2(text: str) -> int:
    """Return the 32-bit MurmurHash2 of the text in UTF-8 with ipykernel's seed."""
    data = text.encode("utf-8", "surrogatepass")
    whole = len(data) & ~3
    value = _SEED ^ len(data)
    for word in struct.unpack(f"<{whole // 4}I", data[:whole]):
        mixed = (word * _MULTIPLIER) & _WORD
        mixed = ((mixed ^ (mixed >> 24)) * _MULTIPLIER) & _WORD
        value = ((value * _MULTIPLIER) & _WORD) ^ mixed
    if len(data) & 3:
        value = ((value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER) & _WORD
    value = ((value ^ (value >> 13)) * _MULTIPLIER) & _WORD
    return value ^ (value >> 15)
