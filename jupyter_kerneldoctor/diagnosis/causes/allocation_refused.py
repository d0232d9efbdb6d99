import re
from collections.abc import Iterator
from typing import Any

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..analysis.ending import CRASHES, FROM_OUTSIDE
from ..analysis.incident_site import that_it_was_raised
from ..analysis.memory_refusals import NEAR, Refusal, is_used_up, refusals, without_room_for_a_stack
from ..analysis.traceback import fatal_message
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote, size
from ..conflicts import by_words
from ..examples import GIB, MIB, cell_file, crash_report, recording
from ..texts import evidence, exclusions
from ..texts.allocation_site import filled_limit, held_most, refused_where, taken_where

_MUCH_LESS = 0.5
_SMALL = 0.1
"""An object that holds less than this share of what grew is not named."""
_A_LOT_BYTES = 1 << 20
"""A request for less than this fails only where everything is used up: its size tells nothing."""
_LAST_ERROR = re.compile(r"^object type name: MemoryError$|^MemoryError:?\s*\Z", re.MULTILINE)


class AllocationRefused(Cause):
    """The program asked for memory, and the operating system refused it.

    What it means: Nobody killed the kernel: a request for memory was refused. Python turns that into a `MemoryError`
    and lives on. In C++ it becomes an exception (`std::bad_alloc`), which ends the program where no code catches it.
    Rust ends the program; some libraries do not check the answer, and crash.

    How it is recognised: By the last words ("terminate called after throwing an instance of 'std::bad_alloc'", "memory
    allocation of N bytes failed") or by the `MemoryError`; also by a thread that could not be started with a limit of
    memory nearly used up. The limit is named where it is known: a limit of this process (getrlimit(2): RLIMIT_AS,
    `ulimit -v`, RLIMIT_DATA, `ulimit -d`), what the machine promises to all programs (overcommit mode 2), or a single
    request larger than memory and swap together (mode 0). A crash with the memory of the process at its limit, or
    growing towards it, is only likely to be this.

    What to do: Ask for less: a smaller dtype or batch, the work in pieces. Or have the limit raised: `ulimit -v`, the
    batch system's memory request. Where the number asked for is absurd, look for a negative or mistaken size.

    Example: `np.ones((20_000, 20_000))` below `ulimit -v 3000000`.
    """

    id, title, family = "allocation-refused", "Memory was refused", Family.MEMORY
    incidents = frozenset({"memory-error", "no-memory-for-process", "no-threads"})
    last_words = (
        r"terminate called after throwing an instance of '(?:St9bad_alloc|std::bad_alloc)'",
        r"uncaught exception of type std::bad_alloc",
        r"memory allocation of (?P<bytes>\d+) bytes failed",
        r"cannot allocate memory for thread-local data",
        r"LLVM ERROR: out of memory|Allocation would exceed memory limit",
        r"insufficient memory for the Java Runtime Environment to continue",
        r"^FATAL ERROR: OUT OF MEMORY \(|^Cannot allocate memory \([\w./]+\.[ch]pp:\d+\)",
        r"Cannot recover from MemoryErrors|^fatal error: runtime: (?:out of memory|cannot (?:allocate|reserve|map))",
        r"what\(\):.*\bCannot allocate memory\b|OpenBLAS error: Memory allocation still failed",
        r"what\(\):.*can't allocate memory: you tried to allocate (?P<bytes>\d+) bytes",
        r"libgomp: Out of memory allocating (?P<bytes>\d+) bytes|<jemalloc>: .*\b[Oo]ut of memory",
    )
    warnings = (r"failed to allocate (?P<bytes>\d+) bytes",)

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end:
            return None
        words = death.said(self.id)
        told = words is not None and not death.outlived_its_words
        asked = words.asked_bytes if words is not None and told else None
        ram_bytes, grew_bytes = death.recording.kernel.ram_bytes, death.memory.growth_bytes
        is_told = _is_told_by_python(death)
        reasons = refusals(death.environment, ram_bytes, asked, refused=told or is_told, grew_bytes=grew_bytes)
        is_used_up = is_told or _is_used_up(death)
        is_at_a_limit = is_used_up or (bool(reasons) and _fails_without_a_word(death))
        if words is None and not is_at_a_limit:
            return None
        sure = told or is_used_up or not reasons
        otherwise = Certainty.LIKELY if is_at_a_limit else Certainty.WEAK  # much else crashes close to a limit, too
        otherwise = Certainty.STRONG if is_told and reasons else otherwise
        said = evidence.said_at_the_end(death) if is_told else ()
        return self.finding(
            death,
            otherwise if words is None else by_words(death, _by_reasons(reasons), otherwise),
            _headline(asked, reasons, _where(death), sure=sure),
            (*said, *_limits(death, reasons), *evidence.last_measurement(death)),
            ruled_out=(exclusions.not_memory(death),),
            summary="Ended: memory was refused" if sure else None,
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Name the limit behind a `MemoryError`; DuckDB has one of its own, below that of the process."""
        if (incident.signature or "").startswith("DuckDB"):
            told = f"DuckDB used up the memory that its own `memory_limit` allows {death.where()}."
            raised = that_it_was_raised(
                incident, ": DuckDB had neither memory below its limit nor room in temporary files"
            )
            return self.finding(death, Certainty.PROVEN, told, (raised,), title="DuckDB was out of memory")
        if incident.kind == "no-threads":
            return self._without_a_stack(death, incident)
        asked = incident.asked_bytes
        reasons = refusals(death.environment, death.recording.kernel.ram_bytes, asked, refused=True)
        return self.finding(
            death,
            _by_reasons(reasons) if incident.error else Certainty.STRONG,
            _filled_up(death, asked) or _headline(asked, reasons, refused_where(death), sure=True),
            (*_raised(death, incident), *_asked(asked, reasons), *_limits(death, reasons)),
            summary="Memory was refused",
        )

    def _without_a_stack(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Explain a thread that could not be started as there was no memory for its stack."""
        reasons = without_room_for_a_stack(death.environment)
        if not reasons:
            return None
        told = f"No memory was left for another thread {death.where()}: {reasons[0].reached}."
        stacks = Evidence("Each thread reserves memory for its stack, 8 MiB as a rule.", source="pthread_create(3)")
        pieces = (that_it_was_raised(incident), *_limits(death, reasons), stacks)
        return self.finding(death, Certainty.STRONG, told, pieces, summary="No memory for another thread")

    def fires_on(self) -> Recordings:
        """C++ and Rust below a limit, more than the machine has, and a crash with the address space used up."""
        bad = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
        full = SystemState(-0.4, "changed", rlimits={"AS": Rlimit(4 * GIB)}, address_space_bytes=3900 * MIB)
        cell = "import lightgbm\nlightgbm.train(params, data)"
        report = crash_report("Aborted", (cell_file(cell), 2, "<module>"))
        yield recording(cell, signal="SIGABRT", output=bad, system_states=[full], crash=report)
        yield recording(cell, signal="SIGABRT", output=bad, server="watched")
        rust = "memory allocation of 68719476736 bytes failed\n"
        yield recording("df.join(other, how='cross')", signal="SIGABRT", output=rust)
        yield recording("lib.fill(n)", signal="SIGSEGV", system_states=[full])
        on_its_way = SystemState(-0.1, "end", rlimits={"DATA": Rlimit(GIB)}, data_bytes=800 * MIB)
        growing = tuple(number * 10 * MIB for number in range(5, 52))
        yield recording("pd.read_csv(path)", signal="SIGSEGV", system_states=[on_its_way], memory=growing)
        state = SystemState(-0.1, "end", rlimits={"DATA": Rlimit(GIB)}, data_bytes=GIB - 4096)
        said = "FATAL ERROR: OUT OF MEMORY (src/epoll.cpp:61)\n"
        asked: dict[str, Any] = {"system_states": [state], "request": "message", "crash": crash_report("Aborted")}
        yield recording("rows = load(n)", signal="SIGABRT", output=said, **asked)
        yield recording("rows = load(n)", signal="SIGABRT", output=said, system_states=[state])
        yield recording("rows = load(n)", signal="SIGTERM", system_states=[state])
        said = "cannot allocate memory for thread-local data: ABORT\n"
        yield recording("rows = load(n)", exit_code=127, output=said, request="message", system_states=[full])
        earlier = SystemState(-0.1, "end", rlimits={"DATA": Rlimit(GIB)}, data_bytes=800 * MIB)
        said = "object type name: MemoryError\nobject repr     : \nlost sys.stderr\n"
        yield recording("rows = load(n)", exit_code=1, output=said, system_states=[earlier])
        yield recording("rows = load(n)", exit_code=1, output="MemoryError: \nMemoryError: \n", server="watched")

    def silent_on(self) -> Recordings:
        """Another exception, a crash far from every limit, a memory kill, the words of a program that a cell ran."""
        other = "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no\n"
        yield recording("f()", signal="SIGABRT", output=other)
        far = SystemState(-0.4, "changed", rlimits={"AS": Rlimit(64 * GIB)}, address_space_bytes=2 * GIB)
        yield recording("f()", signal="SIGSEGV", system_states=[far], crash=crash_report("Segmentation fault"))
        yield recording("f()", signal="SIGTERM", system_states=[far])
        half = SystemState(-0.1, "end", rlimits={"DATA": Rlimit(GIB)}, data_bytes=800 * MIB)
        yield recording("f()", signal="SIGSEGV", system_states=[half], crash=crash_report("Segmentation fault"))
        check = "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        near = SystemState(-0.4, "changed", rlimits={"AS": Rlimit(4 * GIB)}, address_space_bytes=3900 * MIB)
        yield recording("f()", signal="SIGABRT", output=check, system_states=[near])
        yield recording("f()", signal="SIGKILL", output="memory allocation of 4096 bytes failed\n")
        said = "memory allocation of 4096 bytes failed\npython: a.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!worker\nf()", signal="SIGABRT", output=said)
        yield recording("f()", exit_code=1, output="MemoryError: no room\nRetried with less.\nERROR: no such model\n")
        yield recording("f()", exit_code=3, output="MemoryError:\n")


