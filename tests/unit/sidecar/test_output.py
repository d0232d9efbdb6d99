"""The sidecar's side of the last words: what the kernel shares is written down, and let go of in time."""

from __future__ import annotations

import errno
import json
import os
import select
import socket
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support import requires

from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.processes import ProcessIdentity
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.recording.ring import RingWriter
from jupyter_kerneldoctor.sidecar.inbox import Inbox
from jupyter_kerneldoctor.sidecar.journal import Journal
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.observers.output import OutputObserver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.events import Output

pytestmark = requires.linux


class Side(NamedTuple):
    """A kernel with one stream, and the sidecar's observer of it."""

    directory: Path
    ring: RingWriter
    pipe: int
    write_end: int
    link: socket.socket
    inbox: Inbox
    observer: OutputObserver

    def say(self, data: bytes) -> None:
        """Write as native code does; nobody in the kernel has read it yet."""
        os.write(self.write_end, data)

    def read(self) -> None:
        """Let the kernel's thread read it."""
        self.ring.read_from(self.pipe)

    def share(self, *descriptors: int, **fields: object) -> None:
        told = {"event": "last_words", "mono_s": 1.0, "fds": [2], "begins": [0], **fields}
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(fd.to_bytes(4, "little") for fd in descriptors))]
        self.link.sendmsg([json.dumps(told).encode()], rights if descriptors else [])
        for message in self.inbox.messages():
            self.observer.heard(message, 1.0)

    def recorded(self) -> tuple[Output, ...]:
        return read(self.directory).output

    def text(self) -> str:
        return "".join(piece.text for piece in self.recorded())


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pipe, write_end = os.pipe()
    watched = Watched(tmp_path, Journal(tmp_path / JOURNAL), ProcessIdentity(os.getpid(), 1.0, None))
    side = Side(tmp_path, RingWriter(), pipe, write_end, link, Inbox(theirs), OutputObserver(watched))
    side.share(side.ring.fd, pipe)
    yield side
    side.observer.stop()
    link.close()
    theirs.close()
    for end in (pipe, write_end):
        os.close(end)


def has_a_reader(write_end: int) -> bool:
    poll = select.poll()
    poll.register(write_end, select.POLLOUT)
    return not any(event & select.POLLERR for _, event in poll.poll(0))


def test_while_the_kernel_lives_only_what_it_has_read_is_taken(side: Side) -> None:
    side.say(b"seen\n")
    side.read()
    side.say(b"waits")
    side.observer.turn(2.0)

    (piece,) = side.recorded()
    assert (piece.fd, piece.text) == (2, "seen\n")
    assert os.read(side.pipe, 100) == b"waits"
    assert os.get_blocking(side.pipe)


def test_after_its_death_the_rest_is_taken_too(side: Side) -> None:
    side.say(b"double free or corruption (top)\n")
    side.read()
    side.say(b"Aborted\n")
    side.observer.at_end()

    assert side.text() == "double free or corruption (top)\nAborted\n"


def test_a_character_that_comes_in_two_pieces_is_one_and_odd_bytes_do_no_harm(side: Side) -> None:
    side.say("grö".encode()[:3])
    side.read()
    side.observer.turn(2.0)
    side.say("grö".encode()[3:] + b"\xff\0end")
    side.observer.at_end()

    assert side.text() == "grö\N{REPLACEMENT CHARACTER}end"


def test_the_files_stay_small_and_keep_the_end(side: Side) -> None:
    for number in range(40_000):
        side.say(b"%09d \xc3\xa9\n" % number)
        side.read()
        if number % 1000 == 0:
            side.observer.turn(2.0 + number)
    side.observer.at_end()

    assert side.text().endswith("000039998 é\n000039999 é\n")
    assert sum(file.stat().st_size for file in side.directory.glob("output-*.jsonl")) <= 2 * 64 * 1024
    times = [piece.mono_s for piece in side.recorded()]
    assert times == sorted(set(times))


def test_a_kernel_that_writes_nothing_leaves_no_files(side: Side) -> None:
    side.observer.turn(2.0)
    side.observer.at_end()

    assert not list(side.directory.glob("output-*"))


def test_when_the_kernel_lets_go_so_does_the_sidecar(side: Side) -> None:
    side.share(side.ring.fd, side.pipe)
    side.link.close()
    list(side.inbox.messages())
    os.dup2(os.open(os.devnull, os.O_RDONLY), side.pipe)  # the kernel's own read end is gone, as after an exec
    side.observer.turn(2.0)
    assert has_a_reader(side.write_end)  # it may be the kernel's death, which is seen a moment later

    side.observer.turn(4.0)
    assert not has_a_reader(side.write_end)


def test_a_full_disk_is_no_error(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    side.say(b"text")
    side.read()

    def fails(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("jupyter_kerneldoctor.recording.journal.os.write", fails)
    side.observer.turn(2.0)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    ("count", "fields"),
    [(0, {}), (1, {}), (2, {"fds": []}), (2, {"fds": 7}), (2, {"fds": [1, 2], "begins": [0, 0]}), (3, {})],
)
def test_what_does_not_belong_together_is_closed_and_passed_over(side: Side, count: int, fields: dict) -> None:
    side.observer.stop()
    before = open_files()
    side.share(*[side.pipe] * count, **fields)

    assert open_files() == before
    side.observer.at_end()
    assert side.recorded() == ()
