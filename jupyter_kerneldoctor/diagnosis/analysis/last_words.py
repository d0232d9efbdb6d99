"""What the process wrote before it died: the lines with which libraries say why they end it.

A library that calls `abort()` or `exit()` first writes a line to file descriptor 2. The lines are those of the
libraries' own sources: glibc (malloc/malloc.c), libstdc++ and libc++abi (the terminate handlers), Rust (alloc.rs), the
OpenMP runtimes of LLVM and GNU, OpenBLAS, MKL, Qt, VTK, GTK, Xlib, Tcl, numba, HDF5, protobuf, TensorFlow, ld.so(8).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Evidence
from ..units import quote

FRESH_S = 10.0
"""What was written longer than this before the end is not what it died of."""

_MOST_CHARACTERS = 16 * 1024  # of the newest text; a library's message is a few lines

_FAREWELLS = re.compile(
    r"terminate called|terminating|[Aa]ssert|[Aa]bort|\bFATAL\b|[Ff]atal|\b(?:F|E)\d{4} |: F |Check fail|panicked|"
    r"[Ee]rror|\bERROR\b|what\(\)|\*\*\*|pure virtual|^Q[A-Z]\w+: "
)
"""What a line looks like with which a program gives up, in a library nobody listed."""

_SAYS_NO_REASON = re.compile(
    r"terminate called without an active exception$|\*\*\* (?:Check failure stack trace|Begin|End|Aborted|SIG)|"
    r"Default GSL error handler invoked|panic in a function that cannot unwind|thread caused |note: run with `RUST_|"
    r"fatal runtime error: |panicked at library/core/src/panicking|Fatal Python error: (?:Aborted|Segmentation fault)$"
)
"""What libstdc++, glog, GSL, Rust and Python add to a reason that stands before it, or say alone."""

_COLOURS = re.compile(r"\x1b\[[\d;]*m")
"""What a terminal takes for the beginning or end of a colour."""

_TAKEN_BACK = re.compile(r"^(?:Aborted|Segmentation fault|Killed)\b")

_LOGS = re.compile(r"\b(?:DEBUG|INFO|WARN(?:ING)?)\b|\[Errno \d+\]")
"""What a program logs and goes on, also of an error that it caught."""

_GIVES_UP = re.compile(
    r"[Aa]ssert(?!ionError)|[Aa]bort|[Ff]atal|\bFATAL\b|Check fail|what\(\)|uncaught exception|pure virtual|"
    r"detected \*\*\*"
)
"""What a line says with which a process ends for a reason of its own. Narrow: a log goes on until the very end."""

_SAME_MESSAGE = re.compile(
    r"\s|Aborted\b|Killed\b|Segmentation fault\b|terminate called|\[xcb\]|#|frame #|Exception raised from|"
    r"thread caused |fatal runtime error: |\*\*\* (?:SIG|Aborted|Check|Begin)"
)
"""How a line begins that goes on with a message, or says how the process ends and not why: shells, libstdc++, Xlib, the
JVM, PyTorch, Rust, the signal handlers of glog and Abseil."""

_OF_A_HANDLER = re.compile(
    r"\bsignal\b.{0,200}?\b(?:Abort(?:ed)?|SIGABRT)\b|Process received signal|caught abort|"
    r"[(+]0x[0-9a-f]+[)\]]|\[0x[0-9a-f]+\]",
    re.IGNORECASE,
)
"""What a handler of the signal says, and the calls it lists: those of Open MPI, UCX, PETSc, Julia, R, backtrace(3). It
names no reason."""

_REPORT = "Fatal Python error: "
"""How Python's faulthandler begins to tell where the process was."""


@dataclass(frozen=True)
class Pattern:
    """What a line looks like that names a cause."""

    cause: str
    """The cause's id."""
    expression: re.Pattern[str]
    final: bool = True
    """Who writes such a line aborts or leaves at once; else it is a warning, after which the program goes on."""


