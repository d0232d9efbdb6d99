import re

import pytest

from jupyter_kerneldoctor.diagnosis.analysis.traceback import fatal_message, fitting, reports
from jupyter_kerneldoctor.diagnosis.examples import crash_report

REAL = """Fatal Python error: Segmentation fault

Thread 0x00007f97affff6c0 (most recent call first):
  File "/venv/lib/python3.11/site-packages/ipykernel/parentpoller.py", line 62 in run
  File "/usr/lib/python3.11/threading.py", line 1045 in _bootstrap_inner

Current thread 0x00007f348d643b80 [python] (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/tmp/ipykernel_7909/3969831056.py", line 3 in f
  File "/tmp/ipykernel_7909/3969831056.py", line ??? in <module>

Current thread's C stack trace (most recent call first):
  Binary file "/usr/bin/python3.14", at _Py_DumpStack+0x3c [0x6f2c2c]
  Binary file "/lib/x86_64-linux-gnu/libc.so.6", at +0x45330 [0x7f0]
  Binary file "/venv/lib/python3.14/site-packages/lib/_fast.cpython-314.so", at +0x2 [0x7f1]

Extension modules: zmq.backend.cython._zmq, psutil._psutil_linux (total: 2)
"""


@pytest.mark.parametrize("version", ["", "t"])
def test_reads_threads_frames_and_native_code(version):
    (report,) = reports(re.sub(r"python3\.\d+", rf"\g<0>{version}", REAL))
    assert [len(thread.frames) for thread in report.threads] == [2, 3]
    innermost = report.current.frames[0]
    assert (innermost.function, innermost.line, innermost.module) == ("string_at", 519, "ctypes")
    assert report.current.frames[2].line is None
    assert report.library == "_fast.cpython-314.so"
    assert [frame.module for frame in report.threads[0].frames] == ["ipykernel", "threading"]


@pytest.mark.parametrize(("signal", "fits"), [("SIGSEGV", True), (None, True), ("SIGKILL", False), ("SIGABRT", False)])
def test_a_report_is_believed_only_if_it_fits_the_signal(signal, fits):
    assert (fitting(REAL, signal) is not None) == fits


def test_the_last_report_that_fits_counts():
    child = crash_report("Segmentation fault", ("child.py", 1, "f"))
    own = crash_report("Segmentation fault", ("own.py", 2, "g"))
    later = crash_report("Aborted", ("other.py", 3, "h"))
    assert fitting(child + own + later, "SIGSEGV").current.frames[0].file == "own.py"


def test_pythons_own_last_words():
    text = crash_report("_Py_CheckRecursiveCall: Cannot recover from stack overflow.") + crash_report("Aborted")
    assert fatal_message(text) == "_Py_CheckRecursiveCall: Cannot recover from stack overflow."
    assert fatal_message(REAL) is None


def test_recursion_is_deep_and_repetitive():
    def recursion(*functions, cut=True):
        frames = [("m.py", 1, function) for function in functions]
        return reports(crash_report("Segmentation fault", *frames, cut=cut))[0].recursion

    assert recursion(*["f"] * 100).function == "f"
    assert recursion(*["f", "g", "h", "i"] * 25).times == 25
    assert recursion(*["f"] * 100, cut=False) is None
    assert recursion(*["f"] * 20) is None
    assert recursion(*[f"f{n}" for n in range(100)]) is None


@pytest.mark.parametrize(
    "text", ["", "Fatal Python error: ", "Fatal Python error: Segmentation fault", "\x00" * 9, REAL[:400]]
)
def test_torn_text_is_read_as_far_as_it_goes(text):
    report = fitting(text, "SIGSEGV")
    assert report is None or report.library is None


def test_a_report_of_the_one_thread_that_crashed():
    """What faulthandler writes with `all_threads=False`."""
    text = 'Fatal Python error: Aborted\n\nStack (most recent call first):\n  File "/tmp/a.py", line 3 in f\n'

    report = fitting(text, "SIGABRT")

    assert [frame.function for frame in report.current.frames] == ["f"]
    assert report.current.current


def test_a_thread_that_is_none_of_pythons_shows_by_a_report_without_a_stack():
    library = "Fatal Python error: Aborted\n\n\nExtension modules: zmq.backend.cython._zmq (total: 1)\n"
    assert fitting(library, "SIGABRT").without_python
    cut_short = "Fatal Python error: Aborted\n\n"
    assert not fitting(cut_short, "SIGABRT").without_python
    assert not fitting(REAL, "SIGSEGV").without_python


@pytest.mark.parametrize(
    "head",
    [
        "Fatal Python error: Fatal Python error: Segmentation faultSegmentation fault\n\n\n\n",
        "Fatal Python error: Segmentation faultFatal Python error: \n\nSegmentation fault\n\n",
        "Fatal Python error: Fatal Python error: Segmentation fault\n\nSegmentation fault\n\n",
    ],
)
def test_two_threads_that_crash_at_once_write_into_each_others_words(head):
    stack = 'Stack (most recent call first):\n  File "/tmp/ipykernel_7909/3969831056.py", line 6 in read\n'
    assert fitting(head + stack, "SIGSEGV").current.frames[0].function == "read"


def test_the_report_of_an_interpreter_that_stops_itself_is_of_the_abort():
    said = "none_dealloc: deallocating None: bug likely caused by a refcount error in a C extension"
    text = crash_report(said, ("own.py", 12, "bench"))
    assert fitting(text, "SIGABRT").current.frames[0].function == "bench"
    assert fitting(text, "SIGSEGV") is None


@pytest.mark.parametrize("signal", ["SIGSEGV", "SIGBUS"])
def test_two_threads_that_crash_at_the_same_moment(signal):
    """As HDF5 in two threads did: both write their report into the same file, piece by piece."""
    mixed = "Fatal Python error: Fatal Python error: Segmentation faultBus error\n\n\n\n\n"
    text = f'{mixed}\nStack (most recent call first):\n  File "/tmp/a.py", line 3 in f\n'

    report = fitting(text, signal)

    assert report.crashed_together
    assert [frame.function for frame in report.current.frames] == ["f"]
    assert fitting(text, "SIGABRT") is None
