"""Reads what Python's faulthandler wrote when the kernel got a fatal signal."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

from jupyter_kerneldoctor.recording.events import Frame

_HEADER = "Fatal Python error: "
_THREAD = re.compile(r"(Current thread|Thread|Stack)(?: 0x[0-9a-f].*)? \(most recent call first\):")
_FRAME = re.compile(r'  File (?:"(.*)"|(\S+)), line (\d+|\?\?\?) in (.*)')
_BINARY = re.compile(r'  Binary file "([^"]+)"')
GAVE_UP_ON_STACK = "Cannot recover from stack overflow"
"""What the interpreter says before it aborts because of a recursion."""

_CUT = ("  ...", "  <truncated rest of calls>")
_AFTER_THE_STACK = "Extension modules: "
"""What follows the stack (Modules/faulthandler.c): a report that ends before it was cut."""

_MESSAGES = {
    "SIGSEGV": "Segmentation fault",
    "SIGABRT": "Aborted",
    "SIGBUS": "Bus error",
    "SIGFPE": "Floating-point exception",
    "SIGILL": "Illegal instruction",
}
_OLD_SPELLING = {"Floating point exception": "Floating-point exception"}
_ONE_MESSAGE = re.compile("|".join((*_MESSAGES.values(), *_OLD_SPELLING)))
_MIXED = re.compile(rf"(?:{_ONE_MESSAGE.pattern}){{2,}}")
"""Of threads that crash at the same moment: "Segmentation faultBus error"."""
_PLUMBING = re.compile(r"(?:lib(?:c|m|pthread|dl|python[\d.]*t?)|ld-linux[^/]*|linux-vdso|python[\d.]*t?)(?:[.-].*)?")

_MIXED_LINES = 5  # within so many the message of a report is looked for
_DEEP = 50  # frames; faulthandler shows a hundred of a thread
_FRAMES_PER_FUNCTION = 4  # among deep frames: fewer different functions than a quarter of them is a recursion


@dataclass(frozen=True)
class Thread:
    """The Python functions of one thread, innermost first."""

    frames: tuple[Frame, ...]
    current: bool = False
    """It is the one that got the signal."""
    cut: bool = False
    """It had more frames than faulthandler shows."""


@dataclass(frozen=True)
class Recursion:
    """A function that repeats itself in deep frames."""

    function: str
    frame: Frame
    times: int
    """How many of the frames that are shown are this function's."""
    shown: int

    @property
    def share(self) -> str:
        """Return "all 100 calls", "50 of the 100 calls"."""
        return f"all {self.shown} calls" if self.times == self.shown else f"{self.times} of the {self.shown} calls"


@dataclass(frozen=True)
class Traceback:
    """One report of faulthandler."""

    message: str
    threads: tuple[Thread, ...]
    binaries: tuple[str, ...] = ()
    """Native code below, innermost first (Python 3.14 and later)."""
    without_python: bool = False
    """The thread that got the signal is none of Python's: faulthandler has nothing to show of it."""
    crashed_together: bool = False
    """Several threads crashed at the same moment: what they wrote is mixed."""

    @property
    def current(self) -> Thread:
        """The thread that got the signal; without frames when the report was cut before it."""
        return next((thread for thread in self.threads if thread.current), Thread(()))

    @property
    def library(self) -> str | None:
        """The file name of the innermost native library that is neither Python nor the C library."""
        names = (PurePosixPath(path).name for path in self.binaries)
        return next((name for name in names if not _PLUMBING.fullmatch(name)), None)

    @property
    def recursion(self) -> Recursion | None:
        """The function that calls itself, directly or through others, deeper than faulthandler shows."""
        frames = self.current.frames
        functions = Counter((frame.file, frame.function) for frame in frames)
        if not self.current.cut or len(frames) < _DEEP or len(functions) * _FRAMES_PER_FUNCTION > len(frames):
            return None
        (file, function), times = functions.most_common(1)[0]
        frame = next(frame for frame in frames if (frame.file, frame.function) == (file, function))
        return Recursion(function, frame, times, len(frames))


@lru_cache(maxsize=8)
def reports(text: str) -> tuple[Traceback, ...]:
    """Return all reports in the text, in the order they were written."""
    return tuple(one for part in text.split(_HEADER)[1:] if part.strip() for one in _of_each_signal(_parse(part)))


def fitting(text: str, signal: str | None) -> Traceback | None:
    """Return the last report of the signal that ended the kernel; the interpreter stops itself by an abort.

    A report of another signal is not of the kernel's end: a forked child may have written it. Where the exit status is
    not known, it is the last report of any fatal signal.
    """
    expected = [message for name, message in _MESSAGES.items() if signal in (name, None)]
    found = reports(text)
    own = [one for one in found if one.message not in _MESSAGES.values()] if signal == "SIGABRT" else []
    return next((one for one in reversed(found) if one.message in expected), own[-1] if own else None)


def signal_of(report: Traceback) -> str | None:
    """Return the name of the signal that a report is about."""
    return next((name for name, message in _MESSAGES.items() if message == report.message), None)


def fatal_message(text: str) -> str | None:
    """Return why the interpreter stopped itself (by an abort), if it said so: "Cannot recover from stack overflow"."""
    own = [report.message for report in reports(text) if report.message not in _MESSAGES.values()]
    return own[-1] if own else None


def _of_each_signal(report: Traceback) -> Iterator[Traceback]:
    """Yield a report, or where threads crashed together, the mixed one for each of their signals."""
    together = _MIXED.fullmatch(report.message) is not None
    messages = _ONE_MESSAGE.findall(report.message) if together else [report.message]
    for message in dict.fromkeys(messages):
        yield replace(report, message=_OLD_SPELLING.get(message, message), crashed_together=together)


def _parse(part: str) -> Traceback:
    lines = part.split("\n")
    threads: list[Thread] = []
    frames: list[Frame] = []
    current = cut = seen = False
    for line in lines[1:]:
        if header := _THREAD.match(line):
            if frames:
                threads.append(Thread(tuple(frames), current, cut))
            frames, current, cut = [], header[1] != "Thread", False
            seen = seen or current
        elif found := _FRAME.match(line):
            number = int(found[3]) if found[3].isdecimal() and len(found[3]) < 10 else None
            frames.append(Frame(found[1] or found[2] or "", number, found[4]))
        elif line in _CUT:
            cut = True
    if frames:
        threads.append(Thread(tuple(frames), current, cut))
    return Traceback(
        _message(lines),
        tuple(threads),
        tuple(_BINARY.findall(part)),
        without_python=not seen and any(line.startswith(_AFTER_THE_STACK) for line in lines),
    )


def _message(lines: list[str]) -> str:
    """Return the message of a report. Of threads that crash together it can be mixed, or follow lines later."""
    said = next((line.strip() for line in lines[:_MIXED_LINES] if line.strip()), "")
    return "" if _THREAD.match(said) else said
