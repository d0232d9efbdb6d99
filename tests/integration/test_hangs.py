"""Cells that stand still, for real: which of them are stuck, why, and which only wait with good reason.

All kernels of this file are started first and waited for together: it takes ten seconds until stillness is told.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from support import requires
from support.kernels import LiveKernel

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.trial.memory_limit import NoMemoryLimitError, memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.diagnosis.postmortem import PostMortem

pytestmark = requires.linux

PATIENCE_S = 60

STUCK = {
    "a lock taken twice": (
        "hang",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        4,
    ),
    "two locks in two orders": (
        "hang",
        """
import threading, time
a, b = threading.Lock(), threading.Lock()
def other():
    with b:
        time.sleep(0.5)
        with a: pass
threading.Thread(target=other).start()
with a:
    time.sleep(0.5)
    with b: pass
""",
        11,
    ),
    "an empty queue": ("hang", "import queue\nqueue.Queue().get()", 2),
    "workers that cannot find their function": (
        "hang",
        """
import multiprocessing
context = multiprocessing.get_context('spawn')
queue = context.Queue()
def work(queue): queue.put(1)
for _ in range(2): context.Process(target=work, args=(queue,)).start()
queue.get()
""",
        7,
    ),
    "a worker whose queue nobody empties": (
        "hang",
        """
import multiprocessing
context = multiprocessing.get_context('fork')
queue = context.Queue()
def work(): queue.put('x' * 10**7)
worker = context.Process(target=work)
worker.start()
worker.join()
""",
        8,
    ),
    "a lost task of a pool": (
        "hang",
        """
import multiprocessing, os
def work(x): os.kill(os.getpid(), 9)
with multiprocessing.get_context('fork').Pool(2) as pool:
    pool.map(work, range(2))
""",
        5,
    ),
    "a stopped process": ("hang", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", 2),
    "a lock held while the workers were copied": (
        "fork-unsafe",
        """
import multiprocessing, threading, time
lock = threading.Lock()
def hold():
    with lock: time.sleep(100)
threading.Thread(target=hold, daemon=True).start()
time.sleep(0.2)
def work(x):
    with lock: return x
with multiprocessing.get_context('fork').Pool(2) as pool:
    pool.map(work, range(2))
