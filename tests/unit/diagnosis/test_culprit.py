"""Which cell, and which line of it."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.certainty import Certainty
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, cell_file, crash_report, recording
from jupyter_kerneldoctor.recording.model import Cell

FULL = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=499 * MIB)
STRING_AT = ("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at")


def culprit(*sources, **death):
    return diagnose(recording(*sources, **death)).cell


def test_the_innermost_frame_of_the_running_cell():
    define, cell = "import ctypes\ndef f():\n    ctypes.string_at(0)", "x = 1\nf()"
    frames = (STRING_AT, (cell_file(define), 3, "f"), (cell_file(cell), 2, "<module>"))
    found = culprit(define, cell, signal="SIGSEGV", crash=crash_report("Segmentation fault", *frames))
    assert (found.execution_count, found.line, found.line_source) == (2, 2, "f()")


def test_a_function_of_the_same_cell_is_nearer_than_its_call():
    cell = "def f():\n    crash()\nf()"
    frames = (STRING_AT, (cell_file(cell), 2, "f"), (cell_file(cell), 3, "<module>"))
    assert culprit(cell, signal="SIGABRT", crash=crash_report("Aborted", *frames)).line == 2


THREADING = "/usr/lib/python3.11/threading.py"
BOOTSTRAP = ((THREADING, 1045, "_bootstrap_inner"), (THREADING, 1002, "_bootstrap"))
MAIN = ("/venv/lib/python3.11/site-packages/ipykernel/kernelapp.py", 768, "start")
SPAWN = "import ctypes\ndef w():\n    time.sleep(1.2)\n    ctypes.string_at(0)\nthreading.Thread(target=w).start()"
W = (cell_file(SPAWN), 4, "w")


def crash_beside(*main, message="Segmentation fault", thread=(STRING_AT, W, *BOOTSTRAP), cut=False):
    """What faulthandler writes when `thread` crashes: that one first, then the others."""
    _, _, other = crash_report(message, *main).split("\n", 2)
    return crash_report(message, *thread, cut=cut) + "\n" + other.replace("Current thread", "Thread")


def test_a_crash_in_a_background_thread_is_not_pinned_on_the_line_that_ran_meanwhile():
    sleep = "time.sleep(5)"
    crash = crash_beside((cell_file(sleep), 1, "<module>"), MAIN)
    answer = diagnose(recording(SPAWN, "x = 1", sleep, signal="SIGSEGV", crash=crash))
    assert (answer.cell.execution_count, answer.cell.line) == (3, None)
    assert answer.cause.headline.startswith(
        "Native code of ctypes (`string_at`) crashed in a background thread, in `w` (cell [1], line 4)"
    )
    assert not any("being executed" in evidence.text for evidence in answer.cause.evidence)


PARSE = ("/venv/lib/python3.11/site-packages/pandas/io/parsers/c_parser_wrapper.py", 240, "read")


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("import pandas as pd\npath = 'sales.csv'\nsales = pd.read_csv(path)\nprint(len(sales))", 3),
        ("import pandas as pd\nparts = [pd.DataFrame(), pd.DataFrame()]\nsales = pd.concat(parts)", None),
        ("import time\ntime.sleep(5)", None),
    ],
    ids=["the only call of that library", "two calls", "nothing of it"],
)
def test_the_line_that_called_a_library_is_named_when_a_thread_of_the_librarys_own_crashed(cell, line):
    crash = crash_beside((cell_file(cell), 1, "<module>"), MAIN, thread=(PARSE, *BOOTSTRAP))
    answer = diagnose(recording(SPAWN, cell, signal="SIGSEGV", crash=crash))

    assert answer.cell.line == line
    assert ("`sales = pd.read_csv(path)`" in answer.cause.headline) == (line == 3)


def test_a_crash_in_a_background_thread_while_idle():
    answer = diagnose(recording(SPAWN, signal="SIGSEGV", crash=crash_beside(MAIN), idle=True))
    assert answer.cell is None
    assert "in `w` (cell [1], line 4), while no cell was running" in answer.cause.headline


def test_an_abort_in_a_background_thread():
    crash = crash_beside((cell_file("os.abort()"), 1, "<module>"), MAIN, message="Aborted", thread=(W, *BOOTSTRAP))
    answer = diagnose(recording(SPAWN, "os.abort()", signal="SIGABRT", crash=crash))
    assert (answer.cell.execution_count, answer.cell.line) == (2, None)
    told = "Native code gave up and ended the kernel in a background thread, in `w` (cell [1], line 4)."
    assert answer.cause.headline == told


def test_a_signal_that_a_cell_sends_is_not_the_crash_of_a_background_thread():
    cell = "import os\nf()\nos.kill(os.getpid(), 11)"
    crash = crash_beside((cell_file(cell), 2, "<module>"), MAIN)
    assert diagnose(recording(SPAWN, cell, signal="SIGSEGV", crash=crash)).cause.id == "segfault"


def test_a_background_thread_whose_first_function_is_not_shown():
    sleep = "time.sleep(5)"
    crash = crash_beside((cell_file(sleep), 1, "<module>"), MAIN, thread=(STRING_AT, W))
    assert culprit(SPAWN, sleep, signal="SIGSEGV", crash=crash).line is None
    crash = crash_beside((cell_file(sleep), 1, "<module>"), MAIN, thread=[W] * 100, cut=True)
    answer = diagnose(recording(SPAWN, sleep, signal="SIGSEGV", crash=crash))
    assert answer.cause.headline.startswith("In a background thread, `w` (cell [1], line 4) called itself")


def test_a_background_thread_in_a_function_of_the_running_cell_has_a_line():
    cell = "def work():\n    crash()\nstart(work)\njoin()"
    crash = crash_beside((cell_file(cell), 4, "<module>"), MAIN, thread=((cell_file(cell), 2, "work"), *BOOTSTRAP))
    answer = diagnose(recording(cell, signal="SIGSEGV", crash=crash))
    assert answer.cell.line == 2
    assert "That thread was at line 2 of cell [1]: `crash()`." in [one.text for one in answer.cause.evidence]


def test_a_recursion_in_the_main_thread_is_no_background_thread_though_its_start_is_not_shown():
    crash = crash_beside(*BOOTSTRAP, thread=[STRING_AT] * 100, cut=True)
    assert culprit("f(x)", signal="SIGSEGV", crash=crash).line == 1


def test_the_function_that_called_itself_has_its_place_as_the_user_sees_it():
    define = "%%time\nclass A:\n    def __repr__(self): return repr(self)"
    frames = [("<timed exec>", 2, "__repr__")] * 100
    answer = diagnose(
        recording(define, "a", signal="SIGSEGV", crash=crash_report("Segmentation fault", *frames, cut=True))
    )
    assert answer.cause.headline.startswith("While cell [2] ran, `__repr__` (cell [1], line 3) called itself")


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


def test_calls_that_come_to_the_same_exit_name_its_statement_and_no_line_of_the_cell():
    menu = "def menu(choice):\n    if choice == 'q':\n        exit()"
    found = diagnose(recording(menu, "menu('b')\nmenu('q')", exit_code=0, request="cell"))
    assert (found.cell.line, found.statement.execution_count, found.statement.line) == (None, 1, 3)
    found = diagnose(recording(menu, "menu('q')\nexit()", exit_code=0, request="cell"))
    assert found.statement is None


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


def test_the_users_own_module_between_the_library_and_the_cell_is_named():
    cell = "data = mymod.broken(0)"
    library = ("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at")
    own, caller = ("/home/me/mymod.py", 3, "broken"), ("/home/me/run.py", 9, "go")
    called = "It was called from mymod.py, line 3 (function broken)."

    def told(*frames):
        crash = crash_report("Segmentation fault", *frames, (cell_file(cell), 1, "<module>"))
        return [one.text for one in diagnose(recording(cell, signal="SIGSEGV", crash=crash)).cause.evidence]

    assert called in told(library, own, caller)
    assert not any("It was called from" in text for text in (*told(library), *told(own, caller)))


@pytest.mark.parametrize(("signal", "message"), [("SIGSEGV", "Segmentation fault"), ("SIGABRT", "Aborted")])
def test_a_crash_in_a_librarys_own_thread_is_not_pinned_on_the_cell(signal, message):
    report = f"Fatal Python error: {message}\n\n\nExtension modules: zmq.backend.cython._zmq (total: 1)\n"
    answer = diagnose(recording("lib.start()", "time.sleep(9)", signal=signal, crash=report))
    assert "in a native library's thread, while cell [2] was running" in answer.cause.headline
    assert answer.cell.line is None
    called = diagnose(recording("lib.start()", "lib.sum(x)", signal=signal, crash=report))
    assert called.cell.line == 1  # the cell's only call: the library's threads work for it


def test_a_thread_of_a_library_that_calls_into_a_cell():
    define = "import tensorflow as tf\ndef load(i):\n    return lib.read(i)"
    frames = [(cell_file(define), 3, "load"), ("/venv/lib/python3.11/site-packages/tensorflow/x.py", 269, "__call__")]
    crash = crash_report("Segmentation fault", *frames)
    answer = diagnose(recording(define, "for item in data: pass", signal="SIGSEGV", crash=crash))
    assert "in a background thread, in `load` (cell [1], line 3)" in answer.cause.headline
    assert answer.cell.line is None


def run_all(*sources, queued, **death):
    """A kernel that only the server watches: these cells ran, those waited behind the last of them."""
    made = recording(*sources, server="watched", **death)
    kernel = replace(made.kernel, loaded_by="server")
    waiting = [Cell(source, execution_count=len(sources) + place) for place, source in enumerate(queued, 1)]
    return diagnose(replace(made, kernel=kernel, queued=tuple(waiting)))


def test_a_crash_may_be_that_of_the_next_cell_where_the_reply_was_lost():
    sure = run_all("x = 1", queued=[], signal="SIGSEGV")
    found = run_all("x = 1", queued=["solve(m)", "show()"], signal="SIGSEGV")

    assert "in cell [1] or cell [2]" in found.cause.headline
    assert (found.cell.execution_count, found.cell.line) == (1, None)
    assert [cell["source"] for cell in found.to_json()["other_cells"]] == ["solve(m)"]
    assert found.cause.certainty < sure.cause.certainty


@pytest.mark.parametrize(
    ("signal", "exit_code", "code"),
    [
        ("SIGKILL", None, "import os\nos.kill(os.getpid(), 9)"),
        ("SIGSEGV", None, "import os\nos.kill(os.getpid(), 11)"),
        (None, 3, "import os\nos._exit(3)"),
    ],
)
def test_a_queued_cell_whose_code_explains_the_end_is_named_alone(signal, exit_code, code):
    found = run_all("x = 1", queued=["y = 2", code], signal=signal, exit_code=exit_code)

    assert (found.cell.source, found.cause.family) == (code, "own-end")
    assert found.other_cells == ()
    assert found.cause.certainty <= Certainty.STRONG


def test_a_kill_for_memory_is_not_that_of_a_cell_that_waited():
    memory = [number * 50 * MIB for number in range(1, 10)]
    found = run_all(
        "fit()", queued=["import os\nos.kill(os.getpid(), 9)"], signal="SIGKILL", memory=memory, groups=[FULL]
    )

    assert (found.cause.id, found.cell.source, found.other_cells) == ("oom-cgroup", "fit()", ())
