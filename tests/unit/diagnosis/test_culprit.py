"""Which cell, and which line of it."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, cell_file, crash_report, recording

FULL = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=499 * MIB)
STRING_AT = ("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at")


def culprit(*sources, **facts):
    return diagnose(recording(*sources, **facts)).cell


def test_the_innermost_frame_of_the_running_cell():
    define, cell = "import ctypes\ndef f():\n    ctypes.string_at(0)", "x = 1\nf()"
    frames = (STRING_AT, (cell_file(define), 3, "f"), (cell_file(cell), 2, "<module>"))
    found = culprit(define, cell, signal="SIGSEGV", crash=crash_report("Segmentation fault", *frames))
    assert (found.execution_count, found.line, found.line_source) == (2, 2, "f()")


def test_a_function_of_the_same_cell_is_nearer_than_its_call():
    cell = "def f():\n    crash()\nf()"
    frames = (STRING_AT, (cell_file(cell), 2, "f"), (cell_file(cell), 3, "<module>"))
    assert culprit(cell, signal="SIGABRT", crash=crash_report("Aborted", *frames)).line == 2


def test_a_crash_in_another_thread_is_looked_for_first_there():
    cell = "start()\ndef work():\n    crash()\njoin()"
    main = crash_report("Segmentation fault", (cell_file(cell), 4, "<module>")).replace("Current thread", "Thread")
    current = "\nCurrent thread 0x00007f0000000000 (most recent call first):\n"
    worker = f'{current}  File "{cell_file(cell)}", line 3 in work\n'
    assert culprit(cell, signal="SIGSEGV", crash=main + worker).line == 3
    elsewhere = worker.replace(cell_file(cell), "/usr/lib/python3.11/pool.py")
    assert culprit(cell, signal="SIGSEGV", crash=main + elsewhere).line == 4


def test_frames_that_were_cut_off_leave_the_only_statement():
    deep = crash_report("Segmentation fault", *[("m.py", 1, "f")] * 100, cut=True)
    assert culprit("# again\nf(x)", signal="SIGSEGV", crash=deep).line == 2
    assert culprit("f(x)\nf(y)", signal="SIGSEGV", crash=deep).line is None


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("df = pd.read_csv('big.csv')", 1),
        ("%%time\ndf = pd.read_csv(\n    'big.csv')", 2),
        ("for x in y:\n    f(x)", None),
        ("a = f()\nb = f()", None),
        ("%%bash\nls", None),
    ],
)
def test_a_kill_leaves_no_line_but_that_of_an_only_statement(cell, line):
    assert culprit(cell, signal="SIGKILL", memory=(50 * MIB, 450 * MIB), groups=[FULL]).line == line


def test_two_calls_that_could_have_done_it_name_no_line():
    cell = "import os\nif a: os._exit(1)\nif b: os._exit(1)"
    assert culprit(cell, exit_code=1).line is None
    assert culprit(cell.replace("(1)", "(2)", 1), exit_code=1).line == 3


def test_the_cell_that_asked_to_exit_is_named_though_it_is_finished():
    found = culprit("x = 1", "if x: exit()", exit_code=0, request="cell")
    assert (found.execution_count, found.line) == (2, 1)


def test_between_cells_there_is_no_culprit():
    answer = diagnose(recording("x = 1", signal="SIGKILL", idle=True))
    assert answer.cell is None
    assert "while no cell was running" in answer.cause.headline


def test_a_cell_without_a_number():
    recorded = recording("f()", signal="SIGSEGV")
    nameless = replace(recorded, cells=(replace(recorded.cells[0], execution_count=None),))
    assert "in a cell without a number on `f()`" in diagnose(nameless).cause.headline


def test_a_truncated_cell_has_no_line():
    recorded = recording("f()", signal="SIGSEGV")
    cut = replace(recorded, cells=(replace(recorded.cells[0], truncated=True),))
    assert (diagnose(cut).cell.line, diagnose(cut).cell.truncated) == (None, True)


def test_code_in_a_headline_is_one_short_line_without_escapes():
    code = "f('\x1b[31m" + "x" * 200 + "')"
    headline = diagnose(recording(code, signal="SIGSEGV")).cause.headline
    assert "\x1b" not in headline
    assert len(headline) < 200
