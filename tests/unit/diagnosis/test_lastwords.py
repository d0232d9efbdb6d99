"""The sentences with which libraries say why they give up, and which of them count."""

import time
from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.last_words import farewell, naming_a_cause
from jupyter_kerneldoctor.diagnosis.causes import last_words_patterns
from jupyter_kerneldoctor.diagnosis.examples import cell_file, crash_report, recording
from jupyter_kerneldoctor.recording.events import Output, Rlimit, SystemState

BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"


def causes(text):
    return [words.cause for words in naming_a_cause(text, last_words_patterns())]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("free(): invalid next size (fast)", "heap-corruption"),
        ("free(): too many chunks detected in tcache", "heap-corruption"),
        ("malloc_consolidate(): unaligned fastbin chunk detected", "heap-corruption"),
        ("realloc(): invalid old size", "heap-corruption"),
        ("*** Error in `/usr/bin/python': free(): invalid next size (normal): 0x0000000002a5 ***", "heap-corruption"),
        ("malloc(): unsorted double linked list corrupted", "heap-corruption"),
        ("python: malloc.c:2617: sysmalloc: Assertion `(old_top == initial_top (av))' failed.", "heap-corruption"),
        ("==77==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602", "heap-corruption"),
        (
            "libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc",
            "allocation-refused",
        ),
        ("OpenBLAS blas_thread_init: pthread_create failed for thread 7 of 64: Resource temp", "thread-limit"),
        ("OMP: Error #34: System unable to allocate necessary resources for OMP thread:", "thread-limit"),
        ("/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by a.so)", "binary-incompatibility"),
        ("Intel oneMKL FATAL ERROR: Cannot load libmkl_core.so.2.", "binary-incompatibility"),
        ("INTEL MKL ERROR: /a/libmkl_avx2.so: undefined symbol: mkl_sparse_optimize.", "binary-incompatibility"),
        ("Cannot mix incompatible Qt library (5.15.2) with this library (5.12.9)", "binary-incompatibility"),
        ("QXcbConnection: Could not connect to display :99", "no-display"),
        ("(Viewer:12): Gtk-WARNING **: 10:11:12.123: cannot open display: ", "no-display"),
        ('XIO:  fatal IO error 11 (Resource temporarily unavailable) on X server ":0"', "no-display"),
    ],
)
def test_a_line_speaks_for_a_cause(text, cause):
    assert causes(f"some log line\n{text}\nAborted\n") == [cause]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Epoch 1/10 - loss: 0.3\n",
        "freed 12 blocks, all pointers valid\n",
        "the display is fine\n",
        "WARNING: memory allocation of buffers took 3 s\n",
        "opened 12 files\n",
    ],
)
def test_ordinary_text_speaks_for_none(text):
    assert causes(text) == []
    assert farewell(text) is None


def test_the_last_of_several_counts():
    said = "No space left on device\ndouble free or corruption (out)\n"
    assert diagnose(recording("f()", signal="SIGABRT", output=said)).cause.id == "heap-corruption"


def test_what_was_said_long_before_the_end_is_no_last_word():
    long_ago = Output(-60, 2, BAD_ALLOC)
    answer = diagnose(recording("f()", "g()", "h()", signal="SIGABRT", output=[long_ago]))
    assert answer.cause.id == "abort"
    assert not any("bad_alloc" in evidence.text for evidence in answer.cause.evidence)


def test_a_line_that_came_in_two_pieces_is_one():
    pieces = [Output(-0.2, 2, "memory allocation of 1048"), Output(-0.1, 2, "576 bytes failed\n")]
    answer = diagnose(recording("f()", signal="SIGABRT", output=pieces))
    assert answer.cause.id == "allocation-refused"
    assert "1.0 MiB" in answer.cause.headline


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_words_do_not_count_when_somebody_else_ended_it(signal):
    assert diagnose(recording("f()", signal=signal, output=BAD_ALLOC)).cause.id == "killed-externally"


