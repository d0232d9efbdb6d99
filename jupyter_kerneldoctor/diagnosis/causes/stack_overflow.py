"""`stack-overflow`: a recursion without end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..analysis.traceback import GAVE_UP_ON_STACK, fatal_message
from ..cause import Cause
from ..examples import PID, cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import cell_name, quote, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..analysis.stack_fault import Fault
    from ..analysis.traceback import Recursion
    from ..death import Death

_RAISED_LIMIT = re.compile(r"\bsetrecursionlimit\s*\(")
_RAISED_TO = re.compile(r"\bsetrecursionlimit\s*\(\s*(?:int\()?([\d_]+(?:e\d)?|sys\.maxsize)(?:\s*\*\*\s*(\d))?")
_FAR = 10_000  # nested calls, of which native code needs some hundred bytes each, and a stack has 8 MiB
_WALKS_IN_C = re.compile(r"\b(?:dumps?|loads?|repr|str|format|print|deepcopy|compile|eval|parse|hash)\s*\(")
_A_RECURSION = "a recursion went on"
_ONE_OF_SEVERAL = 0.3
_CALLED = re.compile(r"([\w.]+)\s*\(")
_WALKERS = ("json/", "copy.py", "copyreg.py", "pickle.py", "ast.py", "pprint.py", "reprlib.py")
"""Of the standard library: what goes through nested data by a recursion in C, whose calls no crash report shows."""


class StackOverflow(Cause):
    """A function called itself, directly or through others, until the memory for nested calls was used up.

    What it means
    -------------
    Each call through native code needs a piece of the stack, which is a few megabytes. Python counts its own calls and
    raises RecursionError in time, but not when the limit was raised with `sys.setrecursionlimit`, or where native code
    is part of the circle.

    How it is recognised
    --------------------
    The process was ended by SIGSEGV, and the report of Python's faulthandler, which shows a hundred calls, shows the
    same few functions over and over and more below. Or Python said that it could not recover from a stack overflow.
    Or the log of Linux says that what it touched lies right at the stack pointer: memory is missing there only when
    the stack is used up, also by a recursion in C, whose calls the report does not show. With less certainty: a cell
    had raised the recursion limit far, and it crashed in what goes through nested data by a recursion in C, as
    `json.dumps`, `pickle.dumps` and `repr` do; the less so if other calls stand in that line.

    What to do
    ----------
    Find the case that ends the recursion and is never reached, or write the recursion as a loop with a list of what
    is left to do. Leave the recursion limit where it was: it is the guard that was switched off.

    Example
    -------
    A `__bool__` that returns `bool(self)`, after `sys.setrecursionlimit(10**6)`.
    """

    id = "stack-overflow"
    title = "Stack overflow: a recursion too deep"
    family = Family.NATIVE_CRASH

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end or death.signal not in ("SIGSEGV", "SIGABRT"):
            return None
        recursion = death.traceback.recursion if death.traceback is not None else None
        gave_up = death.signal == "SIGABRT" and GAVE_UP_ON_STACK in (fatal_message(death.recording.crash_text) or "")
        fault = death.logged_fault
        logged = fault is not None and fault.on_the_stack
        unseen = not gave_up and recursion is None and (logged or (fault is None and _may_recurse_in_c(death)))
        if not gave_up and not unseen and (recursion is None or death.signal == "SIGABRT"):
            return None
        confidence = _unseen(death, logged=logged) if unseen else 0.95 if gave_up or any(_raised(death)) else 0.8
        return CauseFinding(
            self.id,
            self.title,
            confidence if death.status.known else min(confidence, 0.6),
            f"{sentence(_while(death))}, {_what(death, recursion, unseen=unseen, logged=logged)} until the space for "
            "nested calls was used up.",
            evidence=(
                *evidence.exit_status(death),
                *_repetition(death, recursion),
                *_at_the_end_of_the_stack(fault),
                *_raised(death),
                *_said(death, gave_up=gave_up),
                *evidence.crash_report(death),
            ),
            ruled_out=exclusions.known(exclusions.not_memory(death), exclusions.not_asked_for(death)),
            line=death.line,
            summary=f"Stack overflow ({death.signal})",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """One function, several in a circle, and Python's own last word."""
        define = "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __bool__(self): return bool(a)\na = A()"
        frames = [(cell_file(define), 4, "__bool__")] * 100
        yield recording(
            define, "bool(a)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *frames, cut=True)
        )
        circle = [("/site-packages/lib/a.py", 3, "visit"), ("/site-packages/lib/b.py", 9, "walk")] * 50
        yield recording("walk(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *circle, cut=True))
        json = ("/usr/lib/python3.11/json/encoder.py", 258, "iterencode")
        crash = crash_report("Segmentation fault", json, (cell_file("json.dumps(t)"), 1, "<module>"))
        yield recording("sys.setrecursionlimit(10**7)", "json.dumps(t)", signal="SIGSEGV", crash=crash)
        crash = crash_report("Segmentation fault", (cell_file("pickle.dumps(t)"), 1, "<module>"))
        yield recording("sys.setrecursionlimit(1_000_000)", "pickle.dumps(t)", signal="SIGSEGV", crash=crash)
        said = "_Py_CheckRecursiveCall: Cannot recover from stack overflow."
        frames = [("/site-packages/lib/a.py", 3, "visit")] * 100
        crash = crash_report(said, *frames, cut=True) + crash_report("Aborted", *frames, cut=True)
        yield recording("visit(x)", signal="SIGABRT", crash=crash)
        crash = crash_report("Segmentation fault", (cell_file("sum(rows)"), 1, "<module>"))
        yield recording("sum(rows)", signal="SIGSEGV", crash=crash, kernel_log=[_fault("7ffd5a1feff8", "7ffd5a1ff000")])

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """A crash below a short stack, a deep stack without repetition, and the recursion of a child."""
        shallow = [("/site-packages/lib/a.py", 3, "visit")] * 5
        yield recording("visit(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *shallow))
        crash = crash_report("Segmentation fault", (cell_file("pickle.dumps(t)"), 1, "<module>"))
        yield recording("sys.setrecursionlimit(3000)", "pickle.dumps(t)", signal="SIGSEGV", crash=crash)
        crash = crash_report("Segmentation fault", (cell_file("lib.solve(8)"), 1, "<module>"))
        yield recording("sys.setrecursionlimit(10**6)", "lib.solve(8)", signal="SIGSEGV", crash=crash)
        crash = crash_report("Segmentation fault", (cell_file("pickle.dumps(t)"), 1, "<module>"))
        far = [_fault("18", "7ffd5a1ff000")]
        yield recording(
            "sys.setrecursionlimit(10**7)", "pickle.dumps(t)", signal="SIGSEGV", crash=crash, kernel_log=far
        )
        crash = crash_report("Segmentation fault", (cell_file("print(lib.solve(8))"), 1, "<module>"))
        yield recording("sys.setrecursionlimit(10**6)", "print(lib.solve(8))", signal="SIGSEGV", crash=crash)
        varied = [("/site-packages/lib/a.py", number, f"step_{number}") for number in range(100)]
        yield recording("go(x)", signal="SIGSEGV", crash=crash_report("Segmentation fault", *varied, cut=True))
        deep = [("/site-packages/lib/a.py", 3, "visit")] * 100
        yield recording("go(x)", signal="SIGKILL", crash=crash_report("Segmentation fault", *deep, cut=True))


def _fault(address: str, stack_pointer: str) -> str:
    return f"python[{PID}]: segfault at {address} ip 00007f42 sp {stack_pointer} error 6 in libc.so.6[7f40+156000]"


def _while(death: Death) -> str:
    ran = death.when() if death.cell is None else f"while {cell_name(death.cell.execution_count)} ran"
    return ran if death.background is None else f"in a background thread, {ran}"


def _may_recurse_in_c(death: Death) -> bool:
    frame = death.innermost
    if death.signal != "SIGSEGV" or frame is None or not any(_is_far(cell.source) for cell in death.recording.cells):
        return False
    if frame.short_file.startswith(_WALKERS):
        return True
    lines = (
        death.cell.source.split("\n") if death.cell is not None and death.frames.cell_of(frame) is death.cell else ()
    )
    return death.crash_line is not None and any(_WALKS_IN_C.search(line) for line in lines[death.crash_line - 1 :][:1])


def _unseen(death: Death, *, logged: bool) -> float:
    """How likely a recursion in C is: every call of native code in the line may have crashed by itself."""
    if logged:
        return 0.93
    line = death.crash_line if death.cell is not None else None
    called = [] if death.cell is None or line is None else _CALLED.findall(death.cell.source.split("\n")[line - 1])
    defined = "\n".join(cell.source for cell in death.recording.cells)
    others = [name for name in called if not (_WALKS_IN_C.search(f"{name}(") or _is_python(name, defined))]
    return _ONE_OF_SEVERAL if others and death.innermost is not None and death.frames.cell_of(death.innermost) else 0.65


def _is_python(name: str, defined: str) -> bool:
    """Whether a cell defines it: a crash in it would show its name."""
    return re.search(rf"\b(?:def|class)\s+{re.escape(name)}\b", defined) is not None


def _is_far(source: str) -> bool:
    for number, power in _RAISED_TO.findall(source):
        if number == "sys.maxsize" or float(number) ** int(power or 1) >= _FAR:
            return True
    return False


def _what(death: Death, recursion: Recursion | None, *, unseen: bool, logged: bool) -> str:
    if unseen and death.traceback is None:
        return _A_RECURSION
    if unseen:
        by = "" if death.innermost is None else f" called in {death.frames.name(death.innermost)}"
        return f"native code{by} {'called' if logged else 'probably called'} itself"
    if recursion is None:
        return _A_RECURSION
    return f"{death.frames.name(recursion.frame)} called itself, more than {recursion.shown} calls deep,"


def _repetition(death: Death, recursion: Recursion | None) -> Iterator[Evidence]:
    if recursion is None:
        return
    yield Evidence(
        f"{recursion.times} of the {recursion.shown} calls that the crash report shows are {recursion.function} "
        f"({death.frames.place(recursion.frame)}), and there were more below.",
        recursion.times,
        "calls",
        "crash report of Python's faulthandler",
    )


def _at_the_end_of_the_stack(fault: Fault | None) -> Iterator[Evidence]:
    if fault is not None and fault.on_the_stack:
        yield Evidence(
            f"Linux logged that it touched memory right at the stack pointer, which is missing only when the "
            f"space for nested calls is used up: {quote(fault.line, 120)}.",
            fault.line[:200],
            None,
            "log of the operating system",
        )


def _raised(death: Death) -> Iterator[Evidence]:
    for cell in death.recording.cells:
        if _RAISED_LIMIT.search(cell.source):
            yield Evidence(
                f"{sentence(cell_name(cell.execution_count))} calls sys.setrecursionlimit, which moves the guard "
                "against such recursions.",
                source="journal",
            )
            return


def _said(death: Death, *, gave_up: bool) -> Iterator[Evidence]:
    message = fatal_message(death.recording.crash_text)
    if gave_up and message is not None:
        yield Evidence(f"Python's last words: {message}", message, None, "crash report of Python's faulthandler")