def _is_used_up(death: Death) -> bool:
    """Whether it ended with its memory used up: then Python can neither go on in the cell nor tell of it."""
    in_a_cell = death.cell is not None and not death.cell.finished
    given_up = in_a_cell and (death.signal in FROM_OUTSIDE or bool(death.status.exit_code))
    return (given_up or death.signal in CRASHES) and is_used_up(death.environment.known)


def _is_told_by_python(death: Death) -> bool:
    """Whether a `MemoryError` that nothing caught was the last that Python could tell before it left."""
    if death.cell is None or death.cell.finished or death.status.exit_code != 1:
        return False
    return _LAST_ERROR.search(death.text) is not None


def _where(death: Death) -> str:
    """Return where it ended; with its memory used up where it grew, as any thread is then refused the next bytes."""
    is_full = is_used_up(death.environment.known) or _is_told_by_python(death)
    return taken_where(death) if death.cell is not None and is_full else refused_where(death)


def _fails_without_a_word(death: Death) -> bool:
    """Whether it crashed, and nothing says why."""
    if death.signal == "SIGABRT":
        return death.farewell is None and fatal_message(death.recording.crash_text) is None
    return death.signal == "SIGSEGV"


def _by_reasons(reasons: tuple[Refusal, ...]) -> Certainty:
    """Say how sure a refusal is that was reported: its limit proves it; without one, code may refuse by itself."""
    return Certainty.PROVEN if reasons else Certainty.STRONG


