"""`fd-limit`: too many files open at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import Incident, Rlimit, Surroundings

from ..analysis.incident_site import that_it_was_raised
from ..cause import Cause
from ..certainty import DOUBTED, by_words, certainty
from ..examples import cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..analysis.environment import Environment
    from ..death import Death


_NEAR = 0.9
_LIKELY = 0.75


class FdLimit(Cause):
    """The process had as many files open as it may have, and could not open another.

    What it means
    -------------
    Every open file, socket and pipe takes a number (a file descriptor), and a process may have only so many at once,
    often 1024. Files that are opened in a loop and never closed use them up. The kernel itself needs some for talking
    to the notebook.

    How it is recognised
    --------------------
    An `OSError` with EMFILE, "Too many open files", was raised, which the kernel survives; or these were the last words
    of a library that aborted (libzmq does). The limit is RLIMIT_NOFILE (getrlimit(2), `ulimit -n`).

    What to do
    ----------
    Close what is opened: `with open(path) as file:`. The same goes for datasets, images, database connections,
    processes and their pipes. Where so many are needed, have the limit raised: `ulimit -n 4096` before the server is
    started.

    Example
    -------
    `files = [open(path) for path in paths]` with 2000 paths.
    """

    id = "fd-limit"
    title = "Too many open files"
    family = Family.LIMIT
    incidents = frozenset({"too-many-files"})
    last_words = (r"Too many open files",)

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        words = death.said(self.id)
        if not death.is_unasked_end or words is None:
            return None
        sure = 0.95 if death.signal == "SIGABRT" else 0.85
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, by_words(death, sure, _LIKELY if _reached(death.environment) else DOUBTED)),
            f"The kernel had too many files open{_limit(death.environment)}, and could not go on {death.where()}.",
            evidence=(
                *evidence.exit_status(death),
                words.evidence,
                *_counts(death.environment),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(exclusions.not_memory(death), exclusions.not_asked_for(death)),
            line=death.line,
            summary="Ended: too many open files",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Give the numbers behind "Too many open files"."""
        state = death.environment
        return CauseFinding(
            self.id,
            self.title,
            0.97,
            f"No further file could be opened {death.where()}: too many are open{_limit(state)}.",
            evidence=(
                that_it_was_raised(incident, " (EMFILE, too many open files)"),
                *_counts(state),
            ),
            line=death.line,
            summary="Too many open files",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """The abort of libzmq, and a C++ library's."""
        cell = "sockets = [context.socket(zmq.PUSH) for _ in range(5000)]"
        report = crash_report("Aborted", (cell_file(cell), 1, "<module>"))
        full = Surroundings(-0.2, "changed", rlimits={"NOFILE": Rlimit(1024, 4096)}, open_files=1024)
        said = "Too many open files (src/signaler.cpp:330)\n"
        yield recording(cell, signal="SIGABRT", crash=report, output=said, surroundings=[full])
        cpp = "terminate called after throwing an instance of 'E'\n  what():  open: Too many open files\n"
        yield recording("reader.read()", signal="SIGABRT", output=cpp, server="watched")

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """At the limit beside a crash of another kind, killed with these words, and a program the cell ran said so."""
        full = Surroundings(-0.2, "changed", rlimits={"NOFILE": Rlimit(1024, 4096)}, open_files=1024)
        yield recording("f()", signal="SIGSEGV", surroundings=[full])
        yield recording("f()", signal="SIGKILL", output="Too many open files\n")
        said = "ffmpeg: Too many open files\npython: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!ffmpeg\nstep()", signal="SIGABRT", output=said)
        crash = crash_report("Segmentation fault", (cell_file("!cp a b\nf()"), 2, "<module>"))
        yield recording("!cp a b\nf()", signal="SIGSEGV", crash=crash, output="cp: Too many open files\n")


def _reached(state: Environment) -> bool:
    limit, opened = state.soft_limit("NOFILE"), state.known.open_files
    return limit is not None and opened is not None and opened >= _NEAR * limit


def _limit(state: Environment) -> str:
    limit = state.soft_limit("NOFILE")
    return "" if limit is None else f", {limit} being the limit"


def _counts(state: Environment) -> Iterator[Evidence]:
    limit, opened = state.soft_limit("NOFILE"), state.known.open_files
    if limit is not None:
        yield Evidence(
            f"This process may have {limit} files open at once (RLIMIT_NOFILE, `ulimit -n`).",
            limit,
            "files",
            "/proc/PID/limits",
        )
    if opened is not None:
        yield Evidence(f"{opened} were open at the last look.", opened, "files", "/proc/PID/fd")
