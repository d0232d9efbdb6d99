"""Statements with which a cell ends its own kernel."""

import pytest

from jupyter_kerneldoctor.diagnosis.code.calls import ending_calls, handed_over
from jupyter_kerneldoctor.recording.model import Cell


def calls(*sources):
    cells = [Cell(source) for source in sources]
    return ending_calls(cells, cells[-1])


@pytest.mark.parametrize(
    ("source", "kind", "line", "signal"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "signal", 2, "SIGKILL"),
        ("import os\nos.kill(os.getpid(), sig=9)", "signal", 2, "SIGKILL"),
        ("import os as o\npid = o.getpid()\no.kill(pid, 15)", "signal", 3, "SIGTERM"),
        ("from os import *\nimport os\nkill = os.kill\nkill(os.getpid(), 11)", "signal", 4, "SIGSEGV"),
        ("import os\nos.killpg(os.getpgid(0), 9)", "signal", 2, "SIGKILL"),
        ("import signal\nsignal.raise_signal(signal.Signals.SIGABRT)", "signal", 2, "SIGABRT"),
        ("import psutil, os\npsutil.Process(os.getpid()).terminate()", "signal", 2, "SIGTERM"),
        ("x = 1\n!kill -TERM $PPID", "signal", 2, "SIGTERM"),
        ("!kill {os.getpid()}", "signal", 1, "SIGTERM"),
        ("import subprocess, os\nsubprocess.run(['kill', '-9', str(os.getpid())])", "signal", 2, "SIGKILL"),
        ("import os\nos.abort()", "abort", 2, "SIGABRT"),
        ("import os\nwork(); os._exit(3)", "exit", 2, None),
        ("import ctypes\nctypes.CDLL('libc.so.6').exit(3)", "exit", 2, None),
        ("exit", "ask", 1, None),
        ("if x: quit()", "ask", 1, None),
        ("get_ipython().ask_exit()", "ask", 1, None),
        ("import os\nos.execvp('ls', ['ls'])", "replace", 2, None),
        ("%%time\nimport os\nos._exit(1)", "exit", 3, None),
    ],
)
def test_finds_the_call(source, kind, line, signal):
    (call,) = calls(source)
    assert (call.kind, call.line, call.signal) == (kind, line, signal)


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.kill(child, 9)",
        "import os\nos.kill(os.getppid(), 9)",
        "import psutil\npsutil.Process(1).kill()",
        "import sys\nsys.exit(1)",
        "raise SystemExit",
        "'os._exit(1)'",
        "# os._exit(1)",
        "def stop():\n    import os\n    os._exit(1)",
        "later = lambda: exit()",
        "parser.exit(1)",
        "process.kill()",
        "!kill 4242",
        "!pkill firefox",
        "print(exit)",
        "os = Fake()\nos.kill(1, 2)",
    ],
)
def test_leaves_alone_what_does_not_end_the_kernel(source):
    assert calls(source) == ()


def test_names_come_from_the_cells_before():
    (call,) = calls("from os import _exit as leave", "x = 1", "leave(259)")
    assert (call.kind, call.exit_code, call.line) == ("exit", 3, 1)


def test_a_function_defined_before_is_followed():
    (call,) = calls("import os\ndef stop(code=1):\n    if code: os._exit(code)", "x = 1\nstop()")
    assert (call.line, call.text, call.exit_code, call.certain) == (2, "stop()", None, False)


def test_a_function_defined_again_no_longer_ends_anything():
    assert calls("import os\ndef stop(): os._exit(1)", "def stop(): pass", "stop()") == ()


def test_only_what_is_always_reached_is_certain():
    assert [call.certain for call in calls("import os\nos._exit(1)")] == [True]
    assert [call.certain for call in calls("import os\nif bad:\n    os._exit(1)")] == [False]
    assert [call.certain for call in calls("import os\nbad and os._exit(1)")] == [False]


def test_what_takes_time_before_the_call_is_noticed():
    assert [call.prompt for call in calls("import os\npid = os.getpid()\nos._exit(1)")] == [True]
    assert [call.prompt for call in calls("import os, time\ntime.sleep(9)\nos._exit(1)")] == [False]


def test_a_truncated_cell_is_not_read():
    cell = Cell("import os\nos._exit(1)", truncated=True)
    assert ending_calls([cell], cell) == ()


@pytest.mark.parametrize(
    ("sources", "cell", "line", "code"),
    [
        (("import os\nTimer(9, lambda: os.kill(os.getpid(), 15)).start()", "work()"), 0, 2, None),
        (("import os\ndef stop():\n    os._exit(3)", "Thread(target=stop).start()", "work()"), 0, 3, 3),
        (("import faulthandler\nfaulthandler.dump_traceback_later(60, exit=True)", "work()"), 0, 2, 1),
    ],
)
def test_finds_what_a_timer_or_a_thread_may_call_later(sources, cell, line, code):
    cells = [Cell(source) for source in sources]
    ((home, call),) = handed_over(cells, cells[-1])
    assert (home is cells[cell], call.line, call.exit_code) == (True, line, code)


def test_a_function_that_no_one_is_given_is_called_by_no_one():
    cells = [Cell("import os\ndef stop():\n    os._exit(3)"), Cell("if bad: stop()\nwork()")]
    assert handed_over(cells, cells[-1]) == ()


def test_a_function_that_a_worker_process_is_given_ends_only_that():
    cells = [Cell("import os\ndef stop():\n    os._exit(3)"), Cell("Process(target=stop).start()\nwork()")]
    assert handed_over(cells, cells[-1]) == ()
