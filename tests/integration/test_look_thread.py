"""The thread that looks at what a cell holds: user code does not see it, and it is never in the way."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.journal import read_events

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kernels import LiveKernel

pytestmark = [requires.linux, requires.gil]

GROWS = "pile = []\nfor _ in range(150):\n    pile.append(bytearray(b'1' * 1_000_000)); time.sleep(0.003)\ndel pile"
"""To more than half of the limit. As in most cells, the GIL is given away now and then."""


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def events(kernel: LiveKernel, kind: str) -> list[dict[str, object]]:
    directory = layout.recordings_dir(kernel.data_root) / kernel.recording().id
    return [event for event in read_events(directory / layout.JOURNAL) if event["event"] == kind]


def looking(kernel: LiveKernel) -> int:
    """Wait for the thread, and return its number."""
    wait_for(lambda: events(kernel, "look_thread"))
    return int(events(kernel, "look_thread")[0]["thread_id"])


def grow(kernel: LiveKernel, *before: str) -> None:
    """Run a cell that grows to more than half the limit."""
    outcome = kernel.run("\n".join(["import time", *before, GROWS]))
    assert outcome.reply["status"] == "ok", outcome.traceback


def test_user_code_does_not_see_it(limited_kernel: LiveKernel) -> None:
    thread = looking(limited_kernel)
    grow(limited_kernel, "import gc, os, threading")
    wait_for(lambda: limited_kernel.recording().held)
    seen = limited_kernel.run("sorted(one.native_id for one in threading.enumerate()), gc.isenabled()").result

    assert str(thread) not in seen
    assert seen.endswith("True)")
    blocked = Path(f"/proc/{limited_kernel.pid}/task/{thread}/status").read_text().partition("SigBlk:")[2].split()[0]
    assert int(blocked, 16) >> (signal.SIGINT - 1) & 1
    assert not int(blocked, 16) >> (signal.SIGSEGV - 1) & 1


def test_a_cell_that_does_not_grow_is_left_alone(limited_kernel: LiveKernel) -> None:
    looking(limited_kernel)
    limited_kernel.run("import time\nfor _ in range(20): time.sleep(0.05)")

    assert limited_kernel.recording().held == ()


def test_it_is_no_thread_of_the_users_when_the_stacks_are_asked_for(limited_kernel: LiveKernel) -> None:
    thread = looking(limited_kernel)
    os.kill(limited_kernel.sidecar_pid(), signal.SIGUSR1)
    wait_for(lambda: events(limited_kernel, "stack"))
    threads = [one["thread_id"] for one in events(limited_kernel, "stack")[-1]["threads"]]

    assert limited_kernel.pid in threads
    assert thread not in threads


def test_it_ends_when_the_recording_is_switched_off_and_begins_anew(limited_kernel: LiveKernel) -> None:
    thread = looking(limited_kernel)
    limited_kernel.run("%kerneldoctor off")
    wait_for(lambda: not Path(f"/proc/{limited_kernel.pid}/task/{thread}").exists())
    limited_kernel.run("%kerneldoctor on")

    assert looking(limited_kernel) != thread
    grow(limited_kernel)
    wait_for(lambda: limited_kernel.recording().held)


def test_it_ends_with_the_recorder(limited_kernel: LiveKernel) -> None:
    thread = looking(limited_kernel)
    os.kill(limited_kernel.sidecar_pid(), signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{limited_kernel.pid}/task/{thread}").exists())
    grow(limited_kernel)


def test_a_fork_has_none(limited_kernel: LiveKernel) -> None:
    looking(limited_kernel)
    fork = "import os\npid = os.fork()\nif pid == 0: os._exit(len(os.listdir('/proc/self/task')))\n"
    grow(limited_kernel, fork, "threads = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
    wait_for(lambda: limited_kernel.recording().held)

    assert limited_kernel.run("threads").result == "1"


def test_a_file_that_got_the_number_of_its_pipe_is_not_read(
    start_kernel: Callable[..., LiveKernel], low_memory
) -> None:
    kernel = start_kernel(prefix=low_memory.prefix)
    kernel.run("import os\ndef opened(): return {int(name) for name in os.listdir('/proc/self/fd')}\nbefore = opened()")
    kernel.load()
    thread = looking(kernel)
    steal = (
        "for number in opened() - before:\n"
        "    path = f'/proc/self/fd/{number}'\n"
        "    if os.path.lexists(path) and os.readlink(path).startswith('pipe:'):\n"
        "        reads, writes = os.pipe()\n"
        "        os.write(writes, b'mine')\n"
        "        os.dup2(reads, number)\n"
        "        stolen = number\n"
    )
    grow(kernel, steal)
    wait_for(lambda: not Path(f"/proc/{kernel.pid}/task/{thread}").exists())

    assert kernel.run("os.read(stolen, 10)").result == "b'mine'"


NOT_HERE = {
    "a library replaces threads": "import _thread\n_thread.start_new_thread = lambda *_: None",
    "little address space is left": (
        "import resource\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (200 << 20), resource.RLIM_INFINITY))"
    ),
}


@pytest.mark.parametrize("why", NOT_HERE)
def test_where_it_would_be_in_the_way_there_is_none(start_kernel: Callable[..., LiveKernel], why: str) -> None:
    kernel = start_kernel()
    kernel.run(NOT_HERE[why])
    kernel.load()
    kernel.run("x = 1")
    kernel.wait_recorded(lambda recording: recording.cells[-1].finished and recording.cells[-1].source == "x = 1")

    assert events(kernel, "look_thread") == []
