"""A call in the cell that ends the kernel: whether it had been reached when the kernel ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import frame, own_frame, thread
from jupyter_kerneldoctor.recording.events import Stack, Stuck

SETUP = "import os, time"
GUARDED = "DEBUG = False\nif DEBUG:\n    os.kill(os.getpid(), 9)\ntime.sleep(60)"
LATER = "time.sleep(30)\nos.kill(os.getpid(), 9)"
LOOP = "for step in range(9):\n    train(step)\n    if step > 8:\n        os.kill(os.getpid(), 9)"
AT_ONCE = "os.kill(os.getpid(), 9)"


def killed(cell, *, seen=None, after_s=None, **more):
    """Ended by SIGKILL in `cell`, which was seen in line `seen` some time before the end, if at all."""
    made = recording(SETUP, cell, signal="SIGKILL", memory=(50 * MIB,) * 400, groups=[Group(2 * GIB)], **more)
    if seen is not None:
        line, ago_s = seen
        look = Stack(made.end.mono_s - ago_s, "asked", (thread(own_frame(cell, line)),))
        made = replace(made, stacks=(look,))
    if after_s is not None:
        made = replace(made, end=replace(made.end, mono_s=made.cells[-1].started_mono_s + after_s))
    return diagnose(made)


def answers(answer):
    return [(cause.id, cause.certainty.word) for cause in answer.causes]


@pytest.mark.parametrize("cell", [GUARDED, LATER, LOOP, f"print(train())\n{AT_ONCE}", f"!pip install x\n{AT_ONCE}"])
def test_a_call_that_may_not_have_run_is_likely_at_most(cell):
    first, second = answers(killed(cell))

    assert first[0] == "self-kill"
    assert first[1] in ("possible", "likely")
    assert second == ("killed-externally", "weak")
    assert "probably ended its own kernel" in killed(cell).cause.headline


@pytest.mark.parametrize("cell", [AT_ONCE, f"pid = os.getpid()\nprint('restarting')\n{AT_ONCE}"])
def test_the_first_thing_a_cell_does_was_done(cell):
    assert answers(killed(cell))[0] == ("self-kill", "proven")


def test_a_function_that_works_before_it_signals_is_no_proof():
    body = "def stop():\n    {}os.kill(os.getpid(), 9)\nstop()"

    assert answers(killed(body.format("")))[0] == ("self-kill", "proven")
    assert answers(killed(body.format("save(model)\n    ")))[0] == ("self-kill", "likely")


def test_a_cell_that_ran_only_for_a_moment_ended_itself():
    assert answers(killed(LATER.replace("30", "0.1"), after_s=0.2))[0] == ("self-kill", "proven")
    assert answers(killed(LATER, after_s=1.5))[0] == ("self-kill", "likely")


@pytest.mark.parametrize("ago_s", [0.1, 4])
def test_a_statement_that_the_cell_has_left_behind_did_not_run(ago_s):
    answer = killed(GUARDED, seen=(4, ago_s), server="watched")

    assert answers(answer) == [("killed-externally", "likely")]


def test_a_look_at_a_cell_that_does_nothing_tells_as_well():
    still = Stuck(-4, -14, threads=(thread(own_frame(GUARDED, 4), waits_in="hrtimer_nanosleep"),))

    assert answers(killed(GUARDED, stuck=[still]))[0][0] == "killed-externally"


def test_a_stack_at_another_line_just_before_the_end_speaks_for_somebody_else():
    assert answers(killed(LATER, seen=(1, 0.1)))[0][0] == "killed-externally"
    assert answers(killed(LOOP, seen=(2, 0.1)))[0][0] == "killed-externally"


def test_an_older_stack_before_the_call_says_nothing():
    assert answers(killed(LATER, seen=(1, 5)))[0] == ("self-kill", "likely")


def test_the_line_in_the_stack_is_proof():
    assert answers(killed(LOOP, seen=(4, 0.1)))[0] == ("self-kill", "proven")


def test_a_stack_without_the_cells_top_level_shows_no_place():
    task = Stack(-0.1, "asked", (thread(frame("socket.py", "recv"), own_frame(GUARDED, 4, "task")),))

    assert answers(killed(GUARDED, stacks=[task]))[0][0] == "self-kill"


def test_an_exit_that_was_left_behind_is_not_the_one():
    cell = "import os\nif bad:\n    os._exit(3)\nsolve()"
    look = Stack(-3, "asked", (thread(own_frame(cell, 4)),))

    assert "os._exit" in diagnose(recording(cell, exit_code=3)).cause.headline
    assert "os._exit" not in diagnose(recording(cell, exit_code=3, stacks=[look])).cause.headline


@pytest.mark.parametrize(
    "cell",
    [
        "def bye(*a): os._exit(5)\nsignal.signal(signal.SIGALRM, bye)\nwork()",
        "threading.Timer(1, os._exit, args=(5,)).start()\nwork()",
        "from os import _exit as leave\natexit.register(lambda: leave(5))\nwork()",
    ],
)
def test_an_exit_for_a_handler_or_a_thread_is_found(cell):
    answer = diagnose(recording("import os, signal, threading, atexit", cell, exit_code=5))
    texts = " ".join(evidence.text for evidence in answer.cause.evidence)

    assert answer.cause.id == "exit-call"
    assert "gives this call to a timer, a thread or a handler" in texts or "names a call that ends the process" in texts
    assert "has no call" not in texts


def test_an_exit_with_another_code_is_no_missing_call():
    answer = diagnose(recording("import os\nif bad: os._exit(3)\nsolve()", exit_code=7))

    assert not any("has no call" in evidence.text for evidence in answer.cause.evidence)


def test_what_a_thread_may_have_done_is_not_laid_on_the_cell_that_ran():
    answer = diagnose(recording("mylib.connect()", "time.sleep(60)", exit_code=4))

    assert answer.cause.headline == (
        "Something in the kernel's process ended it with exit code 4 while cell [2] was running `time.sleep(60)`."
    )
    assert any(one.text.startswith("Cell [2] has no call that ends the process") for one in answer.cause.evidence)


def test_the_cell_that_holds_the_call_is_named_by_the_evidence():
    cell = "import os, threading\ndef guard():\n    os._exit(3)\nthreading.Thread(target=guard).start()"
    answer = diagnose(recording(cell, "work()", exit_code=3))
    texts = [one.text for one in answer.cause.evidence]

    assert answer.cause.headline.startswith("Code of cell [1] in a timer, thread or handler probably")
    assert "Line 3 of cell [1] gives this call to a timer, a thread or a handler: `os._exit(3)`." in texts
    assert not any("has no call" in text for text in texts)
    assert answer.cell.execution_count == 2