def test_a_kernel_that_lives_on_has_no_last_words():
    assert diagnose(recording("f()", alive=True, idle=True, output=BAD_ALLOC)).cause.id == "no-death"


def test_words_are_believed_with_reserve_when_nobody_saw_the_exit_status():
    answer = diagnose(recording("f()", end="status-unknown", output="double free or corruption (out)\n"))
    assert (answer.cause.id, answer.cause.certainty.word) == ("heap-corruption", "likely")


def test_the_crash_is_less_likely_by_itself_the_surer_its_reason_is():
    answer = diagnose(recording("f()", signal="SIGSEGV", output="free(): invalid pointer\n"))
    assert [cause.id for cause in answer.causes] == ["heap-corruption"]


def test_words_that_name_no_cause_are_quoted():
    said = "step 7\nF 12:01 solver.cc:88] Check failed: n > 0 (0 vs. 0)\nAborted (core dumped)\n"
    answer = diagnose(recording("f()", signal="SIGABRT", output=said))
    assert answer.cause.id == "abort"
    assert "Check failed: n > 0" in answer.cause.headline


def test_much_text_is_read_fast():
    started = time.process_time()
    naming_a_cause("a line of a log, with words (and numbers) 0x7f in it\n" * 300, last_words_patterns())
    assert time.process_time() - started < 0.5  # seconds; some 0.01 on a machine that is idle


@pytest.mark.parametrize(
    ("said", "headline", "evidence"),
    [
        ("free(): double free detected in tcache 2\n", "(a piece was freed twice)", "was freed twice."),
        ("double free or corruption (!prev)\n", "program's memory;", "freed twice, or the memory beside it was"),
    ],
)
def test_a_double_free_is_told_in_plain_words(said, headline, evidence):
    cause = diagnose(recording("libc.free(p)", signal="SIGABRT", output=said)).cause
    assert headline in cause.headline
    assert any(evidence in one.text for one in cause.evidence)


def test_memory_freed_twice_is_no_matter_of_declarations():
    def offered(said):
        cells = "import ctypes\nlibc = ctypes.CDLL(None)", "libc.free(p)"
        fixes = diagnose(recording(*cells, signal="SIGABRT", output=said)).fixes
        return "ctypes-signatures" in [fix.id for fix in fixes]

    assert not offered("free(): double free detected in tcache 2\n")
    assert offered("free(): invalid pointer\n")


def test_what_was_said_before_the_cell_began_is_not_what_it_died_of():
    said = "free(): invalid pointer\n"
    killed = recording("import lib", "lib.run()", signal="SIGABRT", output=[Output(-6.0, 2, said)])
    began_s = killed.running_cell.started_mono_s - killed.end.mono_s
    before, after = (replace(killed.output[0], mono_s=killed.end.mono_s + began_s + shift_s) for shift_s in (-0.2, 0.2))
    assert diagnose(replace(killed, output=(before,))).cause.id == "abort"
    assert diagnose(replace(killed, output=(after,))).cause.id == "heap-corruption"


def test_a_reason_is_quoted_rather_than_that_there_is_none():
    assert farewell("pure virtual method called\nterminate called without an active exception\n") == (
        "pure virtual method called"
    )
    assert farewell("terminate called without an active exception\n") == "terminate called without an active exception"


