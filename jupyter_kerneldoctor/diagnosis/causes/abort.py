from collections.abc import Iterator

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..analysis.traceback import GAVE_UP_ON_STACK, fatal_message
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, WorkerEnd, quote
from ..code.ending_calls import EndingCall
from ..examples import crash_in, crash_report, recording
from ..texts import evidence, usual_reasons
from ..units import cell_name


class Abort(Cause):
    """The process aborted: a library, or the code in the cell, saw no way to go on and ended it.

    What it means: C and C++ libraries call `abort()` when something is wrong that they cannot report: a failed internal
    check, an exception nobody catches, damaged memory. Their last message gives the reason, if they wrote one.

    How it is recognised: The process was ended by SIGABRT. Python's faulthandler writes which Python function was
    running at that moment. If the cell itself calls `os.abort()` at that line, that is the answer. Last words that name
    a cause, such as damaged memory, refused memory, two OpenMP libraries or a missing screen, make it that cause
    instead. Other last words are quoted. This says how the kernel ended, not why: the report lists the usual reasons,
    each with the check that would tell.

    What to do: Look at the call that is named, and at what the library printed just before. Check its arguments and
    update the library. See whether two packages bring the same native library in different versions.

    Example: `os.abort()` in a cell; a C++ library that throws an exception that nobody catches.
    """

    id, title, family = "abort", "The program aborted itself", Family.NATIVE_CRASH
    incidents = LOST_WORKER
    worker_end = WorkerEnd("SIGABRT", Certainty.LIKELY, "aborted", "A worker process gave up")

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.signal != "SIGABRT":
            return None
        call, message = _own_call(death), fatal_message(death.recording.crash_text)
        certainty = Certainty.LIKELY if call is None else Certainty.STRONG
        if GAVE_UP_ON_STACK in (message or ""):
            certainty = Certainty.WEAK
        if call is not None and (death.crash_line is not None or call.prompt):
            certainty = Certainty.PROVEN
        return self.finding(
            death,
            certainty,
            _headline(death, call),
            (*_of_the_call(call), *_of_python(message), *evidence.said_at_the_end(death)),
            line=death.line if call is None or death.crash_line is not None else call.line,
            summary="Aborted (SIGABRT)",
            general=call is None,
            not_known="Why the program gave up is not known.",
            usual_reasons=usual_reasons.of_an_abort(death),
        )

    def fires_on(self) -> Recordings:
        """By the cell, by a library, by Python itself, and with nothing written at all."""
        cell = "import os\nos.abort()"
        yield recording(cell, signal="SIGABRT", crash=crash_in(cell, line=2, message="Aborted"))
        cell = "cv2.imshow('a', x)"
        crash = crash_in(cell, ("/site-packages/cv2/__init__.py", 20, "imshow"), message="Aborted")
        yield recording(cell, signal="SIGABRT", crash=crash)
        check = "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("solver.step(0)", signal="SIGABRT", output=check)
        thrown = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  _M_range_check\n"
        yield recording("index.search(q)", signal="SIGABRT", output=thrown, crash=crash)
        crash = crash_report("_PyImport_Init: global import state already initialized") + crash_report("Aborted")
        yield recording("f()", signal="SIGABRT", crash=crash)
        yield recording("f()", signal="SIGABRT", server="watched")

    def silent_on(self) -> Recordings:
        """Another signal with an abort in the code or in the file, and a stack overflow that Python noticed."""
        yield recording("import os\nif bad: os.abort()", signal="SIGKILL", crash=crash_report("Aborted"))
        yield recording("import signal\nsignal.raise_signal(signal.SIGABRT)", signal="SIGABRT")
        said = crash_report("_Py_CheckRecursiveCall: Cannot recover from stack overflow.") + crash_report("Aborted")
        yield recording("visit(x)", signal="SIGABRT", crash=said)
        yield recording("f()", signal="SIGABRT", output="corrupted double-linked list\n")


def _own_call(death: Death) -> EndingCall | None:
    calls = [call for call in death.calls if call.kind == "abort"]
    if death.crash_line is not None:
        return next((call for call in calls if call.line == death.crash_line), None)
    return calls[0] if len(calls) == 1 and death.traceback is None else None


def _headline(death: Death, call: EndingCall | None) -> str:
    frame = death.innermost
    if call is not None and death.cell is not None:
        return f"The code in {cell_name(death.cell.execution_count)} ended the kernel with {quote(call.text)}."
    if frame is not None and frame.module is not None and frame is not death.background:
        who = f"Native code of {frame.module} ({quote(frame.function)})"
    else:
        who = "Native code"
    said = "" if death.farewell is None else f", with the words {quote(death.farewell, 100)}"
    return f"{who} gave up and ended the kernel {death.where()}{said}."


def _of_the_call(call: EndingCall | None) -> Iterator[Evidence]:
    if call is not None:
        told = f"Line {call.line} of the cell calls {quote(call.text)}, which ends the process at once."
        yield Evidence(told, call.line, "line", "cell source")


def _of_python(message: str | None) -> Iterator[Evidence]:
    if message is not None:
        told = f"Python stopped itself with the words: {quote(message, 200)}"
        yield Evidence(told, message[:200], None, "crash report of Python's faulthandler")
