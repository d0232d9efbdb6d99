from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import SystemState

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, WorkerEnd
from ..conflicts import by_words
from ..examples import crash_in, recording
from ..texts import usual_reasons
from ..units import sentence

_AVX = ("avx", "avx2", "avx512f")


class IllegalInstruction(Cause):
    """The program contains an instruction that this processor does not know.

    What it means: Packages are built for a certain generation of processors. A build that uses AVX or AVX-512
    instructions cannot run on an older processor, or in a virtual machine that hides them. The same happens with code
    that was compiled on one machine and kept for another: numba's cache on a home directory that several machines
    share, or a library built with `-march=native`. Rarely it is deliberate: compilers place such an instruction where
    the program must never arrive.

    How it is recognised: The process was ended by SIGILL, the signal for an illegal instruction (signal(7)), and the
    cell did not send it. Or a library said before it gave up that it needs instructions this processor lacks. The
    evidence says which of them the processor has. Where it has them all, and nothing was said, the report lists what to
    check.

    What to do: Install a build for this processor: from another channel, an older version, or from source. Delete
    `__pycache__` directories with numba's cache (`*.nbi`, `*.nbc`). Or run it on a newer machine.

    Example: `import tensorflow` with a build for AVX on a processor without it.
    """

    id, title, family = "illegal-instruction", "An instruction this processor does not know", Family.NATIVE_CRASH
    incidents = LOST_WORKER
    worker_end = WorkerEnd("SIGILL", Certainty.LIKELY, "met an instruction the processor lacks")
    last_words = (
        r"compiled to use \S+ instructions, but these aren't available",
        r"verify that both the operating system and the processor support .*instructions",
    )
    warnings = (r"Missing required CPU features",)

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or (death.signal != "SIGILL" and death.said(self.id) is None):
            return None
        flags = death.environment.known.cpu_flags
        said, lacks_some = death.said(self.id) is not None, bool(flags) and not set(_AVX) <= set(flags)
        # where the processor has them all, a compiler's trap is as likely (GCC: `__builtin_trap`)
        trap = "" if said or lacks_some or not flags else "a compiler's trap or "
        return self.finding(
            death,
            _certainty(death, said=said, lacks_some=lacks_some),
            sentence(f"{trap}an instruction that this processor does not know stopped the program {death.where()}."),
            _processor(flags),
            summary="Illegal instruction" + (" (SIGILL)" if death.signal == "SIGILL" else ""),
            general=not said and not lacks_some,
            not_known="Which instruction it was is not known.",
            usual_reasons=usual_reasons.of_an_illegal_instruction(death),
        )

    def fires_on(self) -> Recordings:
        """At an import, in compiled code on a processor that has everything, and told by the library."""
        cell = "import polars"
        report = crash_in(cell, message="Illegal instruction")
        old = SystemState(-8, "start", cpu_flags=("avx",))
        yield recording(cell, signal="SIGILL", crash=report, system_states=[old])
        new = SystemState(-8, "start", cpu_flags=("avx", "avx2", "avx512f"))
        yield recording("f(x)", signal="SIGILL", system_states=[new], server="watched")
        said = (
            "F tensorflow/core/platform/cpu_feature_guard.cc:37] The TensorFlow library was compiled to use AVX "
            "instructions, but these aren't available on your machine.\n"
        )
        yield recording("import tensorflow", signal="SIGABRT", output=said)

    def silent_on(self) -> Recordings:
        """The same signal sent on purpose, and an abort that speaks of something else."""
        yield recording("import signal\nsignal.raise_signal(signal.SIGILL)", signal="SIGILL")
        yield recording("import tensorflow", signal="SIGABRT", output="Check failed: shape.ok()\n")


def _certainty(death: Death, *, said: bool, lacks_some: bool) -> Certainty:
    if said:
        is_sigill = death.signal == "SIGILL"
        return by_words(death, Certainty.PROVEN, Certainty.LIKELY) if is_sigill else by_words(death, Certainty.STRONG)
    return Certainty.STRONG if lacks_some else Certainty.LIKELY


def _processor(flags: tuple[str, ...]) -> Iterator[Evidence]:
    if not flags:
        return
    has, lacks = f"This processor has {', '.join(flags)}", ", ".join(name for name in _AVX if name not in flags)
    why = f"; it lacks {lacks}" if lacks else ". So it is not too old for most builds; the file may be damaged"
    yield Evidence(f"{has}{why}.", " ".join(flags), None, "/proc/cpuinfo flags")
