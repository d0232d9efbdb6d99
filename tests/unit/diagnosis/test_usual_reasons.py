"""Of an end that tells only how it came, the answer names the usual reasons and the check that would tell."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import GIB, MIB, Group, crash_in, recording

SUM = ("/venv/lib/python3.12/site-packages/numpy/_core/_methods.py", 51, "_sum")


def reasons(*cells, **how):
    cause = diagnose(recording(*cells, **how)).cause
    assert cause.general
    assert cause.not_known.endswith("not known.")
    assert 1 <= len(cause.usual_reasons) <= 3
    return cause.usual_reasons


def checks(*cells, **how):
    return " | ".join(one.check for one in reasons(*cells, **how))


@pytest.mark.parametrize(
    ("cells", "frame", "check"),
    [
        (["import numpy as np", "total = table.sum()"], SUM, "print(type(table)"),
        (["import numpy as np", "total = table.sum()"], SUM, "%pip install --upgrade numpy"),
        (["view = as_strided(a, (9,))", "view.sum()"], SUM, "view.base.nbytes"),
        (["import ctypes\nlib = ctypes.CDLL(path)", "lib.total(rows)"], None, "print(lib.total.argtypes"),
        (["import ctypes", "ctypes.memset(address, 0, 9)"], None, "print(hex(address))"),
        (["from numba import njit\n@njit\ndef fill(a): ...", "fill(rows)"], None, "NUMBA_BOUNDSCHECK=1"),
        (["f()"], None, "PYTHONMALLOC=debug"),
    ],
)
def test_a_crash_names_the_call_and_what_it_was_given(cells, frame, check):
    crash = crash_in(cells[-1], *([frame] if frame else []))
    assert check in checks(*cells, signal="SIGSEGV", crash=crash)


def test_modules_and_functions_are_no_arguments():
    crash = crash_in("np.sum(sorted(rows))", SUM)
    assert "print(type(rows), getattr(rows" in checks(
        "import numpy as np", "np.sum(sorted(rows))", signal="SIGSEGV", crash=crash
    )


@pytest.mark.parametrize(
    ("how", "check"),
    [
        ({"signal": "SIGKILL"}, "sudo dmesg"),
        ({"signal": "SIGKILL", "groups": [Group(2 * GIB)]}, "jupyter server extension list"),
        ({"signal": "SIGKILL", "groups": [Group(2 * GIB)], "server": "watched"}, "journalctl --since"),
        ({"signal": "SIGHUP", "groups": [Group(2 * GIB)]}, "last -F"),
        ({"signal": "SIGUSR1"}, "scontrol"),
        ({"signal": "SIGPIPE"}, "getsignal(signal.SIGPIPE)"),
        ({"exit_code": 3}, "os._exit = lambda"),
    ],
)
def test_an_end_from_outside_names_who_may_have_sent_it(how, check):
    assert check in checks("f()\ng()", memory=(50 * MIB,) * 3, **how)


def test_what_says_why_leaves_nothing_open():
    full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 501), usage_bytes=495 * MIB)
    cause = diagnose(recording("f()", signal="SIGKILL", memory=(100 * MIB, 480 * MIB), groups=[full])).cause
    assert (cause.general, cause.not_known, cause.usual_reasons) == (False, None, ())
