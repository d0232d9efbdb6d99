"""`illegal-instruction`: machine code that this processor cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import Surroundings

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause
from ..certainty import by_words, certainty
from ..examples import cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.evidence import Incident
    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_AVX = ("avx", "avx2", "avx512f")


class IllegalInstruction(Cause):
    """The program contains an instruction that this processor does not know.

    What it means
    -------------
    Packages are built for a certain generation of processors. A build that uses AVX or AVX-512 instructions cannot run
    on an older processor, or in a virtual machine that hides them. The same happens with code that was compiled on one
    machine and kept for another: numba's cache directory on a home that several machines share, a library built with
    `-march=native`. Rarely it is meant: compilers place such an instruction where the program must never arrive.

    How it is recognised
    --------------------
    The process was ended by SIGILL, the signal for an illegal instruction (signal(7)), and the cell did not send it.
    Or a library said before it gave up that it needs instructions this processor lacks. Which of them the processor
    has stands in the evidence.

    What to do
    ----------
    Install a build for this processor: from another channel, an older version, or from source. Delete `__pycache__`
    directories with numba's cache (`*.nbi`, `*.nbc`). Or run it on a newer machine.

    Example
    -------
    `import tensorflow` with a build for AVX on a processor without it.
    """

    id = "illegal-instruction"
    title = "An instruction this processor does not know"
    family = Family.NATIVE_CRASH
    incidents = LOST_WORKER
    last_words = (
        r"compiled to use \S+ instructions, but these aren't available",
        r"verify that both the operating system and the processor support .*instructions",
    )
    warnings = (r"Missing required CPU features",)

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end or (death.signal != "SIGILL" and death.said(self.id) is None):
            return None
        words = death.said(self.id)
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, 0.95 if death.signal == "SIGILL" else by_words(death, 0.95)),
            f"{_what(death)} stopped the program {death.where()}{_why(death)}.",
            evidence=(
                *evidence.exit_status(death),
                *(() if words is None else (words.evidence,)),
                *_processor(death),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_memory(death), exclusions.not_asked_for(death), exclusions.not_by_itself(death)
            ),
            line=death.line,
            summary="Illegal instruction" + (" (SIGILL)" if death.signal == "SIGILL" else ""),
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that was lost at an instruction the processor lacks."""
        worker = death.lost_worker
        if worker is None or worker.signal != "SIGILL":
            return None
        told = (
            f"A worker process was lost, at an instruction the processor lacks, {death.where()}; the kernel lived on."
        )
        return self.finding(death, 0.9, told, worker.evidence(), title="A worker process crashed")

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """At an import, in compiled code on a processor that has everything, and told by the library."""
        cell = "import polars"
        report = crash_report("Illegal instruction", (cell_file(cell), 1, "<module>"))
        old = Surroundings(-8, "start", cpu_flags=("avx",))
        yield recording(cell, signal="SIGILL", crash=report, surroundings=[old])
        new = Surroundings(-8, "start", cpu_flags=("avx", "avx2", "avx512f"))
        yield recording("f(x)", signal="SIGILL", surroundings=[new], server="watched")
        said = (
            "F tensorflow/core/platform/cpu_feature_guard.cc:37] The TensorFlow library was compiled to use AVX "
            "instructions, but these aren't available on your machine.\n"
        )
        yield recording("import tensorflow", signal="SIGABRT", output=said)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """The same signal sent on purpose, and an abort that speaks of something else."""
        yield recording("import signal\nsignal.raise_signal(signal.SIGILL)", signal="SIGILL")
        yield recording("import tensorflow", signal="SIGABRT", output="Check failed: shape.ok()\n")


def _has_everything(death: Death) -> bool:
    """Whether an old processor is not it; then compilers' traps are as likely (GCC: `__builtin_trap`)."""
    flags = death.environment.known.cpu_flags
    return bool(flags) and all(name in flags for name in _AVX) and death.said("illegal-instruction") is None


def _what(death: Death) -> str:
    if _has_everything(death):
        return "A trap that code holds for what must not happen, or an instruction this processor does not know,"
    return "A library built for another kind of processor, or damaged,"


def _why(death: Death) -> str:
    return "" if _has_everything(death) else ": it holds an instruction that this processor does not know"


def _processor(death: Death) -> Iterator[Evidence]:
    flags = death.environment.known.cpu_flags
    if not flags:
        return
    missing = [name for name in _AVX if name not in flags]
    if missing:
        text = f"Of the newer instruction sets this processor has {', '.join(flags)}; it lacks {', '.join(missing)}."
    else:
        text = (
            f"This processor has {', '.join(flags)}, so that a build for an even newer one, a file that was damaged, "
            "or a trap that the compiler placed on purpose are likelier than an old processor."
        )
    yield Evidence(text, " ".join(flags), None, "/proc/cpuinfo flags")
