from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause, CauseFinding, Certainty, Death, Family, Recordings, WorkerEnd, quote
from ..examples import crash_in, crash_report, recording
from ..frameworks.c_library import cut_address
from ..texts import usual_reasons

_NEVER_MAPPED = 1 << 16
"""Linux gives no program the first 64 KiB (vm.mmap_min_addr)."""


class Segfault(Cause):
    """A library's native code, or compiled code of your own, used an invalid memory address.

    What it means: Code in C, C++, Fortran, Rust, or compiled by numba works with memory addresses; plain Python code
    does not. When such code uses an address that does not belong to the program, the processor stops the whole process.
    The reason may be a bug in the library, arguments it was not made for, or two packages that do not fit together.

    How it is recognised: The process was ended by SIGSEGV. Python's faulthandler writes which Python function was
    running at that moment. The report names the function nearest to the crash, its library, and the line of the cell
    that led there. If the crash was in a background thread, that thread's line is named, in whichever cell defined its
    function. A crash report in which one function calls itself again and again is a stack overflow instead. Last words
    of the process, or a limit that was reached, can make another cause likelier. This says how the kernel ended, not
    why: the report lists the usual reasons, each with the check that would tell.

    What to do: Look at the arguments of the named call: shapes, types, indices, pointers, an object that was closed or
    freed. Update the library. If the crash comes back, keep the few lines that cause it: they are the bug report.

    Example: `ctypes.string_at(0)` reads at address 0, where there is no memory.
    """

    id, title, family = "segfault", "Crash in native code (segmentation fault)", Family.NATIVE_CRASH
    general = True
    incidents = LOST_WORKER
    worker_end = WorkerEnd("SIGSEGV", Certainty.LIKELY, "crashed in native code")

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.signal != "SIGSEGV":
            return None
        is_recursion = death.traceback is not None and death.traceback.recursion is not None
        why = "" if death.background else ": it used an invalid memory address"
        fixed = next((address for _, address in death.raw_addresses if 0 <= address < _NEVER_MAPPED), None)
        if fixed is not None:
            why = f": address {fixed} is invalid"
        cut = death.find(lambda code: cut_address(code, death.is_at_crash)) if fixed is None else None
        if cut is not None:
            why = f": of the address that {quote(cut)} returned, ctypes took half"
        is_known = fixed is not None or cut is not None
        return self.finding(
            death,
            Certainty.WEAK if is_recursion else Certainty.STRONG if is_known else Certainty.LIKELY,
            f"{_culprit(death)} crashed {death.where()}{why}.",
            ruled_out=(_not_a_recursion(death),),
            summary="Crashed in native code (SIGSEGV)",
            general=not is_known,
            not_known="Why the address was wrong is not known.",
            usual_reasons=usual_reasons.of_a_crash(death),
        )

    def fires_on(self) -> Recordings:
        """With a report, of an address that was cut, with one from deep in a library, and without any."""
        cell = "ctypes.string_at(0)"
        crash = crash_in(cell, ("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at"))
        yield recording("import ctypes", cell, signal="SIGSEGV", crash=crash)
        cell = "ctypes.string_at(libc.getenv(b'HOME'))"
        crash = crash_in(cell, ("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at"))
        yield recording("import ctypes\nlibc = ctypes.CDLL(None)", cell, signal="SIGSEGV", crash=crash)
        crash = crash_in("w.sum()", ("/venv/lib/python3.12/site-packages/numpy/_core/_methods.py", 51, "_sum"))
        yield recording("w.sum()", signal="SIGSEGV", crash=crash, server="watched")
        yield recording("w.sum()", signal="SIGSEGV")
        yield recording("w.sum()", end="status-unknown", crash=crash)

    def silent_on(self) -> Recordings:
        """A child's report in the file, an exit that was asked for, a signal to itself, a recursion."""
        report = crash_report("Segmentation fault", ("/usr/lib/python3.11/ctypes/__init__.py", 519, "string_at"))
        yield recording("f()", signal="SIGKILL", crash=report)
        yield recording("f()", exit_code=0, crash=report, request="message")
        yield recording("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", signal="SIGSEGV")
        deep = [("/tmp/m.py", 3, "walk")] * 100  # noqa: S108 - a name in a traceback, no file
        yield recording("walk(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *deep, cut=True))


def _culprit(death: Death) -> str:
    frame, report = death.innermost, death.traceback
    library = report.library if report is not None else None
    if frame is None or frame is death.background:
        return "Native code" if library is None else f"Native code in {library}"
    if library is not None:
        return f"Native code in {library}, called by {quote(frame.function)},"
    if frame.module is not None:
        return f"Native code of {frame.module} ({quote(frame.function)})"
    is_named = frame.function.startswith("<") or frame.function.rpartition(".")[2] in death.where()
    return "Native code" if is_named else f"Native code called by {quote(frame.function)}"


def _not_a_recursion(death: Death) -> str | None:
    fault = death.logged_fault
    if fault is not None:
        return None if fault.on_the_stack else "Not a stack overflow: Linux logged an address far from the stack."
    if death.traceback is None or death.traceback.recursion is not None or not death.traceback.current.frames:
        return None
    return "Not a recursion of Python functions: those in the crash report do not repeat."
