from typing import Any

from jupyter_kerneldoctor.recording.events import SystemState

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause, CauseFinding, Certainty, Death, Family, Incident, Recordings, size
from ..examples import GIB, MIB, PID, Group, recording
from ..texts import evidence
from ..texts.allocation_site import allocating_line, line_needs, needed, taken_where
from ..texts.growth import growth
from ..texts.headline import shortage
from .oom_cgroup import of_a_worker


class OutOfMemoryOnHost(Cause):
    """The machine ran out of memory, and Linux killed the kernel to save the rest.

    What it means: No limit of a container was reached: the kernel and everything else that runs there used up the
    memory of the whole machine. Linux then ends the process that frees the most, which need not be the one that grew
    last.

    How it is recognised: The process was ended by SIGKILL, next to nothing of the machine's memory was available at the
    last measurement, and the count of out-of-memory kills in the kernel's control group rose although no limit was
    near. Without that count it is no more than likely. It is proven where the system's log names the process, and no
    limit of a container.

    What to do: Let the cell need less at a time, and look at what else holds memory: other notebooks' kernels keep
    theirs until they are shut down. On a shared machine, another user's program may have taken it.

    Example: Two notebooks with a table of 6 GiB each on a laptop with 16 GiB: the third `merge` ends one of them.
    """

    id, title, family = "oom-host", "Out of memory: the machine", Family.MEMORY
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        logged = death.logged_kill("machine") if death.signal in (None, "SIGKILL") else None
        certainty = Certainty.PROVEN if logged is not None else _likelihood(death)
        if not death.is_unasked_end or certainty is None:
            return None
        memory, ram = death.memory, death.recording.kernel.ram_bytes
        has = f"it has {size(ram)}" if ram else ""
        proof = (*evidence.logged_kill(logged), *evidence.counts_of_kills(death), *death.memory_pressure.evidence())
        return self.finding(
            death,
            certainty,
            f"The machine ran out of memory {taken_where(death)}{shortage(death, has)}.",
            (
                *proof[:1],
                *growth(death),
                *line_needs(death),
                *proof[1:],
                *evidence.last_measurement(death),
                *evidence.child_memory(death),
            ),
            ruled_out=("Not a container's limit: none was near." if memory.groups and not memory.pressed else None,),
            line=allocating_line(death),
            summary="Killed by Linux: the machine's memory was full",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that Linux killed because the machine's memory was full."""
        return None if death.memory.has_group_limit else of_a_worker(self, death)

    def fires_on(self) -> Recordings:
        """The group's count rose, with the machine full and no limit near; or there is nothing but the full machine."""
        memory, counted = (2 * GIB, 5 * GIB, 9 * GIB), [Group(oom_kills=(3, 4))]
        full: dict[str, Any] = {"signal": "SIGKILL", "memory": memory, "available_bytes": 90 * MIB}
        yield recording("m = a.merge(b)", **full, groups=counted)
        yield recording("m = a.merge(b)", **full)
        swap = [SystemState(-0.5, "end", swap_total_bytes=2 * GIB, swap_free_bytes=3 * MIB)]
        yield recording("m = a.merge(b)", **full, groups=counted, system_states=swap)
        # The lines of Linux's mm/oom_kill.c; the last measurement is too old to show it.
        yield recording("m = a.merge(b)", signal="SIGKILL", memory=memory, available_bytes=3 * GIB, kernel_log=_LINES)

    def silent_on(self) -> Recordings:
        """The container's limit was hit, the count did not rise, or there was memory left."""
        memory = (300 * MIB, 490 * MIB)
        full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 50), usage_bytes=499 * MIB)
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=90 * MIB, groups=[full])
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=90 * MIB, groups=[Group()])
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=8 * GIB)
        # The log names another process, or the process left by itself after all.
        line = "Out of memory: Killed process 99 (chrome) total-vm:9000000kB, anon-rss:8000000kB, file-rss:0kB"
        yield recording("f()", signal="SIGKILL", memory=memory, groups=[Group()], kernel_log=[line])
        yield recording("f()", exit_code=1, memory=memory, kernel_log=_LINES)


_LINES = (
    (
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=user.slice,mems_allowed=0,global_oom,"
        f"task_memcg=/user.slice,task=python3,pid={PID},uid=1000"
    ),
    f"Out of memory: Killed process {PID} (python3) total-vm:14034848kB, anon-rss:12500120kB, file-rss:2344kB",
)


def _needs_more(death: Death) -> bool:
    """Whether the line needs more than was left when the cell began: it may be filled between two measurements."""
    need, left = needed(death), death.memory.headroom_before_bytes
    return need is not None and left is not None and (need.value.bytes or 0) > left


def _likelihood(death: Death) -> Certainty | None:
    memory = death.memory
    unlimited = memory.kills is None and memory.pressed is None and not memory.has_group_limit
    if death.status.signal == "SIGKILL" and unlimited and _needs_more(death):
        return Certainty.LIKELY
    if death.status.signal != "SIGKILL" or not memory.machine_is_full or memory.pressed is not None:
        return None
    if death.memory_pressure.swap_is_gone is False:  # with swap left, Linux would have used it first
        return None if memory.kills is None or not memory.kills.oom_kills else Certainty.POSSIBLE
    if memory.kills is None:
        return Certainty.LIKELY
    if not memory.kills.oom_kills:
        return None
    return Certainty.STRONG if memory.kills_are_own else Certainty.LIKELY
