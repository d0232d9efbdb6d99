from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..analysis.incident_site import that_it_was_raised
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings
from ..conflicts import by_words
from ..examples import cell_file, crash_report, recording

_NEAR = 0.9


class FdLimit(Cause):
    """The kernel had too many files open, and could not open another.

    What it means: A process may have only so many files, sockets and pipes open at once, often 1024. Files that are
    opened in a loop and never closed use up this number. The kernel itself needs some to talk to the notebook.

    How it is recognised: An `OSError` with EMFILE, "Too many open files", was raised, which the kernel survives. Or a
    library raised another error, such as SQLite's "unable to open database file", and no file could be opened then. Or
    a library that aborted wrote these words last, as libzmq does. The limit is RLIMIT_NOFILE (getrlimit(2),
    `ulimit -n`).

    What to do: Close what you open: `with open(path) as file:`. The same goes for datasets, images, database
    connections, processes and their pipes. If you need so many, raise the limit before you start the server: `ulimit -n
    4096`.

    Example: `files = [open(path) for path in paths]` with 2000 paths.
    """

    id, title, family = "fd-limit", "Too many open files", Family.LIMIT
    incidents = frozenset({"too-many-files"})
    last_words = (r"^(?!.*(?:\[Errno \d+\]|\b(?:DEBUG|INFO|WARN(?:ING)?)\b)).*Too many open files",)

    def judge(self, death: Death) -> CauseFinding | None:
        words = death.said(self.id)
        if not death.is_unasked_end or words is None:
            return None
        is_reached = _reached(death)
        sure = Certainty.PROVEN if death.signal == "SIGABRT" else Certainty.STRONG
        otherwise = Certainty.LIKELY if is_reached else Certainty.WEAK
        return self.finding(
            death,
            by_words(death, sure if is_reached else sure.lowered(), otherwise),
            f"Too many files were open {death.where()}{_allowed(death)}.",
            (words.evidence, *_open_files(death)),
            summary="Ended: too many open files",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Give the numbers behind "Too many open files"."""
        is_said = incident.signature is not None and "open files" in incident.signature
        meaning = " (EMFILE, too many open files)" if is_said else " when no other file could be opened"
        raised = that_it_was_raised(incident, meaning)
        told = f"Too many files were open {death.where()}{_allowed(death)}."
        return self.finding(death, Certainty.PROVEN, told, (raised, *_open_files(death)), summary="Too many open files")

    def fires_on(self) -> Recordings:
        """The abort of libzmq, and a C++ library's."""
        cell = "sockets = [context.socket(zmq.PUSH) for _ in range(5000)]"
        report = crash_report("Aborted", (cell_file(cell), 1, "<module>"))
        full = SystemState(-0.2, "changed", rlimits={"NOFILE": Rlimit(1024, 4096)}, open_files=1024)
        said = "Too many open files (src/signaler.cpp:330)\n"
        yield recording(cell, signal="SIGABRT", crash=report, output=said, system_states=[full])
        cpp = "terminate called after throwing an instance of 'E'\n  what():  open: Too many open files\n"
        yield recording("reader.read()", signal="SIGABRT", output=cpp, server="watched")

    def silent_on(self) -> Recordings:
        """At the limit beside a crash of another kind, killed with these words, and a program the cell ran said so."""
        full = SystemState(-0.2, "changed", rlimits={"NOFILE": Rlimit(1024, 4096)}, open_files=1024)
        yield recording("f()", signal="SIGSEGV", system_states=[full])
        yield recording("f()", signal="SIGKILL", output="Too many open files\n")
        said = "ffmpeg: Too many open files\npython: solver.cpp:88: void step(): Assertion `n > 0' failed.\n"
        yield recording("!ffmpeg\nstep()", signal="SIGABRT", output=said)
        logged = "WARNING worker 3: [Errno 24] Too many open files: 'x.npy', trying again\nepoch 4: loss 0.2\n"
        yield recording("train()", signal="SIGABRT", output=logged)
        crash = crash_report("Segmentation fault", (cell_file("!cp a b\nf()"), 2, "<module>"))
        yield recording("!cp a b\nf()", signal="SIGSEGV", crash=crash, output="cp: Too many open files\n")


def _reached(death: Death) -> bool:
    limit, opened = death.environment.soft_limit("NOFILE"), death.environment.known.open_files
    return limit is not None and opened is not None and opened >= _NEAR * limit


def _allowed(death: Death) -> str:
    limit = death.environment.soft_limit("NOFILE")
    return "" if limit is None else f": the kernel may have {limit} at once"


def _open_files(death: Death) -> Iterator[Evidence]:
    limit, opened = death.environment.soft_limit("NOFILE"), death.environment.known.open_files
    if opened is not None:
        yield Evidence(f"The kernel had {opened} files open.", opened, "files", "/proc/PID/fd")
    if limit is not None:
        text = f"The kernel may have {limit} files open at once (`ulimit -n`, RLIMIT_NOFILE)."
        yield Evidence(text, limit, "files", "/proc/PID/limits")