GSL = "gsl: interp.c:83: ERROR: interpolation error"
RUST_PANIC = (
    "thread 'main' panicked at src/join.rs:88:14:\nindex out of bounds\n"
    "thread 'main' panicked at library/core/src/panicking.rs:230:5:\npanic in a function that cannot unwind\n"
    "thread caused non-unwinding panic. aborting.\n"
)
CHECK_FAILED = "F0000 00:00:1700000000.123456    4242 shape.cc:201] Check failed: size >= 0 (-5 vs. 0)"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (CHECK_FAILED + "\n*** Check failure stack trace: ***\n    @     0x7f1c2  LogMessage::Flush()\n", CHECK_FAILED),
        (f"{GSL}\nDefault GSL error handler invoked.\n", GSL),
        (RUST_PANIC, "thread 'main' panicked at src/join.rs:88:14:"),
        ("QWidget: Must construct a QApplication before a QWidget\n",) * 2,
        ("(app:42): GLib-GIO-ERROR **: 12:00:00.123: No schemas are installed\n",) * 2,
    ],
    ids=["glog", "gsl", "rust", "qt", "glib"],
)
def test_what_only_says_that_it_ends_is_not_the_reason(said, reason):
    assert farewell(said) == reason.strip()


def test_a_library_that_stops_as_for_a_debugger_is_quoted():
    said = "(app:42): GLib-GIO-ERROR **: 12:00:00.123: No schemas are installed\n"
    assert "gave up with the words `(app:42): GLib-GIO-ERROR" in (
        diagnose(recording("window()", signal="SIGTRAP", output=said)).cause.headline
    )


GIVES_UP = "mylib: licence server unreachable, giving up"


@pytest.mark.parametrize("end", [{"exit_code": 4}, {"signal": "SIGABRT"}], ids=["exit", "abort"])
def test_the_last_line_is_quoted_whatever_it_says_and_proves_nothing(end):
    said = diagnose(recording("mylib.solve()", output=f"loading\n{GIVES_UP}\n\n", **end))
    silent = diagnose(recording("mylib.solve()", **end))

    assert f"The last line it wrote: `{GIVES_UP}`." in [one.text for one in said.cause.evidence]
    assert (said.cause.id, said.cause.certainty) == (silent.cause.id, silent.cause.certainty)
    assert GIVES_UP not in said.cause.headline
    assert not any("last line" in one.text for one in silent.cause.evidence)


def test_a_line_that_was_written_before_the_cell_is_not_its_last():
    answer = diagnose(recording("mylib.load()", "mylib.solve()", exit_code=4, output=[Output(-12.0, 2, GIVES_UP)]))

    assert not any(GIVES_UP in one.text for one in answer.cause.evidence)


# Whether they were the end of it

OPENMP = "OMP: Error #15: Initializing libiomp5.so, but found libomp.so.5 already initialized.\n"
CHECK = "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
REPORT = crash_report("Aborted", ("/site-packages/py/error.py", 3, "fatal"), (cell_file("f()"), 1, "<module>"))


def judged(said, signal="SIGABRT", **death):
    cause = diagnose(recording("f()", signal=signal, output=said, **death)).cause
    return cause.id, cause.certainty.word


QT = (
    'qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "" even though it was found.\n'
    "This application failed to start because no Qt platform plugin could be initialized.\n\n"
    "Available platform plugins are: xcb.\n\n"
)
XCB = (
    "[xcb] Most likely this is a multi-threaded client and XInitThreads has not been called\n"
    "[xcb] Aborting, sorry about that.\n"
)
RUST = (
    "thread '<unnamed>' panicked at src/pool.rs:31:\n"
    "failed to spawn thread: Os { code: 11, kind: WouldBlock }\n"
    "thread caused non-unwinding panic. aborting.\n"
)
OPEN_MPI = (
    "double free or corruption (!prev)\n[host:77] *** Process received signal ***\n[host:77] Signal: Aborted (6)\n"
    "[host:77] Signal code:  (-6)\n[host:77] [ 1] /lib64/libc.so.6(abort+0x148)[0x7f2a0c1]\n"
    "[host:77] *** End of error message ***\n"
)
OLD_GLIBC = (
    "*** Error in `python': double free or corruption (!prev): 0x00000000025d ***\n======= Backtrace: =========\n"
    "/lib64/libc.so.6(+0x81299)[0x7f6e3a]\n/lib64/libc.so.6(abort+0x148)[0x7f6e3b]\n======= Memory map: ========\n"
)
HDF5 = (
    "Warning! ***HDF5 library version mismatched error***\nHeaders are 1.10.6, library is 1.12.1\n"
    "            Build Mode: production\n               Asserts: no\nBye...\n"
)