""",
        11,
    ),
    "a connection whose other end is its own": ("hang", "import socket\na, b = socket.socketpair()\na.recv(1)", 3),
    "a bare fork with a lock held": (
        "fork-unsafe",
        (
            "import os, threading\nlock = threading.Lock()\nlock.acquire()\npid = os.fork()\n"
            "if not pid: lock.acquire()\nos.waitpid(pid, 0)"
        ),
        6,
    ),
}
"""What happens, the cause, the cell, and the line it stands at."""

PATIENT = {
    "sleep": "import time\ntime.sleep(100)",
    "the network": "import socket\nserver = socket.create_server(('127.0.0.1', 0))\nserver.accept()",
    "another program": "import subprocess\nsubprocess.run(['sleep', '100'])",
    "a shell command": "!sleep 100",
    "a thread that works": (
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(100,))\nt.start()\nt.join()"
    ),
    "a limit in time": "import threading\nlong = 100\nthreading.Event().wait(long)",
    "workers of a pool": (
        "import multiprocessing, time\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    pool.map(time.sleep, [100, 100])"
    ),
    "threads of a pool": (
        "import concurrent.futures, time\nwith concurrent.futures.ThreadPoolExecutor(2) as pool:\n"
        "    list(pool.map(time.sleep, [100, 100]))"
    ),
    "a lock that comes back": (
        "import threading, time\nlock = threading.Lock()\ndef hold():\n    with lock: time.sleep(100)\n"
        "threading.Thread(target=hold).start(); time.sleep(0.2)\nlock.acquire()"
    ),
    "an awaited sleep": "import asyncio\nawait asyncio.sleep(100)",
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LiveKernel]]:
    cells = {**{name: cell for name, (_, cell, _) in STUCK.items()}, **PATIENT}
    started: dict[str, LiveKernel] = {}
    try:
        for name, cell in cells.items():
            started[name] = LiveKernel(tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("work"))
            started[name].load()
            started[name].client.execute(cell)
        yield started
    finally:
        for kernel in started.values():
            end(kernel)


def end(kernel: LiveKernel) -> None:
    """A stuck kernel obeys no request, and its workers live on: end them all."""
    with suppress(OSError):
        os.killpg(os.getpgid(kernel.pid), signal.SIGKILL)
    kernel.close()


def once_still(kernel: LiveKernel) -> PostMortem:
    """The diagnosis when the recorder has told that nothing happens."""
    deadline = time.monotonic() + PATIENCE_S
    while not (recording := kernel.recording()).stuck:
        assert time.monotonic() < deadline, "stillness was not told"
        time.sleep(0.2)
    return diagnose(recording)


@pytest.mark.parametrize("name", STUCK)
def test_a_cell_that_will_never_be_done_is_named(kernels: dict[str, LiveKernel], name: str) -> None:
    cause, _, line = STUCK[name]
    answer = once_still(kernels[name])

    assert (answer.cause.id, answer.end.kind) == (cause, "running")
    assert answer.cause.confidence >= 0.7
    assert answer.cell.execution_count == 2
    assert answer.cell.line == line


@pytest.mark.parametrize("name", PATIENT)
def test_a_cell_that_waits_with_good_reason_is_no_hang(kernels: dict[str, LiveKernel], name: str) -> None:
    answer = once_still(kernels[name])

    assert (answer.cause.id, answer.cell) == ("no-death", None)


def test_what_the_workers_said_is_in_the_headline(kernels: dict[str, LiveKernel]) -> None:
    answer = once_still(kernels["workers that cannot find their function"])

    assert "cannot find `work`, which only this notebook has" in answer.cause.headline


def test_a_hang_that_was_interrupted_is_told_until_the_notebook_goes_on(start_kernel) -> None:
    kernel = start_kernel()
    kernel.load()
    twice = "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"
    kernel.client.execute(twice, stop_on_error=False)  # else ipykernel leaves out what is asked right after the error
    assert (once_still(kernel).state, once_still(kernel).cause.id) == ("stuck", "hang")

    kernel.manager.interrupt_kernel()
    kernel.wait_recorded(lambda recording: recording.cells[-1].finished)
    kernel.run("'the first cell after it may only look at what went wrong'")
    told = diagnose(kernel.recording())
    assert (told.state, told.cause.id) == ("survived", "hang")

    kernel.run("x = 1")
    kernel.wait_recorded(lambda recording: recording.cells[-1].source == "x = 1" and recording.cells[-1].finished)
    assert diagnose(kernel.recording()).cause.id == "no-death"


@requires.root
@pytest.mark.parametrize("recorder", ["looks on", "is stopped, too"])
def test_a_limit_with_the_killer_switched_off_is_a_stall(
    tmp_path_factory: pytest.TempPathFactory, recorder: str
) -> None:
    try:
        with memory_limit(200 << 20) as limit:
            control = limit.directory / "memory.oom_control" if limit.directory is not None else None
            if control is None or not control.exists():
                pytest.skip("cannot run here: only control groups of version 1 can switch the killer off")
            kernel = LiveKernel(tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("work"), prefix=limit.prefix)
            try:
                kernel.load()
                kernel.wait_recorded(lambda recording: recording.system_states)
                control.write_text("1")
                kernel.client.execute("x = 1\nbig = b'x' * 10**9")
                if recorder == "is stopped, too":
                    kernel.wait_recorded(lambda recording: len(recording.cells) == 2 and recording.running_cell)
                    os.kill(kernel.sidecar_pid(), signal.SIGSTOP)
                deadline = time.monotonic() + 60
                while (answer := diagnose(kernel.recording())).cause.id == "no-death" and time.monotonic() < deadline:
                    time.sleep(0.5)
            finally:
                control.write_text("0")
                end(kernel)
    except NoMemoryLimitError as error:
        pytest.skip(f"cannot run here: {error}")

    assert answer.cause.id == "memory-stall"
    assert answer.cause.confidence >= 0.7, "the recorder, too, may have been stopped before it could say more"
    assert answer.cell.execution_count == 2
