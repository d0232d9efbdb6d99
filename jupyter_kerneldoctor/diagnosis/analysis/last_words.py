"""What the process wrote before it died: the sentences with which libraries say why they give up.

A library that calls `abort()` or `exit()` first writes a line to file descriptor 2. The lines are those of the
libraries' own sources: glibc (malloc/malloc.c), libstdc++ and libc++abi (the terminate handlers), Rust (alloc.rs), the
OpenMP runtimes of LLVM and GNU, OpenBLAS, MKL, Qt, VTK, GTK, Xlib, Tcl, numba, HDF5, protobuf, TensorFlow, ld.so(8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ..postmortem import Evidence
from ..units import quote
from .traceback import reports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

FRESH_S = 10.0
"""What was written longer than this before the end is not what it died of."""

_MOST_CHARACTERS = 16 * 1024  # of the newest text; a library's message is a few lines

_OLD_GLIBC = r"^(?:\*\*\* Error in `[^']*': )?"  # until 2.25
_IN_MALLOC = _OLD_GLIBC + r"\w*(?:free|alloc|chunk|consolidate)\w*\(\): "
_DAMAGED = "(?:invalid|corrupt|double free|unaligned|mismatching|memory corruption|unsorted|too many|smallbin|largebin)"
_THROWN = "terminate called after throwing an instance of "

_SAYINGS: tuple[tuple[str, str], ...] = (
    # glibc's allocator on finding its own book-keeping damaged, and others that do the same
    (
        "heap-corruption",
        _OLD_GLIBC + r"(?:double free or corruption|corrupted size vs\. prev_size|corrupted double-linked list)\b",
    ),
    ("heap-corruption", _IN_MALLOC + _DAMAGED),
    ("heap-corruption", r"top chunk is corrupt|sysmalloc: Assertion .* failed"),
    ("heap-corruption", r"ERROR: AddressSanitizer: (?:heap-|attempting double-free|attempting free)"),
    ("heap-corruption", r"^mimalloc: error: .*(?:double free|corrupted|invalid pointer)"),
    ("heap-corruption", r"Attempt to free invalid pointer 0x[0-9a-f]+"),
    ("heap-corruption", r"malloc: \*\*\* error for object 0x[0-9a-f]+: "),
    ("heap-corruption", r"^Debug memory block at address p=0x[0-9a-f]+"),
    # memory that was refused
    ("allocation-refused", _THROWN + r"'(?:St9bad_alloc|std::bad_alloc)'"),
    ("allocation-refused", r"uncaught exception of type std::bad_alloc"),
    ("allocation-refused", r"memory allocation of (?P<bytes>\d+) bytes failed"),
    ("allocation-refused", r"LLVM ERROR: out of memory|Allocation would exceed memory limit"),
    ("allocation-refused", r"insufficient memory for the Java Runtime Environment to continue"),
    # threads and files that were refused
    ("thread-limit", r"libgomp: Thread creation failed"),
    ("thread-limit", r"OMP: (?:Error #34: System unable to allocate|System error #11)"),
    ("thread-limit", r"Check failed: re[ts] == 0 \(11 vs\. 0\).*pthread_create"),
    ("thread-limit", _THROWN + r"'std::system_error'\s+what\(\):.*Resource temporarily unavailable"),
    ("thread-limit", r"(?:failed to spawn thread|ThreadPoolBuildError).*(?:code: 11|WouldBlock)"),
    (
        "thread-limit",
        r"(?<!blas_thread_init: )pthread_create(?:\(\))? failed.*(?:Resource temporarily unavailable|EAGAIN|error 11)",
    ),
    ("fd-limit", r"Too many open files"),
    ("disk-full", r"No space left on device"),
    # libraries that do not fit together
    ("openmp-conflict", r"OMP: Error #15: Initializing (?P<second>\S+), but found (?P<first>\S+) already initialized"),
    ("binary-incompatibility", r"Intel (?:one)?MKL FATAL ERROR: "),
    ("binary-incompatibility", r"INTEL MKL ERROR: .*undefined symbol"),
    ("binary-incompatibility", r"(?:symbol lookup|relocation) error: "),
    ("binary-incompatibility", r"HDF5 library version mismatched error"),
    ("binary-incompatibility", r"was compiled against version \S+ of the Protocol Buffer runtime"),
    ("binary-incompatibility", r"File already exists in database: "),
    ("binary-incompatibility", r"Option '.*' registered more than once|registered CommandLine options"),
    ("binary-incompatibility", r"Cannot mix incompatible Qt library"),
    ("illegal-instruction", r"compiled to use \S+ instructions, but these aren't available"),
    ("illegal-instruction", r"verify that both the operating system and the processor support .*instructions"),
    # a screen that is not there
    ("no-display", r"(?:Could not load|could not find) the Qt platform plugin"),
    ("no-display", r"(?:[Cc]ould not connect to display|cannot connect to X server|bad X server connection)"),
    ("no-display", r"(?:cannot open|[Cc]an't open|[Uu]nable to open|failed to open) display"),
    (
        "no-display",
        r"Unable to access the X Display|The DISPLAY environment variable is missing|Cannot create GLX context",
    ),
    ("no-display", r"^XIO:\s+fatal IO error .* on X server"),
    # one thread too many
    ("thread-unsafe", r"Concurrent access has been detected"),
    ("thread-unsafe", r"Tcl_AsyncDelete: async handler deleted by the wrong thread"),
    ("thread-unsafe", r"xcb_xlib_threads_sequence_lost|XInitThreads has not been called"),
    # a fork after threads: the child that says it is not the kernel, but the kernel waits for it
    ("fork-unsafe", r"fork\(\) called from a process already using GNU OpenMP"),
    # the program that started the kernel is gone (ipykernel's parent poller)
    ("server-gone", r"Parent appears to have exited, shutting down"),
)
"""The cause that a line speaks for, and what is found in it. Of several, the last one that was written counts."""

_WARNINGS: tuple[tuple[str, str], ...] = (
    ("allocation-refused", r"failed to allocate (?P<bytes>\d+) bytes"),
    ("thread-limit", r"OpenBLAS blas_thread_init: pthread_create failed"),
    ("binary-incompatibility", r"version `[A-Z]+_[\w.]+' not found"),
    ("binary-incompatibility", r"module (?:was |that was )?compiled (?:against|using) (?:API|ABI|NumPy) "),
    ("illegal-instruction", r"Missing required CPU features"),
)
"""Of the same kind: after these the program goes on, and may crash of what they warn of."""

_PATTERNS = tuple(
    (cause, re.compile(pattern, re.MULTILINE), sayings is _SAYINGS)
    for sayings in (_SAYINGS, _WARNINGS)
    for cause, pattern in sayings
)

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

_TAKEN_BACK = re.compile(r"^(?:Aborted|Segmentation fault|Killed)\b")

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
    r"\bsignal\b.*\b(?:Abort(?:ed)?|SIGABRT)\b|Process received signal|caught abort|"
    r"[(+]0x[0-9a-f]+[)\]]|\[0x[0-9a-f]+\]",
    re.IGNORECASE,
)
"""What a handler of the signal says, and the calls it lists: those of Open MPI, UCX, PETSc, Julia, R, backtrace(3). It
names no reason."""

_REPORT = "Fatal Python error: "
"""How Python's faulthandler begins to tell where the process was."""


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
        """The line, quoted."""
        return next(said_last(self.line))

    @property
    def asked_bytes(self) -> int | None:
        """How much memory was asked for, where the line tells."""
        return int(self.details["bytes"]) if "bytes" in self.details else None


