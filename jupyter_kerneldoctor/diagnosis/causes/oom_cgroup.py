from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Child
from jupyter_kerneldoctor.recording.model import ServerView

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..analysis.memory_refusals import CLIMBING_FROM
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, size
from ..examples import GIB, MIB, PID, Group, recording
from ..texts import evidence
from ..texts.allocation_site import allocating_line, filled_by_others, line_needs, taken_where
from ..texts.growth import growth
from ..texts.headline import shortage
from ..units import sentence

_AT_THE_LIMIT = 0.95


class OutOfMemoryInCgroup(Cause):
    """The kernel needed more memory than its container or session allows, and Linux killed it.

    What it means: Containers, JupyterHub servers and batch jobs have a memory limit. Linux calls such a group of
    processes a control group (cgroup). When all its processes together need more and nothing can be given back, Linux
    ends one of them, most often the largest: the kernel. The kernel has no chance to raise an error or to save
    anything.

    How it is recognised: The process was ended by SIGKILL, and the group's count of out-of-memory kills (`oom_kill`)
    rose between the last measurement and the death; or the system's log names the process and the group's limit. What
    counts towards the limit is what all processes of the group hold, child processes too. Memory use at the limit alone
    proves nothing, as cached files may fill it harmlessly. A child process that was killed earlier does not count.

    What to do: Let the cell need less at a time: read files in parts or only the columns you use, take smaller batches,
    delete what you no longer need. Or ask for a higher limit where the container is started.

    Example: `df = pd.read_csv("big.csv")` in a container of 500 MiB: text columns take several times their size in the
    file.
    """

    id, title, family = "oom-cgroup", "Out of memory: a container or session limit", Family.MEMORY
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.status.exit_code is not None or death.signal not in (None, "SIGKILL"):
            return None
        logged = death.logged_kill("cgroup", "machine")
        is_logged = logged is not None and logged.scope == "cgroup"
        certainty = _certainty(death) if logged is None else Certainty.PROVEN if is_logged else None
        if certainty is None:
            return None
        memory, held = death.memory, filled_by_others(death)
        allowed = memory.limit_clause if memory.has_group_limit and held is None else ""
        at = f"at the {memory.limit_name}" if memory.has_group_limit else "as memory was full"
        proof = (*evidence.logged_kill(logged), *evidence.counts_of_kills(death))
        return self.finding(
            death,
            certainty,
            f"{_ran_out(death, certainty, held)}{shortage(death, allowed)}.",
            (
                *proof[:1],
                *growth(death),
                *line_needs(death),
                *proof[1:],
                *evidence.last_measurement(death),
                *evidence.child_memory(death),
                *_limit_hits(death),
            ),
            ruled_out=(_not_by_someone(certainty), _not_the_machine(death)),
            line=allocating_line(death) if held is None else None,
            summary=f"Killed by Linux {at}" if memory.pressed or logged else None,
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that Linux killed at the limit that it shares with the kernel."""
        return of_a_worker(self, death) if death.memory.has_group_limit else None

    def fires_on(self) -> Recordings:
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
        # The recorder was killed, too, before it could write the end; the server saw that of the kernel.
        climbing = tuple(number * 10 * MIB for number in range(5, 42))
        yield recording("fit()", end="not-seen", memory=climbing, groups=[full], server=ServerView(returncode=-9))
        # It died before the recorder's first look.
        unseen = Group(500 * MIB, oom_kills=(None, 1), peak_bytes=500 * MIB)
        yield recording("fit()", signal="SIGKILL", memory=(), groups=[unseen, Group()])
        # The lines of Linux's mm/oom_kill.c; no count could be read.
        yield recording("fit()", signal="SIGKILL", memory=growth, kernel_log=_LINES)

    def silent_on(self) -> Recordings:
        """Near the limit, or after another's kill, and yet another cause."""
        near = Group(1 * GIB, limit_hits=(0, 700), usage_bytes=1020 * MIB)
        memory = (900 * MIB, 1000 * MIB)
        yield recording("time.sleep(30)", signal="SIGKILL", memory=memory, groups=[near])
        earlier = Group(1 * GIB, oom_kills=(1, 1), limit_hits=(46, 46), usage_bytes=60 * MIB)
        yield recording("time.sleep(30)", signal="SIGKILL", memory=(50 * MIB,), groups=[earlier])
        killed = Group(1 * GIB, oom_kills=(0, 1), limit_hits=(0, 9), usage_bytes=1020 * MIB)
        yield recording("f()", signal="SIGSEGV", memory=memory, groups=[killed])
        yield recording("f()", signal="SIGKILL", memory=memory, groups=[killed], server="restart")
        unseen = Group(1 * GIB, oom_kills=(None, 1), peak_bytes=300 * MIB)
        yield recording("time.sleep(30)", signal="SIGKILL", memory=(), groups=[unseen, Group()])
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


def of_a_worker(cause: Cause, death: Death) -> CauseFinding | None:
    """Explain a worker process that Linux killed for memory, or most likely did."""
    worker = death.lost_worker
    if worker is None or worker.signal != "SIGKILL" or worker.killed_for_memory is False:
        return None
    certainty, told = (
        (Certainty.PROVEN, f"Linux killed {worker.name} for memory {death.where()}")
        if worker.killed_for_memory
        else (
            Certainty.POSSIBLE,
            f"{sentence(worker.name)} was killed {death.where()}, most likely because memory ran out",
        )
    )
    allowed = f": {death.memory.limit_clause}" if death.memory.limit_clause else ""
    title = "A worker process was killed for memory"
    return cause.finding(death, certainty, f"{told}{allowed}.", worker.evidence(), title=title)


def _without_counts(death: Death) -> Certainty | None:
    """Say how sure it is by the last measurement alone: the kernel and its recorder may have been killed together."""
    memory, is_seen = death.memory, death.status.known
    if not memory.has_group_limit or death.recording.rebooted:
        return None
    share = memory.share_of_limit or 0.0
    if share >= _AT_THE_LIMIT:
        return Certainty.LIKELY if is_seen else Certainty.POSSIBLE
    was_climbing = memory.climb_bytes is not None and share >= CLIMBING_FROM
    return Certainty.POSSIBLE if is_seen and death.recording.end is None and was_climbing else None


def _certainty(death: Death) -> Certainty | None:
    memory, is_seen = death.memory, death.status.known
    if memory.was_killed_unseen:
        return Certainty.LIKELY
    if memory.kills is None:
        return _without_counts(death)
    if not memory.kills.oom_kills:
        return None
    if not memory.kills_are_own:
        return Certainty.LIKELY if is_seen and memory.pressed else Certainty.POSSIBLE
    if memory.pressed is not None:
        if memory.kills_were_of_children:
            return Certainty.WEAK
        if any(group.group_kills for group in memory.groups):
            return Certainty.POSSIBLE  # the whole group went, which is another cause
        if filled_by_others(death) is not None:  # Linux ends the largest, as a rule
            return Certainty.LIKELY if is_seen else Certainty.POSSIBLE
        return Certainty.PROVEN
    # A kill without a limit that was reached: the whole machine may have run out, which counts in the group, too.
    if memory.machine_is_full or not memory.has_group_limit:
        return Certainty.POSSIBLE
    return Certainty.STRONG if memory.machine_is_full is False else Certainty.POSSIBLE


def _ran_out(death: Death, certainty: Certainty, held_bytes: int | None) -> str:
    if held_bytes is not None:
        killed = f"Linux killed the kernel, which held only {size(held_bytes)}, {death.when()}"
        return f"Other programs filled the memory, and {killed}"
    ran_out = "ran out of memory" if certainty > Certainty.POSSIBLE else "may have run out of memory"
    return f"The kernel {ran_out} {taken_where(death)}"


def _limit_hits(death: Death) -> Iterator[Evidence]:
    pressed = death.memory.pressed
    if pressed is not None and pressed.limit_hits:
        text = f"The limit was hit {pressed.limit_hits} times after the last measurement."
        yield Evidence(text, pressed.limit_hits, "times", "the control group's count of limit hits")
    elif pressed is None and death.memory.kills is not None:
        yield Evidence("No measurement came near a limit, so the machine itself may have run out of memory.")


def _not_by_someone(certainty: Certainty) -> str | None:
    if certainty < Certainty.PROVEN:
        return None
    return "Not a `kill -9` by a person or program: Linux does not count that as an out-of-memory kill."


def _not_the_machine(death: Death) -> str | None:
    last = death.memory.last
    if death.memory.machine_is_full is not False or last is None or last.available_bytes is None:
        return None
    return f"Not the whole machine: it had {size(last.available_bytes)} of memory left at the last measurement."
