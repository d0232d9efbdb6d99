"""When the stack is read: near a limit or on the way to it, a few times a second at most, and else never."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_kerneldoctor.recording.samples import Sample
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.stacks.read_schedule import ReadSchedule, nearest_limit

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
GIB = 1 << 30


class Run:
    """A cell whose memory follows a function of time, under a limit of 1 GiB."""

    def __init__(self, rss: Callable[[float], float], seconds: float, limit_bytes: int = GIB) -> None:
        watched = Watched(Path(), SimpleNamespace(), SimpleNamespace())  # it neither writes nor looks at a process
        watched.limits = [{"kind": "cgroup", "bytes": limit_bytes}, {"kind": "ram", "bytes": 64 * GIB}]
        schedule = ReadSchedule(watched)
        schedule.begin()
        self.looks = 0
        self.reasons: list[tuple[float, str]] = []
        now = sampled = 0.0
        while now < seconds:
            if now >= sampled:
                size = int(rss(now))
                watched.sample = Sample(now, size, size, 60 * GIB, 0)
                sampled = now + 0.1
            reason = schedule.check(100 + now, int(rss(now)))
            self.looks += 1
            if reason is not None:
                self.reasons.append((now, reason))
            now += schedule.wait_s


def test_far_from_the_limit_nothing_is_read() -> None:
    assert Run(lambda _: 300 * MIB, 60).reasons == []
    assert Run(lambda t: 300 * MIB + (t % 1) * 50 * MIB, 60).reasons == [], "it goes up and down"


def test_a_jump_is_seen_on_its_way() -> None:
    jump = Run(lambda t: 100 * MIB + max(0.0, t - 5) * 3 * GIB, 5.3)

    assert jump.reasons
    assert all(5 < t < 5.3 for t, _ in jump.reasons)
    assert jump.reasons[0][0] < 5.25
    assert jump.reasons[0][1] == "climbing"


def test_near_the_limit_it_is_read_a_few_times_a_second_while_memory_moves() -> None:
    slope = Run(lambda t: 800 * MIB + t * 20 * MIB, 10)

    assert 10 <= len(slope.reasons) <= 40 + 6
    assert slope.reasons[-1][1] == "near_limit"
    assert slope.reasons[-1][0] > 9.5


def test_near_the_limit_it_is_read_seldom_while_nothing_moves() -> None:
    assert 60 / 5 <= len(Run(lambda _: 850 * MIB, 60).reasons) < 60 / 5 + 10


def test_at_the_very_limit_it_is_read_more_often() -> None:
    assert 100 <= len(Run(lambda _: 1010 * MIB, 60).reasons) <= 130


def test_a_day_of_climbing_is_read_four_times_a_second_at_most() -> None:
    saw = Run(lambda t: 100 * MIB + (t % 0.3) * 3 * GIB, 60)

    assert len(saw.reasons) <= 60 * 4 + 6


def test_checks_are_seldom_with_much_headroom() -> None:
    assert Run(lambda _: 300 * MIB, 60, limit_bytes=32 * GIB).looks <= 60 / 0.25 + 1
    assert Run(lambda _: 300 * MIB, 60, limit_bytes=GIB).looks <= 60 / 0.03 + 1


@pytest.mark.parametrize(
    ("in_group", "available", "groups", "expected"),
    [
        (900 * MIB, 60 * GIB, [GIB], GIB),
        (100 * MIB, GIB // 2, [GIB], 64 * GIB),
        (100 * MIB, 16 * GIB, [GIB], GIB),  # of the machine's memory a larger share is in use
        (30 * GIB, 60 * GIB, [4 * GIB, 32 * GIB], 32 * GIB),
        (None, 60 * GIB, [], 64 * GIB),
    ],
)
def test_the_ceiling_that_counts(in_group: Any, available: int, groups: list[int], expected: int) -> None:
    limits = [{"kind": "cgroup", "bytes": limit} for limit in groups] + [{"kind": "ram", "bytes": 64 * GIB}]
    ceiling = nearest_limit(Sample(1.0, 50 * MIB, in_group, available, 0), limits)

    assert ceiling is not None
    assert ceiling.bytes == expected


def test_without_any_limit_there_is_no_ceiling() -> None:
    assert nearest_limit(Sample(1.0, 50 * MIB), []) is None
