"""Processes below a real kernel: their memory, and how they end."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from support import requires

if TYPE_CHECKING:
    from pathlib import Path

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import Child
    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = requires.linux

MIB = 1 << 20


def ended_child(kernel: LiveKernel, pid: int) -> Child:
    found = kernel.wait_recorded(lambda recording: pid in [child.pid for child in recording.children])
    return next(child for child in found.children if child.pid == pid)


def number_printed_by(kernel: LiveKernel, source: str) -> int:
    return int(kernel.run(source).stdout)


def last_count(recording: Recording) -> int | None:
    return recording.samples[-1].children


def test_a_child_killed_by_the_memory_limit_is_told_from_the_kernel_that_lives(limited_kernel: LiveKernel) -> None:
    pid = number_printed_by(
        limited_kernel,
        "import subprocess, sys\n"
        "code = '''import time; open('/proc/self/oom_score_adj', 'w').write('1000'); pile = []\n"
        "while True: pile.append(bytearray(4_000_000)); time.sleep(0.02)'''\n"
        "child = subprocess.Popen([sys.executable, '-c', code])\n"
        "child.wait()\n"
        "print(child.pid)",
    )
    child = ended_child(limited_kernel, pid)

    assert (child.kind, child.signal, child.oom_kills) == ("signal", "SIGKILL", 1)
    assert child.peak_bytes > 100 * MIB
    assert limited_kernel.recording().end is None
    assert limited_kernel.run("1 + 1").result == "2"


def test_a_worker_killed_by_hand_raised_no_count_of_memory_kills(living_kernel: LiveKernel) -> None:
    pid = number_printed_by(
        living_kernel,
        "import multiprocessing, os, time\n"
        "pool = multiprocessing.get_context('fork').Pool(1)\n"
        "worker = pool.apply(os.getpid)\n"
        "task = pool.apply_async(time.sleep, (60,))\n"
        "time.sleep(1)\n"
        "os.kill(worker, 9)  # not while it waits for a task: then it would hold a lock\n"
        "time.sleep(0.5)\n"
        "pool.terminate()\n"
        "print(worker)",
    )
    child = ended_child(living_kernel, pid)

    assert (child.signal, child.oom_kills, child.parent_pid) == ("SIGKILL", 0, living_kernel.pid)
    assert child.name.startswith("python")
    assert child.started_mono_s < child.mono_s - 0.9


def test_exit_codes_are_recorded_and_clean_exits_are_not(living_kernel: LiveKernel) -> None:
    clean, failed = map(
        int,
        living_kernel.run(
            "import subprocess\n"
            "children = [subprocess.Popen(['sh', '-c', f'sleep 0.8; exit {code}']) for code in (0, 7)]\n"
            "[child.wait() for child in children]\n"
            "print(*[child.pid for child in children])"
        ).stdout.split(),
    )
    child = ended_child(living_kernel, failed)

    assert (child.kind, child.exit_code, child.name) == ("exit", 7, "sh")
    assert clean not in [child.pid for child in living_kernel.recording().children]


def test_a_child_that_nobody_asks_is_noted_once(living_kernel: LiveKernel) -> None:
    pid = number_printed_by(
        living_kernel, "import subprocess\nforgotten = subprocess.Popen(['sh', '-c', 'exit 9'])\nprint(forgotten.pid)"
    )
    assert ended_child(living_kernel, pid).exit_code == 9
    living_kernel.run("import time; time.sleep(1)")

    assert [child.pid for child in living_kernel.recording().children].count(pid) == 1


def test_a_grandchild_in_a_session_of_its_own_is_found_and_followed_when_its_parent_is_gone(
    living_kernel: LiveKernel,
) -> None:
    grandchild = number_printed_by(
        living_kernel,
        "import subprocess\n"
        "command = 'setsid sleep 60 >/dev/null 2>&1 & echo $!; sleep 1'\n"
        "print(subprocess.run(['sh', '-c', command], capture_output=True, text=True).stdout)",
    )
    assert os.getsid(grandchild) == grandchild
    os.kill(grandchild, signal.SIGUSR1)

    child = ended_child(living_kernel, grandchild)
    assert (child.signal, child.name) == ("SIGUSR1", "sleep")
    assert child.parent_pid != living_kernel.pid


def test_pages_that_forked_children_share_count_once(living_kernel: LiveKernel, tmp_path: Path) -> None:
    over = tmp_path / "over"
    living_kernel.client.execute(
        "import os, time\n"
        "shared = b'x' * 200_000_000\n"
        "forks = []\n"
        "for _ in range(4):\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        own = b'y' * 30_000_000\n"
        f"        while not os.path.exists({str(over)!r}): time.sleep(0.05)\n"
        "        os._exit(0)\n"
        "    forks.append(pid)\n"
        "for pid in forks: os.waitpid(pid, 0)\n"
        "del shared"
    )
    deadline = time.monotonic() + 60  # to weigh them costs time, so it is done the more seldom
    try:
        living_kernel.wait_recorded(lambda found: found.samples[-1].children == 4)
        while True:
            last = living_kernel.recording().samples[-1]
            if (last.tree_bytes or 0) > last.rss_bytes + 90 * MIB:
                break
            assert time.monotonic() < deadline, last
            time.sleep(0.1)
    finally:
        over.touch()
        living_kernel.run("None")

    assert last.rss_bytes > 200_000_000
    assert last.tree_bytes < last.rss_bytes + 220 * MIB, "four times 30 MB of their own, and what they wrote to"


def test_without_children_there_is_no_tree(living_kernel: LiveKernel) -> None:
    time.sleep(0.3)
    found = living_kernel.wait_recorded(lambda recording: last_count(recording) == 0)

    assert found.samples[-1].tree_bytes is None
