"""When the kernel is asked what a cell holds: soon, at shares of the limit, and if the cell grows, now and then."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.sidecar.inbox import Message
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.observers.held import HeldObserver

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
GIB = 1 << 30


def asked(rss: Callable[[float], float], seconds: float, *, under_oom: bool = False) -> list[float]:
    """Return when it is asked during a cell whose memory follows a function of time, under a limit of 1 GiB."""
    watched = Watched(Path(), SimpleNamespace(), SimpleNamespace())
    watched.limits = [{"kind": "cgroup", "bytes": GIB}]
    observer = HeldObserver(watched)
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    observer.heard(Message({"event": "look_thread", "thread_id": 7}, SimpleNamespace(), [writes]), 0.0)
    observer.heard({"event": "cell_start", "seq": 1}, 0.0)
    watched.running, watched.under_oom = [1], under_oom
    times = []
    for tick in range(int(seconds * 10)):
        size = int(rss(tick / 10))
        watched.sample = Sample(tick / 10, size, size, None, 0)
        watched.run_after_sample(tick / 10)
        try:
            times += [tick / 10 for _ in os.read(reads, 10)]
        except BlockingIOError:
            pass
    observer.stop()
    os.close(reads)
    return times


def test_a_look_that_had_no_time_is_repeated_twice() -> None:
    observer = HeldObserver(Watched(Path(), SimpleNamespace(), SimpleNamespace()))
    reads, writes = os.pipe()
    observer.heard(Message({"event": "look_thread"}, SimpleNamespace(), [writes]), 0.0)
    observer.heard({"event": "cell_start", "seq": 1}, 0.0)
    for _ in range(5):
        observer.heard({"event": "held", "cell_seq": 1, "complete": False, "objects": []}, 1.0)

    assert len(os.read(reads, 10)) == 2
    observer.stop()
    os.close(reads)


def test_at_shares_of_the_limit() -> None:
    assert asked(lambda t: 100 * MIB + t * 90 * MIB, 10.3) == [0.5, 4.6, 6.9, 8.6]


def test_where_much_was_in_use_before_at_shares_of_the_rest() -> None:
    assert asked(lambda t: 624 * MIB + t * 40 * MIB, 10) == [0.5, 5.0, 7.0, 8.5]


def test_now_and_then_far_from_the_limit() -> None:
    assert asked(lambda t: 100 * MIB + t * MIB / 3, 1200) == [48.0, 108.0, 708.0]


def test_a_jump_over_two_shares_is_asked_about_once() -> None:
    assert asked(lambda t: 100 * MIB if t < 5 else 800 * MIB, 10) == [5.0]


def test_never_while_nothing_grows_or_memory_is_out() -> None:
    assert asked(lambda _: 100 * MIB, 1200) == []
    assert asked(lambda t: 100 * MIB if t < 5 else 1010 * MIB, 10) == []
    assert asked(lambda t: 100 * MIB + t * 90 * MIB, 10, under_oom=True) == []
