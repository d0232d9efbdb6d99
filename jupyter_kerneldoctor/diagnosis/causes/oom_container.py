from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.model import CgroupDelta, Recording

from ..analysis.memory_refusals import CLIMBING_FROM, NEAR
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, size
from ..examples import GIB, MIB, Group, recording
from ..texts import evidence
from ..texts.allocation_site import allocating_line, taken_where
from ..texts.growth import growth
from ..texts.headline import shortage


class OutOfMemoryInContainer(Cause):
    """The container ran out of memory and was ended as a whole, with everything that ran in it.

    What it means: At the memory limit of a container, Linux may end all its processes at once (`memory.oom.group`,
    which Kubernetes sets). Or it ends the one process without which the container ends. Then the Jupyter server, all
    kernels and the recorder are gone together. The browser says that the server is not available, or shows a new one.

    How it is recognised: No end was recorded although nobody switched the recording off. Neither the kernel nor its
    recorder lives, and the machine was not restarted meanwhile. At the last measurement memory was at its limit, or
    growing towards it. Where something outside the container could still write, the group's count of such kills rose.

    What to do: Let the cell need less at a time, or ask for a container with more memory. `kubectl describe pod` says
    `OOMKilled`, `docker inspect` says `OOMKilled: true`. All kernels share the container's limit: shut down those you
    do not use.

    Example: Three notebooks in a pod of 2 GiB: the third loads a table, and all three are gone, the server with them.
    """

    id, title, family = "oom-container", "Out of memory: the whole container", Family.MEMORY

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.recording.rebooted:
            return None
        group, grew_bytes = _group_that_went(death), death.memory.climb_bytes
        certainty = Certainty.PROVEN if group is not None else _likelihood(death, grew_bytes)
        if certainty is None:
            return None
        surely = "ran out of" if group is not None else "probably ran out of"
        limit = death.memory.limit_bytes if death.memory.has_group_limit else None
        memory = "memory" if limit is None else f"its {size(limit)} of memory"
        ran_on = death.recording.rebooted is False
        return self.finding(
            death,
            certainty,
            f"The container {surely} {memory} {taken_where(death)}, and ended{shortage(death, '')}.",
            (
                _together(group),
                *growth(death),
                *evidence.last_measurement(death),
                *_grew(grew_bytes),
                *evidence.child_memory(death),
            ),
            ruled_out=("Not a restart of the machine: it has been running since." if ran_on else None,),
            line=allocating_line(death),
            summary="Gone with its container at the memory limit",
        )

    def fires_on(self) -> Recordings:
        """Kernel and recorder vanished together at the limit or on the way there; or a count says so."""
        full, still = Group(500 * MIB), (300 * MIB, 490 * MIB)
        yield recording("df = load()", end="not-seen", memory=still, groups=[full])
        climbing = tuple(number * 10 * MIB for number in range(5, 42))
        yield recording("df = load()", end="not-seen", memory=climbing, groups=[full], rebooted=False)
        # memory.events of version 2 counts such kills as `oom_group_kill` (Documentation/admin-guide/cgroup-v2.rst).
        killed = Group(2 * GIB, oom_kills=(0, 3), limit_hits=(0, 40), usage_bytes=2040 * MIB)
        yield _killed_as_a_group(recording("df = load()", signal="SIGKILL", memory=(2 * GIB,), groups=[killed]))

    def silent_on(self) -> Recordings:
        """With memory to spare, after a restart of the machine, when somebody saw the end or could have: it lives."""
        full = Group(2 * GIB)
        yield recording("f()", end="not-seen", memory=(100 * MIB,) * 9, groups=[full])
        yield recording("f()", end="not-seen", memory=(2 * GIB,), groups=[full], rebooted=True)
        killed = Group(2 * GIB, oom_kills=(0, 1), limit_hits=(0, 40), usage_bytes=2040 * MIB)
        yield recording("f()", signal="SIGKILL", memory=(2 * GIB,), groups=[killed])
        yield recording("f()", end="not-seen", memory=(2 * GIB,), groups=[full], switched_off=True)
        yield recording("f()", alive=True, memory=(2 * GIB,), groups=[full])
        yield recording("f()", end="not-seen", memory=(2 * GIB,), groups=[full], recorder_alive=True)
        # It left by itself.
        yield _killed_as_a_group(recording("f()", exit_code=1, memory=(2 * GIB,), groups=[killed]))


def _killed_as_a_group(recorded: Recording) -> Recording:
    assert recorded.end is not None
    own, *others = recorded.end.cgroups
    whole = replace(own, group_kills_before=0, group_kills_after=1)
    return replace(recorded, end=replace(recorded.end, cgroups=(whole, *others)))


def _group_that_went(death: Death) -> CgroupDelta | None:
    """Return the control group of the kernel, or above it, that Linux killed as a whole at that moment."""
    if death.signal not in (None, "SIGKILL") or death.status.exit_code is not None:
        return None
    return next((group for group in death.memory.groups if group.group_kills), None)


def _likelihood(death: Death, grew_bytes: int | None) -> Certainty | None:
    share = death.memory.share_of_limit
    if death.recording.end is not None or death.status.known or not death.memory.has_group_limit or share is None:
        return None
    if death.recording.recorder_alive:  # what ends a whole container does not leave it
        return None
    if share >= NEAR:
        return Certainty.LIKELY
    return Certainty.POSSIBLE if grew_bytes and share >= CLIMBING_FROM else None


def _together(group: CgroupDelta | None) -> Evidence:
    if group is None:
        return Evidence("The kernel and its recorder disappeared together.", source="journal")
    text = "Linux killed all processes of the container at once."
    return Evidence(text, group.group_kills_after, "times so far", "memory.events: oom_group_kill")


def _grew(grew_bytes: int | None) -> Iterator[Evidence]:
    if grew_bytes is not None:
        text = f"Memory grew by {size(grew_bytes)} in the last measured second."
        yield Evidence(text, grew_bytes, "bytes", "samples")
