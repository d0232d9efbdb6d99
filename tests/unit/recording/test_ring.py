"""The memory through which the kernel's output reaches the sidecar, with the writer stopped at any moment."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
from support import requires

from jupyter_kerneldoctor.recording.ring import AHEAD_BYTES, HEADER_BYTES, SIZE_BYTES, RingReader, RingWriter

pytestmark = requires.linux


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def pass_through(ring: RingWriter, pipe: tuple[int, int], data: bytes) -> bytes:
    passed = b""
    for begin in range(0, len(data), 10_000):
        os.write(pipe[1], data[begin : begin + 10_000])
        while len(passed) < min(begin + 10_000, len(data)):
            passed += ring.read_from(pipe[0])
    return passed


def test_what_the_writer_reads_the_reader_gets_once(pipe: tuple[int, int]) -> None:
    ring = RingWriter()
    reader = RingReader(ring.fd)

    assert pass_through(ring, pipe, b"first ") == b"first "
    assert reader.take() == b"first "
    pass_through(ring, pipe, b"second")
    assert reader.take() == b"second"
    assert reader.take() == b""


def test_the_newest_bytes_stay_whatever_their_number(pipe: tuple[int, int]) -> None:
    ring = RingWriter()
    reader = RingReader(ring.fd)
    data = b"".join(b"%08d" % number for number in range(50_000))

    assert pass_through(ring, pipe, data) == data
    kept = reader.take()

    assert data.endswith(kept)
    assert SIZE_BYTES - 2 * AHEAD_BYTES <= len(kept) < SIZE_BYTES


def test_what_the_writer_is_about_to_count_is_not_read_as_older(pipe: tuple[int, int]) -> None:
    ring = RingWriter()
    reader = RingReader(ring.fd)
    data = b"".join(b"%08d" % number for number in range(50_000))
    pass_through(ring, pipe, data)
    counted, ring._count = ring._count, [0]  # stopped behind the bytes and the blank, before the count

    pass_through(ring, pipe, b"x" * AHEAD_BYTES)

    assert data.endswith(reader.take())
    ring._count = counted


def test_a_reader_may_begin_later(pipe: tuple[int, int]) -> None:
    ring = RingWriter()
    pass_through(ring, pipe, b"an earlier recording's")
    reader = RingReader(ring.fd, ring.total)
    pass_through(ring, pipe, b"ours")

    assert reader.take() == b"ours"


@pytest.mark.parametrize("before", [0, 10, SIZE_BYTES - 3, SIZE_BYTES, 3 * SIZE_BYTES + 77])
def test_what_was_read_but_not_counted_is_found_after_the_writers_death(pipe: tuple[int, int], before: int) -> None:
    ring = RingWriter()
    reader = RingReader(ring.fd)
    pass_through(ring, pipe, b"x" * before)
    reader.take()
    assert reader.take_uncounted() == b""

    count = os.pread(ring.fd, 8, 0)
    pass_through(ring, pipe, b"the last words")
    os.pwrite(ring.fd, count, 0)  # as if the writer had been killed before it could count them

    assert reader.take() == b""
    assert reader.take_uncounted() == b"the last words"


def test_reading_while_it_is_written_gives_no_byte_twice_and_none_that_was_not_written(pipe: tuple[int, int]) -> None:
    ring = RingWriter()
    reader = RingReader(ring.fd)
    data = b"".join(b"%08d\n" % number for number in range(60_000))
    taken = []
    writing = threading.Thread(target=pass_through, args=(ring, pipe, data))
    writing.start()
    while writing.is_alive():
        taken.append(reader.take())
    writing.join()
    taken.append(reader.take())

    position = 0
    for piece in filter(None, taken):
        position = data.index(piece, position) + len(piece)
    assert position == len(data)


def test_all_its_memory_is_taken_at_once() -> None:
    ring = RingWriter()

    assert os.fstat(ring.fd).st_blocks * 512 >= HEADER_BYTES + SIZE_BYTES


def test_closing_frees_the_memory_though_other_threads_open_files_meanwhile() -> None:
    done = threading.Event()

    def open_files() -> None:
        while not done.is_set():
            os.close(os.open(os.devnull, os.O_RDONLY))

    others = [threading.Thread(target=open_files) for _ in range(3)]
    for thread in others:
        thread.start()
    rings = [RingWriter() for _ in range(100)]
    inodes = {os.fstat(ring.fd).st_ino for ring in rings}
    for ring in rings:
        ring.close()
    done.set()
    for thread in others:
        thread.join()

    assert not [fd for fd in Path("/proc/self/fd").iterdir() if inode(fd) in inodes]


def test_it_is_closed_also_where_somebody_still_has_a_frame_of_its_reader(pipe: tuple[int, int]) -> None:
    """Without the GIL a frame that another thread has looked at may live on although nobody has it any more."""
    ring = RingWriter()
    thread = threading.Thread(target=ring.read_from, args=(pipe[0],))
    thread.start()
    while (frame := sys._current_frames()[thread.ident]).f_code is not ring.read_from.__code__:
        pass
    os.write(pipe[1], b"text")
    thread.join()

    ring.close()
    assert "places" in frame.f_locals


def inode(fd: Path) -> int | None:
    try:
        return fd.stat().st_ino
    except OSError:  # the list's own
        return None
