"""`oom-cgroup`: a container's memory limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import Child

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..analysis.memory import NEAR
from ..cause import Cause
from ..examples import GIB, MIB, PID, Group, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..texts.allocation_site import array_asked_for, filled_by_others, taken_where, taking_line
from ..units import sentence, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.evidence import Incident
    from jupyter_kerneldoctor.recording.model import CgroupDelta, Recording

    from ..analysis.oom_log import OomKill
    from ..death import Death

_AT_THE_LIMIT = 0.95


class OutOfMemoryInCgroup(Cause):
    """The kernel needed more memory than its container or session allows, and Linux ended it.

    What it means
    -------------
    Containers, JupyterHub servers and batch jobs run in a control group (cgroup) with a memory limit. When all
    processes of the group together need more and nothing can be given back, Linux ends one of them, most often the
    largest: the kernel. It has no chance to raise an error or to save anything.

    How it is recognised
    --------------------
    The process was ended by SIGKILL, and the group's count of memory kills (`oom_kill`) rose between the last
    measurement before the death and the death; or the kernel log names the process and the group's limit. Memory use
    at the limit alone proves nothing, as cached files may fill it harmlessly, and a child process that was killed
    earlier does not count. What counts towards the limit is all the group holds: child processes too.

    What to do
    ----------
    Let the cell need less at a time: read files in parts or only the columns you use, take smaller batches, delete
    what you no longer need. Or ask for a higher limit where the container is started.

    Example
    -------
    `df = pd.read_csv("big.csv")` in a container of 500 MiB: text columns take several times their size in the file.
    """

    id = "oom-cgroup"
    title = "Out of memory: a container or session limit"
    family = Family.MEMORY
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end or death.status.exit_code is not None or death.signal not in (None, "SIGKILL"):
            return None
        logged = death.logged_kill("cgroup", "machine")
        confidence = _confidence(death) if logged is None else 0.98 if logged.scope == "cgroup" else 0.0
        if confidence == 0:
            return None
        allowed = f": {death.memory.allowance}" if death.memory.has_group_limit else ""
        held = filled_by_others(death)
        return CauseFinding(
            self.id,
            self.title,
            confidence,
            f"{_ran_out(death, confidence, held)}{allowed}.",
            evidence=(
                *evidence.exit_status(death),
                *_log(logged),
                *evidence.counts_of_kills(death),
                *_limit(death),
                *evidence.last_measurement(death),
                *evidence.line_seen_from_outside(death),
                *array_asked_for(death),
                *evidence.child_memory(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_asked_for(death),
                _not_by_someone(confidence),
                _not_the_machine(death),
                exclusions.not_a_crash(death),
                exclusions.not_by_itself(death),
            ),
            line=taking_line(death) if held is None else None,
            summary=f"Killed by Linux at the {death.memory.limit_name}" if death.memory.pressed or logged else None,
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that Linux ended for want of memory."""
        worker = death.lost_worker
        if worker is None or worker.signal != "SIGKILL" or not death.memory.has_group_limit:
            return None
        if worker.child is not None and worker.child.oom_kills == 0:
            return None
        confidence, told = 0.6, "A worker process was killed, most likely as memory ran out,"
        if worker.child is not None and worker.child.oom_kills:
            limit = death.memory.limit_bytes
            allowed = f" of {size(limit)}" if limit else ""
            confidence, told = 0.95, f"Linux killed a worker process at the {death.memory.limit_name}{allowed}"
        told = f"{told} {death.where()}; the kernel lived on."
        return self.finding(death, confidence, told, worker.evidence(), title="A worker process was killed for memory")

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """Killed at the limit: by the own group's count, or by that of an ancestor that is all there is to read."""
        full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 501), usage_bytes=495 * MIB)
        growth = (100 * MIB, 250 * MIB, 470 * MIB)
        yield recording("df = pd.read_csv('big.csv')", signal="SIGKILL", memory=growth, groups=[full])
        yield recording("x = 1", "fit()", signal="SIGKILL", memory=growth, groups=[full], server="watched")
        yield recording("fit()", end="status-unknown", memory=growth, groups=[full])
        # The kernel's own share is small: its children hold the rest.
        yield recording("Parallel(8)(jobs)", signal="SIGKILL", memory=(80 * MIB, 90 * MIB), groups=[full])
        # The own group has no limit, its parent has.
        own = Group(oom_kills=(0, 1))
        yield recording("fit()", signal="SIGKILL", memory=growth, groups=[own, full])
        # The lines of Linux's mm/oom_kill.c; no count could be read.
        yield recording("fit()", signal="SIGKILL", memory=growth, kernel_log=_LINES)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Near the limit, or after another's kill, and yet another cause."""
        near = Group(1 * GIB, limit_hits=(0, 700), usage_bytes=1020 * MIB)
        memory = (900 * MIB, 1000 * MIB)
        yield recording("time.sleep(30)", signal="SIGKILL", memory=memory, groups=[near])
        earlier = Group(1 * GIB, oom_kills=(1, 1), limit_hits=(46, 46), usage_bytes=60 * MIB)
        yield recording("time.sleep(30)", signal="SIGKILL", memory=(50 * MIB,), groups=[earlier])
        killed = Group(1 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=1020 * MIB)
        yield recording("f()", signal="SIGSEGV", memory=memory, groups=[killed])
        yield recording("f()", signal="SIGKILL", memory=memory, groups=[killed], server="restart")
        # The log says that it was the machine.
        line = f"Out of memory: Killed process {PID} (python3) total-vm:2000000kB, anon-rss:1000000kB, file-rss:0kB"
        yield recording("f()", signal="SIGKILL", memory=memory, groups=[killed], kernel_log=[line])
        # The child was killed at that moment, and somebody killed the kernel.
        child = Child(77, -0.2, name="python3", kind="signal", signal="SIGKILL", oom_kills=1)
        ease = Group(1 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=60 * MIB)
        yield recording("time.sleep(9)", signal="SIGKILL", memory=(50 * MIB,), groups=[ease], children=[child])
        yield recording("f()", alive=True, memory=memory, groups=[near])