def newest_text(recording: Recording, since_s: float = FRESH_S) -> str:
    """Return what the process wrote shortly before its end; of a living kernel, before the newest that it wrote."""
    if not recording.output:
        return ""
    end_s = recording.output[-1].mono_s if recording.end is None else recording.end.mono_s
    text = "".join(piece.text for piece in recording.output if piece.mono_s >= end_s - since_s)
    return text[-_MOST_CHARACTERS:]


@lru_cache(maxsize=8)
def naming_a_cause(text: str) -> tuple[Words, ...]:
    """Return all lines that name a cause, in the order they were written."""
    found = [
        (match.start(), cause, match, final)
        for cause, pattern, final in _PATTERNS
        for match in list(pattern.finditer(text))[-1:]  # the last of its kind
    ]
    found.sort(key=lambda entry: entry[0])
    return tuple(_words(text, cause, match, final=final) for _, cause, match, final in found)


def _words(text: str, cause: str, match: re.Match[str], *, final: bool) -> Words:
    """The whole line of what was found."""
    first, last = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
    end = last if last >= 0 else len(text)
    details = {name: value for name, value in match.groupdict().items() if value}
    return Words(cause, text[first:end].strip(), details, end, final)


def gave_up_later(rest: str) -> str | None:
    """Return the line with which a process gave up for another reason, from what it wrote after its last words."""
    lines = rest.partition(_REPORT)[0].strip("\n").split("\n")
    if lines[0].lstrip().startswith("what()"):
        del lines[0]  # libstdc++ tells of what was thrown in two lines
    others = (line for line in lines if line.lstrip().startswith("what()") or not _SAME_MESSAGE.match(line))
    return next((one.strip() for one in others if _GIVES_UP.search(one) and not _OF_A_HANDLER.search(one)), None)


def never_aborted(death: Death) -> bool:
    """Whether it crashed and had not aborted before: faulthandler reports both."""
    return death.traceback is not None and all(one.message != "Aborted" for one in reports(death.recording.crash_text))


def outlived(death: Death) -> bool:
    """Whether it went on after its last words, or another process wrote them, as a program that a cell runs."""
    words = death.words
    if words is None:
        return False
    return gave_up_later(death.text[words.end :]) is not None or (words.final and never_aborted(death))


def last_line(text: str) -> str | None:
    """Return the last line there is, whatever it says."""
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), None)


def said_at_the_end(death: Death) -> Iterator[Evidence]:
    """Quote the last line that reads like giving up, and the very last one: it may be the reason, or not."""
    yield from said_last(death.farewell)
    line = death.last_line
    if line is not None and line != death.farewell:
        yield Evidence(f"The last line it wrote: {quote(line, 200)}.", line[:200], None, "the process's output")


def said_last(line: str | None) -> Iterator[Evidence]:
    """Quote a last line that names no cause."""
    if line is not None:
        yield Evidence(
            f"Before it ended, the process wrote: {quote(line, 200)}.", line[:200], None, "the process's output"
        )


@lru_cache(maxsize=8)
def farewell(text: str) -> str | None:
    """Return the last line with which a program seems to give up, whoever's it is."""
    lines = [line.strip() for line in text.split("\n")]
    said = [line for line in lines if _FAREWELLS.search(line) and not _TAKEN_BACK.match(line)]
    reasons = [line for line in said if not (_SAYS_NO_REASON.search(line) or _OF_A_HANDLER.search(line))]
    return (reasons or said)[-1] if said else None
