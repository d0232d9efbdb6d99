import re
from collections.abc import Iterator

from ..analysis.traceback import fatal_message
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings
from ..conflicts import by_words
from ..examples import crash_in, crash_report, recording

_IN_THE_ALLOCATOR = re.compile(
    r'Binary file "[^"]*/libc[.-][^"]*", at (?:_int_(?:free|malloc|realloc)|cfree|free|malloc|realloc|calloc|'
    r"malloc_consolidate|unlink_chunk|tcache_\w+)\b"
)
_CALLS = 3  # innermost calls of the C stack; a signal handler stands before them
_DEBUG_HOOKS = re.compile(r"_PyMem_Debug\w{1,40}: bad |bad (?:leading|trailing) pad byte|bad ID: ")
_BEYOND_A_BUFFER = re.compile(r"^\*\*\* (?:stack smashing|buffer overflow) detected \*\*\*")
_FREED_TWICE = re.compile(r"double free(?P<unsure> or corruption)?")

_OLD_GLIBC = r"^(?:\*\*\* Error in `[^']*': )?"  # until 2.25
_DAMAGED = "(?:invalid|corrupt|double free|unaligned|mismatching|memory corruption|unsorted|too many|smallbin|largebin)"
_IN_MALLOC = _OLD_GLIBC + r"\w*(?:free|alloc|chunk|consolidate)\w*\(\): "


class HeapCorruption(Cause):
    """Native code had damaged the program's memory; it was noticed only when memory was next asked for or given back.

    What it means: The pieces of memory that a program asks for lie side by side, with short notes of the allocator in
    between. Code that writes past the end of its piece, or gives a piece back twice, damages those notes. Nothing
    happens until the allocator reads them: **the mistake lies before the line that is shown, maybe in an earlier
    cell.**

    How it is recognised: The process aborted, and its last words are those of the allocator: "double free or
    corruption", "free(): invalid pointer", "malloc(): invalid size", "corrupted size vs. prev_size" (glibc,
    malloc/malloc.c), or the same from another allocator or from a debugging tool. With less certainty: it crashed
    inside the allocator itself.

    What to do: Suspect native code that was given a size, an index or a pointer, also in the cells before: ctypes and
    cffi calls, compiled functions without bounds checks (`@njit(boundscheck=True)` finds them in numba), an object that
    was used after it was closed. `PYTHONMALLOC=debug` and `MALLOC_CHECK_=3` make it crash closer to the mistake.

    Example: `libc.free(p); libc.free(p)` through ctypes.
    """

    id, title, family = "heap-corruption", "Damaged memory in native code", Family.NATIVE_CRASH
    last_words = (
        _OLD_GLIBC + r"(?:double free or corruption|corrupted size vs\. prev_size|corrupted double-linked list)\b",
        _IN_MALLOC + _DAMAGED,
        _BEYOND_A_BUFFER.pattern,
        r"top chunk is corrupt|sysmalloc: Assertion .* failed",
        r"ERROR: AddressSanitizer: (?:heap-|attempting double-free|attempting free)",
        r"^mimalloc: error: .*(?:double free|corrupted|invalid pointer)",
        r"Attempt to free invalid pointer 0x[0-9a-f]+",
        r"malloc: \*\*\* error for object 0x[0-9a-f]+: ",
        r"^Debug memory block at address p=0x[0-9a-f]+",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        certainty = _certainty(death) if death.is_unasked_end else None
        if certainty is None:
            return None
        return self.finding(
            death,
            certainty,
            f"Native code wrote beyond the end of a buffer {death.where()}."
            if _wrote_beyond(death)
            else f"Native code had damaged the program's memory{_how(death)}; that was noticed {death.where()}.",
            _found(death),
            summary="Aborted: damaged memory" if death.signal == "SIGABRT" else "Crashed: damaged memory",
        )

    def fires_on(self) -> Recordings:
        """The words of glibc with an abort and with a crash, a crash in the allocator, and Python's own check."""
        cell = "libc.free(p)"
        report = crash_in(cell, message="Aborted")
        for said in (
            "free(): double free detected in tcache 2\n",
            "double free or corruption (!prev)\n",
            "munmap_chunk(): invalid pointer\n",
            "*** stack smashing detected ***: terminated\n",
            "malloc(): invalid size (unsorted)\n",
            "corrupted size vs. prev_size while consolidating\n",
        ):
            yield recording("import ctypes", cell, signal="SIGABRT", crash=report, output=said)
        yield recording(cell, signal="SIGSEGV", output="free(): invalid pointer\n")
        stack = (
            "\nCurrent thread's C stack trace (most recent call first):\n"
            '  Binary file "/lib/x86_64-linux-gnu/libc.so.6", at _int_free+0x2c1 [0x7f00]\n'
        )
        yield recording(cell, signal="SIGSEGV", crash=crash_in(cell) + stack)
        checked = crash_report("_PyMem_DebugRawFree: bad trailing pad byte") + crash_report("Aborted")
        yield recording("del x", signal="SIGABRT", crash=checked)

    def silent_on(self) -> Recordings:
        """Another kind of abort, a crash elsewhere, killed with these words, another program's words."""
        yield recording("f()", signal="SIGABRT", output="terminate called after throwing an instance of 'E'\n")
        yield recording("f()", signal="SIGSEGV", crash=crash_report("Segmentation fault", ("m.py", 1, "f")))
        yield recording("f()", signal="SIGKILL", output="double free or corruption (out)\n")
        # A program that the cell started said so: the allocator of the kernel itself would have aborted.
        said = "free(): double free detected in tcache 2\n"
        yield recording("w.sum()", signal="SIGSEGV", crash=crash_in("w.sum()"), output=said)
        check = "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!./tool\nsolver.step()", signal="SIGABRT", output=said + check)


