"""`heap-corruption`: the allocator found its book-keeping damaged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..analysis.traceback import fatal_message
from ..cause import Cause
from ..certainty import DOUBTED, by_words, certainty
from ..examples import cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_IN_THE_ALLOCATOR = re.compile(
    r'Binary file "[^"]*/libc[.-][^"]*", at (?:_int_(?:free|malloc|realloc)|cfree|free|malloc|realloc|calloc|'
    r"malloc_consolidate|unlink_chunk|tcache_\w+)\b"
)
_CALLS = 3  # innermost calls of the C stack; a signal handler stands before them
_DEBUG_HOOKS = re.compile(r"_PyMem_Debug\w+: bad |bad (?:leading|trailing) pad byte|bad ID: ")

_OLD_GLIBC = r"^(?:\*\*\* Error in `[^']*': )?"  # until 2.25
_DAMAGED = "(?:invalid|corrupt|double free|unaligned|mismatching|memory corruption|unsorted|too many|smallbin|largebin)"
_IN_MALLOC = _OLD_GLIBC + r"\w*(?:free|alloc|chunk|consolidate)\w*\(\): "


class HeapCorruption(Cause):
    """Native code had damaged the program's memory, and it was noticed when memory was next asked for or given back.

    What it means
    -------------
    Memory that programs ask for lies side by side, with short notes of the allocator in between. Code that writes
    past the end of its piece, or gives a piece back twice, damages those notes. Nothing happens until the allocator
    comes across them: **the mistake lies before the line that is shown, maybe in an earlier cell.**

    How it is recognised
    --------------------
    The process aborted, and its last words are those of the allocator: "double free or corruption", "free(): invalid
    pointer", "malloc(): invalid size", "corrupted size vs. prev_size" (glibc, malloc/malloc.c), or the same from
    another allocator or from a debugging tool. With less certainty: it crashed inside of the allocator itself.

    What to do
    ----------
    Suspect native code that was given a size, an index or a pointer, also in the cells before: ctypes and cffi calls,
    compiled functions without bounds checks (`@njit(boundscheck=True)` finds them in numba), an object that was used
    after it was closed. `PYTHONMALLOC=debug` and `MALLOC_CHECK_=3` move the discovery closer to the mistake.

    Example
    -------
    `libc.free(p); libc.free(p)` through ctypes.
    """

    id = "heap-corruption"
    title = "Damaged memory in native code"
    family = Family.NATIVE_CRASH
    last_words = (
        _OLD_GLIBC + r"(?:double free or corruption|corrupted size vs\. prev_size|corrupted double-linked list)\b",
        _IN_MALLOC + _DAMAGED,
        r"top chunk is corrupt|sysmalloc: Assertion .* failed",
        r"ERROR: AddressSanitizer: (?:heap-|attempting double-free|attempting free)",
        r"^mimalloc: error: .*(?:double free|corrupted|invalid pointer)",
        r"Attempt to free invalid pointer 0x[0-9a-f]+",
        r"malloc: \*\*\* error for object 0x[0-9a-f]+: ",
        r"^Debug memory block at address p=0x[0-9a-f]+",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end:
            return None
        confidence = _confidence(death)
        if confidence is None:
            return None
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, confidence),
            f"Native code had damaged the program's memory{_how(death)}; that was noticed {death.where()}, so the "
            f"mistake is {_suspects(death)}.",
            evidence=(
                *evidence.exit_status(death),
                *_found(death),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_memory(death), exclusions.not_asked_for(death), exclusions.not_by_itself(death)
            ),
            line=death.line,
            summary="Aborted: damaged memory" if death.signal == "SIGABRT" else "Crashed: damaged memory",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """The words of glibc with an abort and with a crash, a crash in the allocator, and Python's own check."""
        cell = "libc.free(p)"
        report = crash_report("Aborted", (cell_file(cell), 1, "<module>"))
        for said in (
            "free(): double free detected in tcache 2\n",
            "double free or corruption (!prev)\n",
            "munmap_chunk(): invalid pointer\n",
            "malloc(): invalid size (unsorted)\n",
            "corrupted size vs. prev_size while consolidating\n",
        ):
            yield recording("import ctypes", cell, signal="SIGABRT", crash=report, output=said)
        yield recording(cell, signal="SIGSEGV", output="free(): invalid pointer\n")
        stack = (
            "\nCurrent thread's C stack trace (most recent call first):\n"
            '  Binary file "/lib/x86_64-linux-gnu/libc.so.6", at _int_free+0x2c1 [0x7f00]\n'
        )
        crash = crash_report("Segmentation fault", (cell_file(cell), 1, "<module>")) + stack
        yield recording(cell, signal="SIGSEGV", crash=crash)
        checked = crash_report("_PyMem_DebugRawFree: bad trailing pad byte") + crash_report("Aborted")
        yield recording("del x", signal="SIGABRT", crash=checked)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Another kind of abort, a crash elsewhere, killed with these words, another program's words."""
        yield recording("f()", signal="SIGABRT", output="terminate called after throwing an instance of 'E'\n")
        yield recording("f()", signal="SIGSEGV", crash=crash_report("Segmentation fault", ("m.py", 1, "f")))
        yield recording("f()", signal="SIGKILL", output="double free or corruption (out)\n")
        # A program that the cell started said so: the allocator of the kernel itself would have aborted.
        crash = crash_report("Segmentation fault", (cell_file("w.sum()"), 1, "<module>"))
        said = "free(): double free detected in tcache 2\n"
        yield recording("w.sum()", signal="SIGSEGV", crash=crash, output=said)
        check = "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!./tool\nsolver.step()", signal="SIGABRT", output=said + check)


