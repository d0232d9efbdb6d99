"""Why a kernel could not be started."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.start_failure import start_failure
from jupyter_kerneldoctor.diagnosis.examples import recording
from jupyter_kerneldoctor.recording.model import ServerView

SHADOWED = (
    "Traceback (most recent call last):\n"
    '  File "/env/lib/python3.11/site-packages/ipykernel/kernelapp.py", line 20, in <module>\n    import zmq\n'
    '  File "/home/ada/{name}", line 1, in <module>\n    import antigravity\n'
    "ImportError: cannot import name 'x' from partially initialized module\n"
)

LOST = (
    "Python path configuration:\n  PYTHONHOME = '/opt/gone'\n  PYTHONPATH = (not set)\n"
    "Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding\n"
    "ModuleNotFoundError: No module named 'encodings'\n\n"
    "Current thread 0x00007fbb03e65b80 (most recent call first):\n  <no Python frame>\n"
)


def reason(stderr="", **seen):
    return start_failure(ServerView(never_ready=True, stderr=stderr, **seen)).reason


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (SHADOWED.format(name="random.py"), "`/home/ada/random.py` is taken for Python's module of that name"),
        (SHADOWED.format(name="zmq/__init__.py"), "`zmq`"),
        ("/env/bin/python: No module named ipykernel_launcher\n", "has no package `ipykernel`"),
        ("ModuleNotFoundError: No module named 'traitlets'\n", "the package `traitlets` is missing"),
        ("ModuleNotFoundError: No module named '_sqlite3'\n", "its Python lacks `_sqlite3`, a part of the standard"),
        (
            "ImportError: cannot import name 'Mapping' from 'collections' (/py/collections/__init__.py)\n",
            "`collections`, a part of Python, has no `Mapping`: a package was written for another Python",
        ),
        (LOST, "does not find its own standard library: `PYTHONHOME` is set to `/opt/gone`"),
        ("OSError: [Errno 8] Exec format error: '/env/bin/python'\n", "is made for another machine, or is a script"),
        ("OSError: [Errno 28] No space left on device: '/home/ada/.ipython'\n", "no room left"),
        ("PermissionError: [Errno 13] Permission denied: '/home/ada/.ipython'\n", "may not use `/home/ada/.ipython`"),
        ("ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found\n", "could not be loaded"),
        ("zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:5555')\n", "network port"),
        ("ValueError: bad profile\n", "`ValueError: bad profile`"),
        ("", "it ended before it answered"),
    ],
)
def test_the_reason_is_read_from_what_the_process_wrote(stderr, words):
    assert words in reason(stderr)


@pytest.mark.parametrize(
    "warning",
    [
        "WARNING: plugin foo is off: No module named 'tensorrt'",
        "UserWarning: [Errno 13] Permission denied: '/var/cache/tool'",
        "OSError: [Errno 28] No space left on device: '/var/cache/tool'",
    ],
)
def test_what_was_told_before_the_last_exception_was_not_the_reason(warning):
    said = f"{warning}\nTraceback (most recent call last):\nRuntimeError: kaboom\n"
    assert reason(said) == "the last message was `RuntimeError: kaboom`"


def test_the_signal_of_a_kernel_that_crashed_while_starting_is_named():
    assert reason(returncode=-11) == "it was ended by the signal SIGSEGV before it answered"
    assert reason("loading\n", returncode=-9).endswith("SIGKILL before it answered, and the last message was `loading`")


@pytest.mark.parametrize("seen", [{"returncode": -2}, {"stderr": "KeyboardInterrupt\n", "returncode": 1}])
def test_a_client_that_interrupts_the_start_is_named_and_what_was_not_kept_is_not_guessed(seen):
    assert reason(**seen) == "an interrupt ended it before it answered"
    assert reason(returncode=1) == "it left with exit code 1 before it answered"


def test_a_users_module_with_a_name_of_its_own_hides_nothing():
    assert "is taken for" not in reason(SHADOWED.format(name="helpers.py"))


def test_a_program_that_is_not_there():
    gone = "[Errno 2] No such file or directory: '/gone/bin/python'"
    assert "`/gone/bin/python` that its kernel.json names" in reason(
        start_error=gone, start_command=("/gone/bin/python", "-m", "ipykernel_launcher")
    )


def test_a_kernel_that_answered_did_start():
    assert diagnose(recording("f()", exit_code=1, server="watched")).cause.id != "startup-failure"


def test_a_kernel_that_never_started_has_ended_though_it_has_no_process():
    gone = ServerView(never_ready=True, start_error="[Errno 2] No such file or directory: '/gone/bin/python'")
    answer = diagnose(recording(alive=None, end="not-seen", server=gone))
    assert (answer.cause.id, answer.died, answer.end.summary) == ("startup-failure", True, "Never became ready")
