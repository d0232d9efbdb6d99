from collections.abc import Iterator
from typing import Any

from jupyter_kerneldoctor.recording.events import SystemState

from ..analysis.ending import FROM_OUTSIDE
from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..analysis.memory_refusals import NEAR
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings
from ..examples import GIB, MIB, Group, recording
from ..texts import evidence, usual_reasons
from ..units import duration
from . import self_kill

_ENDED = {
    "SIGKILL": "killed",
    "SIGTERM": "asked to end",
    "SIGHUP": "ended as a terminal or session was closed",
    "SIGQUIT": "ended by a quit key",
    "SIGINT": "ended by an interrupt",
}


class KilledExternally(Cause):
    """Another program or person ended the kernel with a signal, and memory is not known to be the reason.

    What it means: Something outside the kernel ended it: a `kill` command, a runner or a batch system at the end of its
    time, a container that is stopped, an administrator's clean-up, a service that watches over memory before Linux
    does.

    How it is recognised: The process was ended by SIGKILL, SIGTERM or SIGHUP, Linux counted no out-of-memory kill in
    the kernel's control group, and the cell sends no such signal. Without a Jupyter server that watched the kernel, a
    restart of a busy kernel looks the same, so it is no more than possible then; likewise where the cell sends such a
    signal and the code does not show to which process. Who sent it is never known: the report lists who usually does.

    What to do: Ask who may do that: the batch system's log, the administrator, `journalctl` for earlyoom or
    systemd-oomd. If the kernel was close to a limit, look at its memory all the same.

    Example: `kill -9 <pid>` in a terminal while a cell runs.
    """

    id, title, family = "killed-externally", "Ended from outside", Family.OUTSIDE
    general = True
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        signal = death.status.signal
        if not death.is_unasked_end or signal not in FROM_OUTSIDE:
            return None
        certainty = _certainty(death)
        if certainty is None:
            return None
        return self.finding(
            death,
            certainty,
            f"The kernel was {_ENDED[signal]} {death.when()}{_memory_remark(death)}.",
            (
                *evidence.exit_status(death),
                *_nobody_watched(death),
                *(self_kill.sends(one) for one in death.sendings[:1]),
                *_stood_still(death),
                *evidence.counts_of_kills(death),
                *evidence.last_measurement(death),
            ),
            summary=f"Ended from outside ({signal})",
            not_known="Who sent the signal, and why, is not known.",
            usual_reasons=usual_reasons.of_a_signal_from_outside(death),
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that somebody ended, and not Linux for want of memory."""
        worker = death.lost_worker
        if worker is not None and worker.signal == "SIGTERM":
            certainty, title, told = Certainty.POSSIBLE, "ended", "A request to end (SIGTERM) ended a worker process"
        elif worker is not None and worker.signal == "SIGKILL" and worker.killed_for_memory is False:
            certainty, title = Certainty.LIKELY, "killed"
            told = "Something other than a shortage of memory killed a worker process"
        else:
            return None
        told = f"{told} {death.where()}; the kernel lived on."
        return self.finding(death, certainty, told, worker.evidence(), title=f"A worker process was {title}")

    def fires_on(self) -> Recordings:
        """With memory at ease, near its limit, after a child's memory kill, and while idle."""
        sleep = "import time\ntime.sleep(30)"
        ease = Group(2 * GIB, usage_bytes=60 * MIB)
        yield recording(sleep, signal="SIGKILL", memory=(50 * MIB,) * 3, groups=[ease])
        yield recording(sleep, signal="SIGKILL", memory=(50 * MIB,) * 3, groups=[ease], server="watched")
        near = Group(1 * GIB, limit_hits=(0, 3), usage_bytes=1000 * MIB)
        yield recording(sleep, signal="SIGKILL", memory=(980 * MIB,) * 3, groups=[near])
        child = Group(400 * MIB, oom_kills=(1, 1), usage_bytes=60 * MIB)
        yield recording(sleep, signal="SIGKILL", memory=(50 * MIB,) * 3, groups=[child])
        yield recording("x = 1", signal="SIGTERM", idle=True, server="watched")

    def silent_on(self) -> Recordings:
        """A restart that was asked for, a memory kill, a signal of a crash."""
        yield recording("f()", signal="SIGKILL", server="restart")
        yield recording("f()", signal="SIGKILL", request="message")
        full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 501), usage_bytes=495 * MIB)
        yield recording("f()", signal="SIGKILL", memory=(100 * MIB, 480 * MIB), groups=[full])
        yield recording("f()", signal="SIGSEGV")
        # The machine was short of memory, and Linux did not act: likelier a service that watches over memory.
        short = [SystemState(-0.5, "end", swap_total_bytes=0, swap_free_bytes=0)]
        memory: dict[str, Any] = {"memory": (9 * GIB,), "available_bytes": 300 * MIB, "groups": [Group()]}
        yield recording("f()", signal="SIGTERM", **memory, system_states=short)


def _certainty(death: Death) -> Certainty | None:
    """Say how sure it is: nothing tells who sent the signal, so that each other sender who may have leaves less."""
    kills, shortage = death.memory.kills, death.memory_pressure
    if kills is not None and kills.oom_kills and not death.memory.kills_were_of_children:
        return None
    if death.told_to_exit or death.logged_kill("cgroup", "machine", "service") is not None:
        return None
    if (shortage.is_low or shortage.is_pressed) and death.would_be_ended_by_a_memory_service:
        return Certainty.WEAK  # such a service sends the same signal, and here it had every reason to
    is_near = (death.memory.share_of_limit or 0.0) >= NEAR or death.memory.machine_is_full
    # Without a server a restart is not noted; without counters a kill for memory is not; a cell may have sent it.
    is_open = not death.server_watched or kills is None or bool(death.sendings) or is_near
    return Certainty.POSSIBLE if is_open else Certainty.LIKELY


def _memory_remark(death: Death) -> str:
    share, kills = death.memory.share_of_limit, death.memory.kills
    if share is not None and share >= NEAR:
        return f"; memory was at {min(share, 1):.0%} of its limit"
    return "; nothing points to memory" if kills is not None else ""


def _stood_still(death: Death) -> Iterator[Evidence]:
    """Say how long the cell had done nothing: somebody may have lost patience with it."""
    cell, looks, end = death.cell, death.recording.stuck, death.recording.end
    if cell is None or end is None or not looks or looks[-1].over or looks[-1].mono_s < cell.started_mono_s:
        return
    still_s = max(0.0, end.mono_s - looks[-1].since_mono_s)
    text = f"The cell had done nothing for {duration(still_s)}: hardly any processor time, no output."
    yield Evidence(text, round(still_s, 1), "s", "/proc/PID/stat")


def _nobody_watched(death: Death) -> Iterator[Evidence]:
    if not death.server_watched:
        yield Evidence("A restart by you would look the same: no Jupyter server was there to report one.")
