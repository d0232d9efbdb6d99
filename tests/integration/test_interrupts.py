"""A Ctrl-C that comes while one of our hooks runs: the start of the cell is recorded, and the cell is interrupted."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from support.requires import linux

from jupyter_kerneldoctor.diagnosis import diagnose

if TYPE_CHECKING:
    from pathlib import Path

    from support.kernels import LiveKernel

pytestmark = linux

INTERRUPTS = """\
import os, signal
from jupyter_kerneldoctor import kernel as _kernel
from jupyter_kerneldoctor.kernel import cells as _cells, memory as _memory, messages as _messages

def interrupt_once(owner, name, *, after=False):
    real = getattr(owner, name)
    def replacement(*args, **kwargs):
        setattr(owner, name, real)
        if not after:
            os.kill(os.getpid(), signal.SIGINT)
        try:
            return real(*args, **kwargs)
        finally:
            if after:
                os.kill(os.getpid(), signal.SIGINT)
    setattr(owner, name, replacement)

def interrupt_at_next_start(owner, name, *, after=False):
    def at_end(result):
        get_ipython().events.unregister("post_run_cell", at_end)
        interrupt_once(owner, name, after=after)
    get_ipython().events.register("post_run_cell", at_end)

"""

SURVIVE_IPYKERNELS_OWN = """\
import signal
_kernel = get_ipython().kernel
_dispatch = _kernel.dispatch_shell

async def _dispatched(*args, **kwargs):
    try:
        await _dispatch(*args, **kwargs)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

_kernel.dispatch_shell = _dispatched
"""
"""A signal in the moment in which ipykernel puts the handler of before back ends its loop, and so the kernel."""

INTERRUPTED_TWICE = """\
import signal
_kernel = get_ipython().kernel
_put_back = _kernel.post_handler_hook

def _interrupted_again():
    signal.raise_signal(signal.SIGINT)
    _put_back()

_kernel.post_handler_hook = _interrupted_again
signal.raise_signal(signal.SIGINT)
"""

PLACES = [
    ("_messages", "cell_start", False),
    ("_memory", "reset_peak", False),
    ("_memory", "reset_peak", True),
    ("_kernel._doctor._link", "send", False),
    ("_kernel._doctor._link", "send", True),
]


@pytest.mark.parametrize(("owner", "name", "after"), PLACES)
def test_a_signal_within_the_hook_at_a_cells_start(kernel: LiveKernel, owner: str, name: str, after: bool) -> None:
    kernel.run(f"{INTERRUPTS}interrupt_at_next_start({owner}, {name!r}, after={after})")

    outcome = kernel.run("import time\nfor _ in range(300): time.sleep(0.01)")

    assert outcome.reply["ename"] == "KeyboardInterrupt"
    assert kernel.run("'next'").result == "'next'"
    recording = kernel.wait_recorded(lambda found: found.cells[-1].source == "'next'" and found.cells[-1].ended_mono_s)
    interrupted = recording.cells[-2]
    assert interrupted.source.startswith("import time")
    assert interrupted.ended_mono_s is not None
    assert interrupted.error == "KeyboardInterrupt"
    assert kernel.run("get_ipython().ast_transformers").result == "[]"


def test_a_signal_after_a_cell_that_no_other_follows_is_forgotten(kernel: LiveKernel) -> None:
    kernel.run(f"{INTERRUPTS}interrupt_once(_messages, 'cell_end')")
    time.sleep(0.3)

    assert kernel.run("1 + 1").result == "2"
    recording = kernel.wait_recorded(lambda found: found.cells[-1].ended_mono_s)
    assert [cell.ended_mono_s is not None for cell in recording.cells[-2:]] == [True, True]


def test_a_syntax_error_takes_the_signal_with_it(kernel: LiveKernel) -> None:
    kernel.run(f"{INTERRUPTS}interrupt_at_next_start(_messages, 'cell_start')")

    assert kernel.run("1 +").reply["ename"] == "SyntaxError"
    assert kernel.run("1 + 1").result == "2"


def test_signals_at_any_moment_lose_no_start(kernel: LiveKernel, tmp_path: Path) -> None:
    kernel.run(SURVIVE_IPYKERNELS_OWN)
    chance = random.Random(1)
    ran = tmp_path / "ran"
    for number in range(25):
        source = f"with open({str(ran)!r}, 'a') as file: print({number}, file=file)\nimport time; time.sleep(0.3)"
        kernel.client.execute(source)
        time.sleep(chance.random() * 0.01)
        kernel.manager.interrupt_kernel()
        time.sleep(chance.random() * 0.01)
    while kernel.run("'last'").result is None:
        pass  # an interrupted cell takes those that wait with it

    recording = kernel.wait_recorded(lambda found: found.cells[-1].source == "'last'")
    recorded = "".join(cell.source for cell in recording.cells)
    missing = [number for number in ran.read_text().split() if f"print({number}," not in recorded]
    assert missing == []


def test_a_kernel_that_the_next_interrupt_ended_is_told_so(kernel: LiveKernel) -> None:
    assert kernel.run_and_die(INTERRUPTED_TWICE) == 0

    recording = kernel.wait_recorded(lambda found: found.end is not None)
    told = " ".join(one.text for one in diagnose(recording).cause.evidence)
    assert "An interrupt that comes between two cells can end a kernel" in told
