"""Threads that end with an error: told of, and shown to the user as if nobody listened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.kernels import LiveKernel

FAILS = """\
import threading
def parse(text):
    return float(text)
def work():
    parse("swordfish")
thread = threading.Thread(target=work)
thread.start(); thread.join()
"""


def test_a_thread_that_fails(kernel: LiveKernel):
    kernel.run(FAILS)

    (error,) = kernel.wait_recorded(lambda recording: recording.thread_errors).thread_errors
    assert error.error == "ValueError"
    assert [frame.function for frame in error.frames][:3] == ["parse", "work", "run"]
    assert error.frames[0].line == 3
    directory = kernel.recording().id
    journal = next(kernel.data_root.rglob(f"{directory}/journal.jsonl")).read_text()
    told = next(line for line in journal.splitlines() if '"thread_error"' in line)
    assert "swordfish" not in told  # the error's text is the user's


def test_the_users_own_hook_still_runs(kernel: LiveKernel):
    """One that was set before, one that is set later, and one that fails itself."""
    outcome = kernel.run(
        "import threading\nseen = []\n%kerneldoctor off\n"
        "threading.excepthook = lambda given: seen.append(('before', given.exc_type.__name__, given.thread.name))\n"
        f"%kerneldoctor on\n{FAILS}\n"
        "threading.excepthook = lambda given: seen.append(('later', given.exc_type.__name__))\n"
        f"{FAILS}\nseen[0][:2], seen[1:]"
    )
    assert outcome.result == "(('before', 'ValueError'), [('later', 'ValueError')])"


def test_the_hook_is_given_back(kernel: LiveKernel):
    outcome = kernel.run("import threading\n%kerneldoctor off\nthreading.excepthook is threading.__excepthook__")
    assert outcome.result == "True"


def test_a_fork_tells_nothing(kernel: LiveKernel):
    kernel.run(
        f"import os\npid = os.fork()\nif pid == 0:\n    exec({FAILS!r})\n    os._exit(0)\nos.waitpid(pid, 0)\n{FAILS}"
    )
    assert len(kernel.wait_recorded(lambda recording: recording.thread_errors).thread_errors) == 1


def test_a_thread_that_ends_itself_has_not_failed(kernel: LiveKernel):
    kernel.run(
        f"import sys, threading\nthread = threading.Thread(target=sys.exit)\nthread.start(); thread.join()\n{FAILS}"
    )
    (error,) = kernel.wait_recorded(lambda recording: recording.thread_errors).thread_errors
    assert error.error == "ValueError"