@pytest.mark.parametrize(
    ("said", "cause", "certainty"),
    [
        (OPENMP + "OMP: Hint This means that multiple copies are there.\n", "openmp-conflict", "proven"),
        (OPENMP + REPORT + "Extension modules: zmq.error, torch._C._fatal (total: 2)\n", "openmp-conflict", "proven"),
        (OPENMP + OPENMP + "Aborted (core dumped)\n", "openmp-conflict", "proven"),
        (OPENMP + "terminate called without an active exception\n", "openmp-conflict", "proven"),
        (BAD_ALLOC + "Aborted\n", "allocation-refused", "strong"),
        (BAD_ALLOC + "*** SIGABRT received by PID 7; stack trace: ***\n", "allocation-refused", "strong"),
        (QT, "no-display", "proven"),
        (XCB, "thread-unsafe", "strong"),
        (RUST, "thread-limit", "strong"),
        (HDF5, "binary-incompatibility", "proven"),
        (OPEN_MPI, "heap-corruption", "proven"),
        (OLD_GLIBC, "heap-corruption", "proven"),
    ],
)
def test_what_follows_from_the_last_words_takes_nothing_from_them(said, cause, certainty):
    assert judged(said) == (cause, certainty)


LISTED = [
    OPENMP,
    "free(): invalid pointer\n",
    "ffmpeg: Too many open files\n",
    "qt.qpa.xcb: could not connect to display \n",
    "OMP: System error #11: Resource temporarily unavailable\n",
    "worker: memory allocation of 4096 bytes failed\n",
    "./tool: symbol lookup error: /x.so: undefined symbol: foo\n",
    "Numba workqueue threading layer is terminating: Concurrent access has been detected.\n",
    "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine.\n",
    "CUDA error: out of memory\n",
]


@pytest.mark.parametrize("said", LISTED)
@pytest.mark.parametrize(
    ("later", "cause"),
    [
        (CHECK, ("abort", "likely")),
        (
            "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check\n",
            ("abort", "likely"),
        ),
        ("*** stack smashing detected ***: terminated\n", ("heap-corruption", "proven")),
    ],
    ids=["an assertion", "an exception", "a guard"],
)
def test_who_gives_up_later_with_other_words_did_not_die_of_the_first(said, later, cause):
    assert judged(said + later) == cause


@pytest.mark.parametrize("said", LISTED)
def test_a_crash_without_an_abort_is_not_the_end_of_a_library_that_aborts(said):
    parse = ("/env/lib/python3.11/site-packages/lxml/etree.py", 5, "parse")
    crash = crash_report("Segmentation fault", parse, (cell_file("f()"), 1, "<module>"))

    assert judged(said, "SIGSEGV", crash=crash) == ("segfault", "likely")
    if "CUDA" not in said:
        assert judged(said, "SIGSEGV", crash=REPORT + crash)[0] != "segfault"  # it crashed in the middle of its abort


def test_after_a_mere_warning_a_crash_is_likely_but_not_proven_to_be_what_it_warned_of():
    warning = "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.2 as it may crash.\n"
    assert judged(warning, "SIGSEGV", crash=crash_report("Segmentation fault", ("m.py", 1, "f"))) == (
        "binary-incompatibility",
        "likely",
    )


def test_at_a_limit_what_gave_up_later_may_have_followed_from_it():
    full = SystemState(
        -0.2, "changed", pids_current=100, pids_limit=100, open_files=1024, rlimits={"NOFILE": Rlimit(1024)}
    )
    for said in ("Too many open files\n", "libgomp: Thread creation failed: Resource temporarily unavailable\n"):
        assert judged(said + CHECK, system_states=[full])[1] == "likely"
        assert judged(said + CHECK)[0] == "abort"