def _certainty(death: Death) -> Certainty | None:
    within = _crashed_in_the_allocator(death)
    if death.said("heap-corruption") is not None:
        sure = Certainty.PROVEN if death.signal == "SIGABRT" else Certainty.STRONG
        return by_words(death, sure, Certainty.LIKELY if within else Certainty.WEAK)
    if death.signal == "SIGABRT" and _DEBUG_HOOKS.search(fatal_message(death.recording.crash_text) or ""):
        return Certainty.PROVEN
    return Certainty.LIKELY if within else None


def _crashed_in_the_allocator(death: Death) -> bool:
    if death.signal not in ("SIGSEGV", "SIGBUS") or death.traceback is None:
        return False
    lines = [line for line in death.recording.crash_text.split("\n") if line.startswith("  Binary file")]
    return any(_IN_THE_ALLOCATOR.search(line) for line in lines[:_CALLS])


def _freed_twice(death: Death) -> re.Match[str] | None:
    words = death.said("heap-corruption")
    return None if words is None else _FREED_TWICE.search(words.line)


def _wrote_beyond(death: Death) -> bool:
    words = death.said("heap-corruption")
    return words is not None and _BEYOND_A_BUFFER.search(words.line) is not None


def _how(death: Death) -> str:
    found = _freed_twice(death)
    return "" if found is None or found["unsure"] else " (a piece was freed twice)"


def _found(death: Death) -> Iterator[Evidence]:
    if _wrote_beyond(death):
        yield Evidence("Its compiler's check found that, and it is made as the function returns.", source="glibc")
        return
    if death.said("heap-corruption") is not None:
        if twice := _freed_twice(death):
            otherwise = ", or the memory beside it was overwritten" if twice["unsure"] else ""
            yield Evidence(f"That means: a piece of memory was freed twice{otherwise}.", source="glibc malloc")
    elif (message := fatal_message(death.recording.crash_text)) is not None:
        source = "crash report of Python's faulthandler"
        yield Evidence(f"Python's memory debugger found it: {message}.", message[:200], None, source)
    else:
        yield Evidence("It crashed inside the allocator, in the C library.", source="C stack trace")
    yield Evidence("The allocator notices damage late: the code that did it ran before.", source="glibc malloc")
