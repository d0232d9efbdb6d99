"""Statements with which a cell ends its own kernel."""

import pytest

from jupyter_kerneldoctor.diagnosis.code.cellsource import _parse
from jupyter_kerneldoctor.diagnosis.code.deferred_calls import deferred_calls, names_an_exit
from jupyter_kerneldoctor.diagnosis.code.ending_calls import ending_calls
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
from jupyter_kerneldoctor.recording.model import Cell

SERVER = "import os, subprocess\nserver = subprocess.Popen"


def calls(*sources):
    cells = [Cell(source) for source in sources]
    return ending_calls(Notebook(cells, cells[-1]))


@pytest.mark.parametrize(
    ("source", "kind", "line", "signal"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "signal", 2, "SIGKILL"),
        ("import os\nos.kill(os.getpid(), sig=9)", "signal", 2, "SIGKILL"),
        ("import os as o\npid = o.getpid()\no.kill(pid, 15)", "signal", 3, "SIGTERM"),
        ("from os import *\nimport os\nkill = os.kill\nkill(os.getpid(), 11)", "signal", 4, "SIGSEGV"),
        ("import os\nos.killpg(os.getpgid(0), 9)", "signal", 2, "SIGKILL"),
        (f"{SERVER}(['x'])\nos.killpg(os.getpgid(server.pid), 15)", "signal", 3, "SIGTERM"),
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


@pytest.mark.parametrize(
    "again",
    [
        "pid, port = 4711, 8080",
        "pid = ask()",
        "pid: int = 4711",
        "for pid in workers: pass",
        "with job() as pid: pass",
        "pid += 1",
    ],
)
def test_a_name_that_was_bound_again_stands_for_something_else(again):
    assert calls("import os\npid = os.getpid()", again, "os.kill(pid, 9)") == ()
    assert len(calls("import os\npid = 4711", again, "pid, x = os.getpid(), 1", "os.kill(pid, 9)")) == 1


def test_what_a_function_is_given_may_be_any_process():
    assert calls("import os\npid = os.getpid()", "def stop(pid):\n    os.kill(pid, 9)\nstop(4711)") == ()
    (call,) = calls("import os\npid = os.getpid()", "def stop():\n    os.kill(pid, 9)\nstop()")
    assert call.signal == "SIGKILL"


def test_a_name_within_a_function_hides_no_other():
    (call,) = calls("import os\npid = os.getpid()", "def f():\n    pid = child.pid", "os.kill(pid, 9)")
    assert call.signal == "SIGKILL"


def test_cells_that_can_teach_nothing_are_not_parsed():
    day = [Cell(f"def step_{number}(x):\n    return df['skills'] + x") for number in range(50)]
    last = Cell("import os\nos._exit(3)")
    _parse.cache_clear()

    assert ending_calls(Notebook([*day, Cell("step_1(1)")], day[-1])) == ()
    assert _parse.cache_info().misses == 0
    assert len(ending_calls(Notebook([*day, last], last))) == 1
    assert _parse.cache_info().misses == 1


def test_a_truncated_cell_is_not_read():
    cell = Cell("import os\nos._exit(1)", truncated=True)
    assert ending_calls(Notebook([cell], cell)) == ()


@pytest.mark.parametrize(
    ("sources", "cell", "line", "code"),
    [
        (("import os\nTimer(9, lambda: os.kill(os.getpid(), 15)).start()", "work()"), 0, 2, None),
        (("import os\ndef stop():\n    os._exit(3)", "Thread(target=stop).start()", "work()"), 0, 3, 3),
        (("import os\nTimer(9, os._exit, args=(3,)).start()", "work()"), 0, 2, 3),
        (("import os\nloop.call_later(9, os._exit, 3)", "work()"), 0, 2, 3),
        (("import os\nTimer(9, os.kill, (os.getpid(), 15)).start()", "work()"), 0, 2, None),
        (("import os\nTimer(9, lambda pid=os.getpid(): os.kill(pid, 15)).start()", "work()"), 0, 2, None),
        (("import faulthandler\nfaulthandler.dump_traceback_later(60, exit=True)", "work()"), 0, 2, 1),
        (("import os\ndef fatal(args):\n    os._exit(70)", "threading.excepthook = fatal", "work()"), 0, 3, 70),
        (("import os, sys\nsys.excepthook = lambda *error: os._exit(2)", "work()"), 0, 2, 2),
        (
            ("import os\ndef done(future):\n    if future.exception(): os._exit(4)", "f.add_done_callback(done)"),
            0,
            3,
            4,
        ),
        (("import atexit, os\n@atexit.register\ndef leave():\n    os._exit(5)", "work()"), 0, 4, 5),
        (("import os\ndef die(loop, context): os._exit(6)", "loop.set_exception_handler(die)", "work()"), 0, 2, 6),
        (("import os\nclass W(Thread):\n    def run(self):\n        if late(): os._exit(7)", "W().start()"), 0, 4, 7),
        (
            ("import os\nclass W:\n    def die(self): os._exit(8)\n    def go(self): Timer(9, self.die).start()",),
            0,
            3,
            8,
        ),
        (("import os\ndef die(code): os._exit(9)", "signal.signal(15, partial(die, 9))", "work()"), 0, 2, 9),
    ],
)
def test_finds_what_a_timer_or_a_thread_may_call_later(sources, cell, line, code):
    cells = [Cell(source) for source in sources]
    for last in (cells[-1], None):  # while a cell runs, and while none does
        ((home, call),) = deferred_calls(Notebook(cells, last))
        assert (home is cells[cell], call.line, call.exit_code) == (True, line, code)


def test_a_timer_that_ends_another_process_is_none():
    cells = [Cell("import os\npid = os.getpid()"), Cell("Timer(9, lambda pid: os.kill(pid, 9), (child.pid,)).start()")]
    assert deferred_calls(Notebook(cells)) == ()


def test_a_function_that_no_one_is_given_is_called_by_no_one():
    cells = [Cell("import os\ndef stop():\n    os._exit(3)"), Cell("if bad: stop()\nwork()")]
    assert deferred_calls(Notebook(cells, cells[-1])) == ()


def test_a_function_that_a_worker_process_is_given_ends_only_that():
    cells = [Cell("import os\ndef stop():\n    os._exit(3)"), Cell("Process(target=stop).start()\nwork()")]
    assert deferred_calls(Notebook(cells, cells[-1])) == ()


def test_the_run_of_a_process_and_a_plain_attribute_end_no_kernel():
    for source in (
        "import os\nclass W(Process):\n    def run(self): os._exit(3)\nW().start()",
        "import os\ndef die(): os._exit(3)\nworker.die = die",
    ):
        assert deferred_calls(Notebook([Cell(source)])) == ()


LOOP = "import os, psutil\nfor p in psutil.process_iter():\n    if 'python' in p.name(): p.kill()"
FOUND = "import os, psutil"
SCRIPT = "from pathlib import Path\nPath('run.sh').write_text('work &\\nsleep 9\\nkill 0')"
RUNS = "import subprocess\nsubprocess.run(['sh', 'run.sh'])"


@pytest.mark.parametrize(
    ("sources", "aims"),
    [
        ([LOOP], ["all"]),
        ([LOOP.replace("if", "if p.pid != os.getpid() and")], []),
        (["import os\nfor pid in os.popen('pgrep python').read().split(): os.kill(int(pid), 9)"], ["all"]),
        (["for pid in workers: os.kill(pid, 9)"], []),
        ([f"{FOUND}\nfor c in psutil.net_connections():\n    psutil.Process(c.pid).kill()"], ["all"]),
        ([f"{FOUND}\nfor c in psutil.net_connections():\n    p = psutil.Process(c.pid)\n    p.kill()"], ["all"]),
        ([f"{FOUND}\nos.kill([c.pid for c in psutil.net_connections()][0], 9)"], []),
        ([f"{FOUND}\npid = [c.pid for c in psutil.net_connections()][0]\nos.kill(pid, 9)"], ["all"]),
        ([f"{FOUND}\npid = [c.pid for c in own.net_connections()][0]\nos.kill(pid, 9)"], []),
        (["!kill -9 $(lsof -ti:8080)"], ["all"]),
        (["!lsof -ti:8080 | xargs kill -9"], ["all"]),
        ([f"{FOUND}\nhog = max(psutil.process_iter(), key=size)\nhog.kill()"], ["all"]),
        ([f"{FOUND}\n[p.kill() for p in psutil.process_iter() if 'python' in p.name()]"], ["all"]),
        ([f"{FOUND}\n[p.kill() for p in psutil.process_iter() if p.pid != os.getpid()]"], []),
        ([f"{FOUND}\n[p.kill() for p in workers]"], []),
        ([f"{FOUND}\nfor pid in os.listdir('/proc'):\n    os.kill(int(pid), 9)"], ["all"]),
        (["!kill -9 -1"], ["all"]),
        (["!kill -1 $worker"], []),
        (["!pkill -f jupyter"], ["all"]),
        (["!ps aux | grep python | awk '{print $2}' | xargs kill -9"], ["all"]),
        (["!nvidia-smi --query-compute-apps=pid --format=csv | xargs -n1 kill -9"], ["all"]),
        (["!fuser -k 8080/tcp"], ["all"]),
        (["!fuser 8080/tcp"], []),
        (["!pkill -9 -f ipykernel"], ["all"]),
        (["!killall -9 python3.11"], ["all"]),
        (["!killall -9 python3.14t"], ["all"]),
        (["!pkill firefox; pkill -P 17 python"], []),
        (["!kill -9 $worker; kill $(pgrep firefox)"], []),
        ([SCRIPT, RUNS], ["group"]),
        ([SCRIPT, RUNS.replace("])", "], start_new_session=True)")], []),
        (["!sleep 1; kill 0"], []),  # IPython gives it a session of its own
        (["%%bash\ntrap 'kill 0' EXIT\nwork"], ["group"]),
        (["!kill -s 0 17"], []),
    ],
)
def test_signals_that_are_meant_for_more_than_the_kernel(sources, aims):
    assert [call.aim for call in calls(*sources)] == aims


def test_a_shell_in_the_background_ends_the_kernel_later():
    guard = "import os, subprocess\ncommand = f'sleep 9 && kill {os.getpid()}'\nsubprocess.Popen(command, shell=True)"
    cells = [Cell(guard), Cell("work()")]
    assert [call.signal for _, call in deferred_calls(Notebook(cells, cells[-1]))] == ["SIGTERM"]


def test_a_handler_that_ends_the_kernel_is_found_in_the_first_cell_of_all():
    cell = Cell("import os, signal\nsignal.signal(signal.SIGALRM, lambda *given: os._exit(1))")
    assert names_an_exit(Notebook([cell], cell)) == 2
