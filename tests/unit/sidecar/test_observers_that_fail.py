"""An observer that fails is left out; all others go on."""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.kernel.stack_access import runtime
from jupyter_kerneldoctor.recording.journal import read_events
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.sidecar.inbox import Inbox
from jupyter_kerneldoctor.sidecar.journal import Journal
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.observers.memory import MemoryObserver
from jupyter_kerneldoctor.sidecar.observers.stacks import StacksObserver
from jupyter_kerneldoctor.sidecar.stacks.snapshot import Stacks
from jupyter_kerneldoctor.sidecar.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = requires.linux


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path, Journal(tmp_path / JOURNAL), identify(os.getpid()))


def test_a_look_along_with_the_samples_that_fails_takes_no_other_with_it(watched: Watched, tmp_path: Path) -> None:
    looks = []

    def fails(now_mono_s: float) -> None:
        looks.append("fails")
        raise ZeroDivisionError

    watched.after_sample = [fails, lambda _: looks.append("works")]
    memory = MemoryObserver(watched)
    for _ in range(3):
        memory.turn(time.monotonic())

    assert looks == ["fails", "works", "works", "works"]
    assert memory.due_mono_s < time.monotonic() + 10, "there will be a next sample"
    (fault,) = [event for event in read_events(tmp_path / JOURNAL) if event["event"] == "fault"]
    assert "ZeroDivisionError" in fault["traceback"]


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    """A sidecar's loop, in this process and about this process."""
    directory = tmp_path / "recordings" / "20260101T000000Z-1-abcdef"
    directory.mkdir(parents=True)
    handler = signal.getsignal(signal.SIGUSR1)
    kernels_end, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    start = {"event": "start", "process": identify(os.getpid()), "mono_s": time.monotonic(), "wall_s": time.time()}
    with kernels_end, ours:
        yield Watcher(directory, Journal(directory / JOURNAL), Inbox(ours), None, start)
    signal.signal(signal.SIGUSR1, handler)
    signal.set_wakeup_fd(-1)
    gc.unfreeze()


def test_who_asks_for_the_stacks_does_not_keep_the_loop_awake_when_nobody_can_read_them(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_observer: StacksObserver, _now_mono_s: float) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(StacksObserver, "turn", fails)
    (stacks,) = [one for one in watcher._observers if isinstance(one, StacksObserver)]
    watcher._call(stacks, stacks.turn, 0.0)
    assert stacks not in watcher._observers

    os.kill(os.getpid(), signal.SIGUSR1)
    watcher._wait(time.monotonic())

    assert watcher._poll.poll(0) == [], "nothing wakes it at once again"


def test_who_asks_while_the_layout_is_being_discovered_is_answered(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes in the middle of a turn that then says when it wants the next one: never, of an idle kernel."""
    (stacks,) = [one for one in watcher._observers if isinstance(one, StacksObserver)]

    def first_reading(_stacks: Stacks) -> list[dict[str, object]]:
        os.kill(os.getpid(), signal.SIGUSR1)
        return []

    monkeypatch.setattr(Stacks, "main", first_reading)
    stacks.heard({"event": "start", "runtime": runtime()}, 0.0)
    deadline = time.monotonic() + 60
    while stacks.stacks is None:
        assert time.monotonic() < deadline, stacks._access
        time.sleep(0.02)
        stacks.turn(time.monotonic())

    assert stacks.due_mono_s <= time.monotonic()
    stacks.turn(time.monotonic())
    (answer,) = [event for event in read_events(watcher._watched.directory / JOURNAL) if event["event"] == "stack"]
    assert answer["reason"] == "asked"