def _confidence(death: Death) -> float | None:
    within = _crashed_in_the_allocator(death)
    if death.said("heap-corruption") is not None:
        return by_words(death, 0.97 if death.signal == "SIGABRT" else 0.92, 0.8 if within else DOUBTED)
    if death.signal == "SIGABRT" and _DEBUG_HOOKS.search(fatal_message(death.recording.crash_text) or ""):
        return 0.95
    return 0.8 if within else None


def _crashed_in_the_allocator(death: Death) -> bool:
    if death.signal not in ("SIGSEGV", "SIGBUS") or death.traceback is None:
        return False
    lines = [line for line in death.recording.crash_text.split("\n") if line.startswith("  Binary file")]
    return any(_IN_THE_ALLOCATOR.search(line) for line in lines[:_CALLS])


def _suspects(death: Death) -> str:
    if not death.recording.cells:
        return "in a call before"
    if death.cell is None:
        return "in a call of a cell before"
    return "in that call or in one before it" if death.line is not None else "in that cell or in one before it"


_FREED_TWICE = re.compile(r"double free(?P<unsure> or corruption)?")


def _how(death: Death) -> str:
    found = _freed_twice(death)
    return "" if found is None or found["unsure"] else " by freeing a piece of it twice"


def _freed_twice(death: Death) -> re.Match[str] | None:
    words = death.said("heap-corruption")
    return None if words is None else _FREED_TWICE.search(words.line)


def _found(death: Death) -> Iterator[Evidence]:
    words, message = death.said("heap-corruption"), fatal_message(death.recording.crash_text)
    if words is not None:
        yield words.evidence
        if twice := _freed_twice(death):
            otherwise = ", or what lies beside it was overwritten" if twice["unsure"] else ""
            yield Evidence(f"That means: a piece of memory was freed twice{otherwise}.", source="glibc malloc")
    elif message is not None:
        yield Evidence(
            f"Python's memory debugger found it: {message}.",
            message[:200],
            None,
            "crash report of Python's faulthandler",
        )
    else:
        yield Evidence("It crashed inside of the allocator, in the C library.", source="C stack trace")
    yield Evidence(
        "The allocator notices damage only when it comes across it, so the code that did it ran before, maybe in an "
        "earlier cell.",
        source="glibc malloc",
    )
