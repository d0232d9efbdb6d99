"""What was touched in advance is there when no new memory is to be had."""

from __future__ import annotations

import subprocess
import sys

from support import requires

pytestmark = [requires.linux, requires.gil_build]

PROGRAM = """
import resource, sys
from jupyter_kerneldoctor.sidecar import memory_reserve
def faults(work):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
def large():
    block = b"x" * 400_000
def small():
    pieces = [b"%d" % number + b"y" * 300 for number in range(1000)]
if sys.argv[1] == "touched":
    kept = memory_reserve.touch_heap()
print(faults(large), faults(small))
"""


def new_pages(how: str) -> tuple[int, int]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    large, small = map(int, done.stdout.split())
    return large, small


def test_allocations_after_it_touch_hardly_any_new_page() -> None:
    large, small = new_pages("untouched")
    assert large > 50
    assert small > 50

    large, small = new_pages("touched")
    assert large < 10
    assert small < 20
