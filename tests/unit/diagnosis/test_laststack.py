"""The line of a cell that was killed from outside, by the last stack that was read of it."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, cell_file, crash_report, recording
from jupyter_kerneldoctor.recording.events import Frame, Stack, ThreadStack

CELL = "import numpy as np\nx = 1\nbig = np.ones(10**12)\nx = 2"
KILLED = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=499 * MIB)
ONES = Frame("/venv/lib/python3.11/site-packages/numpy/_core/numeric.py", 233, "ones")


def at(before_end_s: float, *frames: Frame) -> Stack:
    return Stack(-before_end_s, "climbing", (ThreadStack(frames, main=True),))


def line(number: int, source: str = CELL, function: str = "<module>") -> Frame:
    return Frame(cell_file(source), number, function)


def killed(*sources: str, stacks: list[Stack], samples: int = 400):
    """Killed by the limit after a cell of ten seconds, in which memory was measured that often."""
    memory = [100 * MIB] * (samples - 1) + [480 * MIB]
    return diagnose(recording(*sources, signal="SIGKILL", memory=memory, groups=[KILLED], stacks=stacks))


def test_the_cells_line_and_the_function_it_had_called():
    answer = killed("y = 0", CELL, stacks=[at(5, line(2)), at(0.1, ONES, line(3))])

    assert (answer.cell.execution_count, answer.cell.line) == (2, 3)
    assert "`big = np.ones(10**12)`" in answer.cause.headline
    (evidence,) = [evidence for evidence in answer.cause.evidence if evidence.unit == "line"]
    assert evidence.text == "0.1 s before the end the cell was in line 3: `big = np.ones(10**12)`, inside numpy."


def test_a_function_of_the_cell_is_nearer_than_its_call():
    cell = "def grow():\n    pile.append(bytes(10**8))\ngrow()\ngrow()"
    answer = killed(cell, stacks=[at(0.1, line(2, cell, "grow"), line(4, cell))])

    assert answer.cell.line == 2


def test_of_a_function_from_an_earlier_cell_the_line_of_the_call():
    earlier = "def grow():\n    return bytes(10**10)"
    cell = "x = 1\n\nx = grow()"
    answer = killed(earlier, cell, stacks=[at(0.1, line(2, earlier, "grow"), line(3, cell))])

    assert (answer.cell.line, answer.cell.line_source) == (3, "x = grow()")


@pytest.mark.parametrize(
    "stacks",
    [
        pytest.param([at(3.5, line(3))], id="the cell may have gone on since"),
        pytest.param([at(0.9, line(3))], id="memory was measured since, and no stack was read any more"),
        pytest.param([at(12, line(3))], id="it was read while an earlier cell ran"),
        pytest.param([at(0.1, ONES)], id="the cell's own frames are missing"),
        pytest.param([at(0.1, line(3, "another cell"))], id="it shows another cell"),
        pytest.param([at(0.1, line(99))], id="the cell has no such line"),
        pytest.param([at(0.1, Frame(cell_file(CELL), None, "<module>"))], id="code of no line"),
        pytest.param([Stack(-0.1, "climbing")], id="it is empty"),
        pytest.param([], id="there is none"),
    ],
)
def test_what_is_no_proof_names_no_line(stacks):
    answer = killed("y = 0", CELL, stacks=stacks)

    assert answer.cell.line is None
    assert not [evidence for evidence in answer.cause.evidence if evidence.unit == "line"]


def test_a_traceback_of_the_crash_itself_counts_more():
    crash = crash_report("Segmentation fault", (cell_file(CELL), 4, "<module>"))
    answer = diagnose(recording(CELL, signal="SIGSEGV", crash=crash, memory=[MIB], stacks=[at(0.1, line(3))]))

    assert answer.cell.line == 4


LOOP = "rows = []\nwhile True:\n    rows.append(f())\n    i += 1\nfor row in rows:\n    g(row)"


@pytest.mark.parametrize(
    ("at_line", "words"),
    [
        pytest.param(4, "in cell [1], in the loop `while True`:", id="another line of the loop may have done it"),
        pytest.param(2, "in cell [1], in the loop `while True`:", id="the loop's own line"),
        pytest.param(6, "in cell [1] on `g(row)`:", id="a loop of one statement"),
        pytest.param(1, "in cell [1] on `rows = []`:", id="no loop"),
    ],
)
def test_in_a_loop_the_headline_names_the_loop(at_line, words):
    answer = killed(LOOP, stacks=[at(0.1, line(at_line, LOOP))])

    assert words in answer.cause.headline
    assert answer.cell.line == at_line


def test_a_line_that_only_sleeps_took_no_memory():
    """A thread did, or the line after it, too fast to be seen."""
    cell = "thread.start()\ntime.sleep(60)\nthread.join()"
    answer = killed(cell, stacks=[at(0.1, line(2, cell))])

    assert answer.cell.line is None
    assert answer.cause.headline.startswith("The kernel ran out of memory while cell [1] was running")
    assert "the cell was in line 2: `time.sleep(60)`" in " ".join(one.text for one in answer.cause.evidence)


def test_a_loop_that_sleeps_between_two_steps_took_it_in_the_other_lines():
    cell = "for part in parts:\n    pile.append(read(part))\n    time.sleep(0.1)"
    answer = killed(cell, stacks=[at(0.1, line(3, cell))])

    assert "in cell [1], in the loop `for part in parts`:" in answer.cause.headline


def test_a_crash_report_names_the_line_also_in_a_loop():
    crash = crash_report("Segmentation fault", (cell_file(LOOP), 4, "<module>"))
    answer = diagnose(recording(LOOP, signal="SIGSEGV", crash=crash, stacks=[at(0.1, line(3, LOOP))]))

    assert "on `i += 1`" in answer.cause.headline


def test_a_function_of_an_earlier_cell_is_named_by_its_cell():
    earlier = "import numpy\ndef load():\n    return bytes(10**10)"
    answer = killed(earlier, "x = load()", stacks=[at(0.1, line(3, earlier, "load"), line(1, "x = load()"))])

    (evidence,) = [evidence for evidence in answer.cause.evidence if evidence.unit == "line"]
    assert evidence.text == (
        "0.1 s before the end the kernel was in `load` (cell [1], line 3: `return bytes(10**10)`), called from "
        "`x = load()` (cell [2], line 1)."
    )


def test_the_array_that_a_function_of_an_earlier_cell_makes_is_sized():
    earlier = "import numpy as np\ndef load():\n    return np.zeros((400, 1_000_000))"
    answer = killed(earlier, "x = load()", stacks=[at(0.1, line(3, earlier, "load"), line(1, "x = load()"))])

    needed = "`np.zeros((400, 1_000_000))` needs 3.0 GiB; "
    assert any(evidence.text.startswith(needed) for evidence in answer.cause.evidence)


def test_code_whose_cell_was_not_recorded_is_not_shown_as_a_file():
    nested = Frame("/tmp/ipykernel_30692/1635469398.py", 3, "load")
    answer = killed("x = load()", stacks=[at(0.1, nested, line(1, "x = load()"))])

    assert any(evidence.text.endswith("inside `load` (a cell).") for evidence in answer.cause.evidence)