_LINES = (
    (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/docker/1f2e,"
        f"task_memcg=/docker/1f2e,task=python3,pid={PID},uid=1000"
    ),
    (
        f"Memory cgroup out of memory: Killed process {PID} (python3) total-vm:2034848kB, anon-rss:500120kB, "
        "file-rss:12344kB, shmem-rss:0kB, UID:1000 pgtables:1236kB oom_score_adj:0"
    ),
)


def _confidence(death: Death) -> float:
    memory, proven = death.memory, death.status.known
    if memory.kills is None:
        # Only that it was at its limit: kernel and sidecar may have gone together.
        share = memory.share_of_limit
        at_limit = memory.has_group_limit and share is not None and share >= _AT_THE_LIMIT
        at_limit = at_limit and not death.recording.rebooted
        return (0.55 if proven else 0.45) if at_limit else 0.0
    if not memory.kills.oom_kills:
        return 0.0
    if not memory.kills_are_own:
        return 0.75 if proven and memory.pressed else 0.5
    if memory.pressed is not None:
        if death.memory.kills_were_of_children:
            return 0.3
        if any(group.group_kills for group in memory.groups):
            return 0.5  # the whole group went, which is another cause
        if filled_by_others(death) is not None:  # Linux ends the largest, as a rule
            return 0.75 if proven else 0.6
        return 0.97 if proven else 0.8
    # A kill without a limit that was reached: the whole machine may have run out, which counts in the group, too.
    if memory.machine_is_full or not memory.has_group_limit:
        return 0.45
    return 0.85 if memory.machine_is_full is False else 0.6


def _ran_out(death: Death, confidence: float, held_bytes: int | None) -> str:
    if held_bytes is not None:
        return (
            f"Linux ended the kernel, which held {size(held_bytes)}, {death.when()}, because other programs had used "
            "up the memory that they share with it"
        )
    ran_out = "ran out of memory" if confidence > 0.5 else "may have run out of memory"
    return f"The kernel {ran_out} {taken_where(death)}"


def _log(logged: OomKill | None) -> Iterator[Evidence]:
    if logged is None:
        return
    held = f", which held {size(logged.held_bytes)} of its own" if logged.held_bytes is not None else ""
    yield Evidence(
        f"The kernel log says that Linux ended this process{held}, because its control group (cgroup) had reached its "
        "memory limit.",
        logged.short,
        None,
        "kernel log",
    )


def _limit(death: Death) -> Iterator[Evidence]:
    pressed = death.memory.pressed
    if pressed is None:
        yield from _no_limit_was_near(death)
        return
    yield Evidence(
        _limit_text(death, pressed), pressed.limit_bytes, "bytes", "the last measurement of the control group"
    )
    if pressed.limit_hits:
        yield Evidence(
            f"The limit was hit {pressed.limit_hits} times between the last measurement and the death.",
            pressed.limit_hits,
            "times",
            "the control group's count of limit hits",
        )


def _limit_text(death: Death, group: CgroupDelta) -> str:
    used = group.usage_before_bytes
    seen = f", of which {size(used)} was in use at the last measurement" if used is not None else ""
    return sentence(f"{death.memory.allowance}{seen}.")


def _no_limit_was_near(death: Death) -> Iterator[Evidence]:
    if death.memory.kills is not None:
        yield Evidence(
            f"No memory limit of the kernel's control groups was seen to be hit or to be {NEAR:.0%} full; the machine "
            "itself may have run out of memory."
        )


def _not_by_someone(confidence: float) -> str | None:
    if confidence < 0.9:
        return None
    return (
        "Not a `kill -9` by a person or program: that raises no count of memory kills and leaves no such line in the "
        "kernel log."
    )


def _not_the_machine(death: Death) -> str | None:
    last, full = death.memory.last, death.memory.machine_is_full
    if full is not False or last is None or last.available_bytes is None:
        return None
    return f"Not the whole machine: it had {size(last.available_bytes)} of memory left at the last measurement."
