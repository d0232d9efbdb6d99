"""`cpu-time-limit`: the process had used up its processor time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import Rlimit, Surroundings

from ..cause import Cause
from ..certainty import certainty
from ..examples import recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_SLACK_S = 2.0
"""The last look is a moment before the end, and Linux counts whole seconds (setrlimit(2))."""


class CpuTimeLimit(Cause):
    """The process had used all the processor time it was allowed.

    What it means
    -------------
    On shared machines a limit is often set on how many seconds a program may keep a processor busy; several threads
    use it up several times as fast. At the soft limit a program gets a warning signal, which ends it if it has no
    handler; at the hard limit it is ended at once.

    How it is recognised
    --------------------
    The process was ended by SIGXCPU, the signal for exactly this, and no look at it speaks against that: batch systems
    send this signal as well, where the process is far from a limit of its own. Or it was ended by SIGKILL, and its
    processor time had reached the hard limit (getrlimit(2), RLIMIT_CPU).

    What to do
    ----------
    Run long computations as a batch job, where there is no such limit or a higher one. Have the limit raised (`ulimit
    -t`, /etc/security/limits.conf). Save intermediate results, so that the work can go on later.

    Example
    -------
    `while True: pass` below `ulimit -t 60`.
    """

    id = "cpu-time-limit"
    title = "The processor time was used up"
    family = Family.LIMIT

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end:
            return None
        limit = _allowed(death)
        if death.signal == "SIGXCPU" and not sent_by_others(death):
            confidence, reached = 0.97, limit.soft
        elif death.signal == "SIGKILL" and _at_hard_limit(death, limit):
            confidence, reached = 0.93, limit.hard
        else:
            return None
        allowed = "" if reached is None else f" of {duration(reached)}"
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, confidence),
            f"The kernel had used up the processor time{allowed} that a program may take here, {death.when()}.",
            evidence=(*evidence.exit_status(death), *_limit(limit), *_used(death), *evidence.running_cell(death)),
            ruled_out=exclusions.known(
                exclusions.not_memory(death), exclusions.not_asked_for(death), exclusions.not_by_itself(death)
            ),
            line=death.line,
            summary=f"Processor time used up ({death.signal})",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """At the soft limit, at the hard one, and without a look at the limits."""
        soft = Surroundings(-9, "start", rlimits={"CPU": Rlimit(3, 10)})
        used = Surroundings(-0.1, "end", rlimits={"CPU": Rlimit(4, 10)}, cpu_s=3.0)
        yield recording("while True: pass", signal="SIGXCPU", surroundings=[soft, used])
        yield recording("while True: pass", signal="SIGXCPU", server="watched")
        hard = Surroundings(-0.2, "changed", rlimits={"CPU": Rlimit(60, 60)}, cpu_s=59.6)
        yield recording("while True: pass", signal="SIGKILL", surroundings=[hard])

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Signalled or killed far from the limit, killed without a limit, and a signal sent by the cell."""
        far = Surroundings(-0.2, "changed", rlimits={"CPU": Rlimit(3600, 3600)}, cpu_s=59.6)
        yield recording("f()", signal="SIGXCPU", surroundings=[far])
        yield recording("f()", signal="SIGXCPU", surroundings=[Surroundings(-1, "end", rlimits={"CPU": Rlimit()})])
        yield recording("while True: pass", signal="SIGKILL", surroundings=[far])
        yield recording("while True: pass", signal="SIGKILL", surroundings=[Surroundings(-1, "end", cpu_s=4000.0)])
        yield recording("import signal\nsignal.raise_signal(signal.SIGXCPU)", signal="SIGXCPU")


def sent_by_others(death: Death) -> bool:
    """Whether SIGXCPU came from a program, a batch system mostly, as the process was far from its own limit."""
    if not any("CPU" in around.rlimits for around in death.environment.surroundings):
        return False
    soft, used = _allowed(death).soft, death.environment.known.cpu_s
    return soft is None or (used is not None and used < soft / 2)


def _allowed(death: Death) -> Rlimit:
    """The limit as it was set: with each SIGXCPU Linux raises the soft one by 1 s (kernel/time/posix-cpu-timers.c)."""
    hard = death.environment.known.rlimits.get("CPU", Rlimit()).hard
    seen = [around.rlimits["CPU"].soft for around in death.environment.surroundings if "CPU" in around.rlimits]
    return Rlimit(min((soft for soft in seen if soft is not None), default=None), hard)


def _at_hard_limit(death: Death, limit: Rlimit) -> bool:
    used = death.environment.known.cpu_s
    return limit.hard is not None and used is not None and used >= limit.hard - _SLACK_S


def _limit(limit: Rlimit) -> Iterator[Evidence]:
    for name, value in (("soft", limit.soft), ("hard", limit.hard)):
        if value is not None:
            yield Evidence(
                f"The {name} limit for processor time was {duration(value)} (RLIMIT_CPU, `ulimit -t`).",
                value,
                "seconds",
                "/proc/PID/limits",
            )


def _used(death: Death) -> Iterator[Evidence]:
    used = death.environment.known.cpu_s
    if used is not None:
        yield Evidence(
            f"All threads of the process together had used {duration(used)} of processor time at the last look.",
            round(used, 2),
            "seconds",
            "/proc/PID/stat",
        )