@dataclass(frozen=True)
class Words:
    """A line that names a cause."""

    cause: str
    line: str
    details: dict[str, str] = field(default_factory=dict)
    """What the line tells beside: `bytes` that were asked for, the `first` and `second` library."""
    end: int = 0
    """Where the line ends in the text."""
    final: bool = True
    """Who writes it aborts or leaves at once."""

    @property
    def evidence(self) -> Evidence:
        """The quoted line."""
        return quoted(self.line, "Before it ended, the process wrote")

    @property
    def asked_bytes(self) -> int | None:
        """How much memory was asked for; None where the line does not say."""
        return int(self.details["bytes"]) if "bytes" in self.details else None


def quoted(line: str, introduction: str) -> Evidence:
    """Quote a line of the process's output as evidence, without its colours."""
    line = _COLOURS.sub("", line)
    return Evidence(f"{introduction}: {quote(line, 200)}.", line[:200], None, "the process's output")


def newest_text(recording: Recording, since_s: float = FRESH_S) -> str:
    """Return what the process wrote shortly before its end; of a living kernel, before the newest that it wrote."""
    if not recording.output:
        return ""
    end_s = recording.output[-1].mono_s if recording.end is None else recording.end.mono_s
    text = "".join(piece.text for piece in recording.output if piece.mono_s >= end_s - since_s)
    return text[-_MOST_CHARACTERS:]


def naming_a_cause(text: str, patterns: Iterable[Pattern]) -> tuple[Words, ...]:
    """Return all lines that name a cause, in the order they were written."""
    found = [
        (match.start(), pattern, match)
        for pattern in patterns
        for match in list(pattern.expression.finditer(text))[-1:]  # the last of its kind
    ]
    found.sort(key=lambda entry: entry[0])
    return tuple(_words(text, pattern.cause, match, final=pattern.final) for _, pattern, match in found)


def _words(text: str, cause: str, match: re.Match[str], *, final: bool) -> Words:
    """Return the whole line around a match."""
    first, last = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
    end = last if last >= 0 else len(text)
    details = {name: value for name, value in match.groupdict().items() if value}
    return Words(cause, text[first:end].strip(), details, end, final)


def gave_up_later(rest: str) -> str | None:
    """Return the line with which a process ended for another reason, from what it wrote after its last words."""
    lines = rest.partition(_REPORT)[0].strip("\n").split("\n")
    if lines[0].lstrip().startswith("what()"):
        del lines[0]  # libstdc++ tells of what was thrown in two lines
    others = (line for line in lines if line.lstrip().startswith("what()") or not _SAME_MESSAGE.match(line))
    return next((one.strip() for one in others if _GIVES_UP.search(one) and not _OF_A_HANDLER.search(one)), None)


def plugin_of_another_qt(text: str) -> str | None:
    """Return the line in which Qt cannot use the plugin of another package's Qt; None where it found no screen."""
    found = re.search(r'^.*Could not load the Qt platform plugin "\w+" in "[^"\n]*/cv2/.*$', text, re.MULTILINE)
    return None if found is None or "could not connect to display" in text else found[0].strip()


def last_line(text: str) -> str | None:
    """Return the last line that says anything: not that Python can no longer tell of an error."""
    lines = (line.strip() for line in reversed(text.split("\n")))
    return next((line for line in lines if line and line != "lost sys.stderr"), None)


@lru_cache(maxsize=8)
def farewell(text: str) -> str | None:
    """Return the last line that reads like the end of a program, of any library."""
    lines = [line.strip() for line in text.split("\n")]
    said = [line for line in lines if _FAREWELLS.search(line) and not (_TAKEN_BACK.match(line) or _LOGS.search(line))]
    reasons = [line for line in said if not (_SAYS_NO_REASON.search(line) or _OF_A_HANDLER.search(line))]
    return (reasons or said)[-1] if said else None
