import ast
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings
from ..code.notebook import Notebook
from ..examples import recording
from ..units import duration

_SLACK_S = 2.0
"""The last look is a moment before the end, and Linux counts whole seconds (setrlimit(2))."""


class CpuTimeLimit(Cause):
    """The kernel had used all the processor time it was allowed.

    What it means: Shared machines often limit for how many seconds a program may keep a processor busy. Several threads
    use up this time several times as fast. At the soft limit a program gets a warning signal, which ends it if it has
    no handler. At the hard limit it is ended at once.

    How it is recognised: The process was ended by SIGXCPU, the signal for exactly this, and had not been far from its
    limit: batch systems send the same signal for reasons of their own. Or it was ended by SIGKILL, and its processor
    time had reached the hard limit (getrlimit(2), RLIMIT_CPU).

    What to do: Run long computations as a batch job, where the limit is higher or there is none. Have the limit raised
    (`ulimit -t`, /etc/security/limits.conf). Save intermediate results, so that you can go on from there.

    Example: `while True: pass` below `ulimit -t 60`.
    """

    id, title, family = "cpu-time-limit", "The processor time was used up", Family.LIMIT

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end:
            return None
        limit, used = _limit(death), death.environment.known.cpu_s
        if death.signal == "SIGXCPU" and not sent_by_others(death):
            is_used_up = limit.soft is not None and used is not None and used >= limit.soft - _SLACK_S
            certainty, reached = Certainty.PROVEN if is_used_up else Certainty.STRONG, limit.soft
        elif death.signal == "SIGKILL" and limit.hard is not None and (used or 0.0) >= limit.hard - _SLACK_S:
            certainty, reached = Certainty.STRONG, limit.hard
        else:
            return None
        line = death.line or death.find(_only_loop)
        allowed = "all its processor time" if reached is None else f"the {duration(reached)} of processor time allowed"
        return self.finding(
            death,
            certainty,
            f"The kernel had used {allowed}, {death.where(line)}.",
            _times(limit, used),
            line=line,
            summary=f"Processor time used up ({death.signal})",
        )

    def fires_on(self) -> Recordings:
        """At the soft limit, at the hard one, and without a look at the limits."""
        soft = SystemState(-9, "start", rlimits={"CPU": Rlimit(3, 10)})
        used = SystemState(-0.1, "end", rlimits={"CPU": Rlimit(4, 10)}, cpu_s=3.0)
        yield recording("while True: pass", signal="SIGXCPU", system_states=[soft, used])
        yield recording("while True: pass", signal="SIGXCPU", server="watched")
        hard = SystemState(-0.2, "changed", rlimits={"CPU": Rlimit(60, 60)}, cpu_s=59.6)
        yield recording("while True: pass", signal="SIGKILL", system_states=[hard])

    def silent_on(self) -> Recordings:
        """Signalled or killed far from the limit, killed without a limit, and a signal sent by the cell."""
        far = SystemState(-0.2, "changed", rlimits={"CPU": Rlimit(3600, 3600)}, cpu_s=59.6)
        yield recording("f()", signal="SIGXCPU", system_states=[far])
        yield recording("f()", signal="SIGXCPU", system_states=[SystemState(-1, "end", rlimits={"CPU": Rlimit()})])
        yield recording("while True: pass", signal="SIGKILL", system_states=[far])
        yield recording("while True: pass", signal="SIGKILL", system_states=[SystemState(-1, "end", cpu_s=4000.0)])
        yield recording("import signal\nsignal.raise_signal(signal.SIGXCPU)", signal="SIGXCPU")


def sent_by_others(death: Death) -> bool:
    """Return whether another program sent SIGXCPU, most likely a batch system: the process was far from its limit."""
    if not any("CPU" in around.rlimits for around in death.environment.system_states):
        return False
    soft, used = _limit(death).soft, death.environment.known.cpu_s
    return soft is None or (used is not None and used < soft / 2)


def _only_loop(code: Notebook) -> int | None:
    """Return the line of the loop of the running cell; None where it has none, or several."""
    cell = code.running_module
    lines = [one.lineno for one in (cell.body if cell is not None else ()) if isinstance(one, ast.For | ast.While)]
    return lines[0] if len(lines) == 1 else None


def _limit(death: Death) -> Rlimit:
    """Return the limit as it was set: Linux raises the soft one by 1 s with each SIGXCPU (posix-cpu-timers.c)."""
    hard = death.environment.known.rlimits.get("CPU", Rlimit()).hard
    seen = [around.rlimits["CPU"].soft for around in death.environment.system_states if "CPU" in around.rlimits]
    return Rlimit(min((soft for soft in seen if soft is not None), default=None), hard)


def _times(limit: Rlimit, used: float | None) -> Iterator[Evidence]:
    if used is not None:
        text = f"All threads of the kernel together had used {duration(used)} of processor time."
        yield Evidence(text, round(used, 2), "seconds", "/proc/PID/stat")
    for name, value in (("soft", limit.soft), ("hard", limit.hard)):
        if value is not None:
            text = f"The {name} limit for processor time was {duration(value)} (`ulimit -t`, RLIMIT_CPU)."
            yield Evidence(text, value, "seconds", "/proc/PID/limits")
