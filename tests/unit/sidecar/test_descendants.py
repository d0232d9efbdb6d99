"""Finding the processes below another one, and doing what is costly seldom enough."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.sidecar.meters.descendants import Descendants, memory, proportional_bytes
from jupyter_kerneldoctor.sidecar.meters.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = requires.linux

FAMILY = """
import os, subprocess, threading, time
def start():
    child = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    print(child.pid, child.stdout.readline().strip(), flush=True)
    time.sleep(60)
threading.Thread(target=start).start()
"""


@pytest.fixture
def family() -> Iterator[tuple[int, int, int]]:
    """A process, its child, which another thread than the first one has started, and a grandchild."""
    process = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    child, grandchild = map(int, process.stdout.readline().split())
    yield process.pid, child, grandchild
    for pid in (grandchild, child, process.pid):
        subprocess.run(["kill", "-9", str(pid)], check=False)
    process.communicate()


@pytest.mark.parametrize("has_lists", [True, False])
def test_a_thorough_walk_finds_children_of_all_threads_and_theirs(
    family: tuple[int, int, int], has_lists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, child, grandchild = family
    descendants = Descendants()
    monkeypatch.setattr(descendants, "_has_lists", has_lists)

    found = descendants.walk([process], thorough=True)
    assert {(each.pid, each.parent) for each in found} == {(child, process), (grandchild, child)}
    assert descendants.walk([process, child, grandchild], thorough=True) == []


def test_what_was_met_before_is_walked_down_from_too(family: tuple[int, int, int]) -> None:
    _, child, grandchild = family

    assert [each.pid for each in Descendants().walk([child], thorough=False)] == [grandchild]


def test_a_new_process_somewhere_is_noticed() -> None:
    descendants = Descendants()
    descendants.may_have_changed()
    subprocess.run(["true"], check=True)

    assert descendants.may_have_changed()


def test_memory_is_that_of_a_living_process_and_shared_pages_count_by_share(family: tuple[int, int, int]) -> None:
    process, _, grandchild = family
    found = memory(process)

    assert found.name.startswith("python")
    assert found.peak_bytes >= found.rss_bytes > proportional_bytes(process) > 0
    subprocess.run(["kill", "-9", str(grandchild)], check=True)
    deadline = time.monotonic() + 60
    while memory(grandchild) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_costly_thing_is_done_as_seldom_as_its_cost_demands() -> None:
    pace, eager = Pace(share=0.01, least_s=0.0), Pace(share=0.01, least_s=0.0, most_s=0.2)
    for each in (pace, eager):
        with each:
            begin = time.process_time()
            while time.process_time() - begin < 0.02:
                pass
    now = time.monotonic()

    assert not pace.allows(now + 1.5)
    assert pace.allows(now + 60)
    assert eager.allows(now + 0.3)


def test_what_was_saved_up_may_be_spent_at_once() -> None:
    pace = Pace(share=0.01, least_s=0.0, saved_s=0.03)
    at_once = []
    for _ in range(2):
        with pace:
            begin = time.process_time()
            while time.process_time() - begin < 0.02:
                pass
        at_once.append(pace.allows(time.monotonic()))

    assert at_once == [True, False]