def _asked(asked: int | None, reasons: tuple[Refusal, ...]) -> Iterator[Evidence]:
    """Say how much was asked for, where none of the reasons does."""
    if asked is not None and all(reason.evidence.value != asked for reason in reasons):
        yield Evidence(f"{size(asked)} was asked for.", asked, "bytes", "the exception")


def _raised(death: Death, incident: Incident) -> Iterator[Evidence]:
    """Say that an error was raised, or why none was."""
    if incident.error or death.cell is None or death.cell.finished:
        yield that_it_was_raised(incident)
    else:
        told = "The cell did not come to its end after that: without memory, Python may be unable to report an error."
        yield Evidence(told, source="the cells")


def _limits(death: Death, reasons: tuple[Refusal, ...]) -> Iterator[Evidence]:
    """Tell the limits, and why an address space can be full while little memory is used: getrlimit(2), RLIMIT_AS."""
    yield from (reason.evidence for reason in reasons)
    limit, used = death.environment.soft_limit("AS"), death.environment.known.address_space_bytes
    resident_bytes = death.memory.peak_bytes
    if limit is None or used is None or resident_bytes is None:
        return
    if used >= NEAR * limit and resident_bytes < _MUCH_LESS * used:
        text = f"This limit counts all reserved address space; the kernel used only {size(resident_bytes)}."
        yield Evidence(text, resident_bytes, "bytes", "samples")


def _filled_up(death: Death, asked: int | None) -> str | None:
    """Tell of memory that was full before; None where the request itself was large, or no limit was used up."""
    limit = filled_limit(death)
    held, share = held_most(death)
    if limit is None or (asked is None and share < _MUCH_LESS):
        return None
    by = "the notebook" if held is None or share < _SMALL else quote(held.name)
    by += " and more had filled" if _SMALL <= share < _MUCH_LESS else " had filled"
    return f"Memory was refused {refused_where(death)}: {by} this process's limit of {size(limit.limit_bytes)}."


def _headline(asked: int | None, reasons: tuple[Refusal, ...], where: str, *, sure: bool) -> str:
    if not sure:
        return f"Native code crashed {where}, most likely because {reasons[0].reached}."
    if asked is not None and (asked >= _A_LOT_BYTES or not reasons):
        why = f": {reasons[0].reached}" if reasons else ""
        if reasons and reasons[0].proven:
            why = f": {reasons[0].what}"
        return f"A request for {size(asked)} of memory was refused {where}{why}."
    if reasons:
        return f"Memory was refused {where}: {reasons[0].reached}."
    return f"The operating system refused memory {where}."
