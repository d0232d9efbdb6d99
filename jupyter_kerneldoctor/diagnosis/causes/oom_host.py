"""`oom-host`: the machine's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import exclusions, proofs
from ..cause import Cause
from ..examples import GIB, MIB, Group, recording
from ..postmortem import CauseFinding, Evidence
from ..units import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..facts import Facts


class OutOfMemoryOnHost(Cause):
    """The machine ran out of memory, and Linux ended the kernel to save the rest.

    What it means
    -------------
    No limit of a container was reached: the memory of the whole machine was used up, by the kernel and by everything
    else that runs there. Linux then ends the process that frees the most, which need not be the one that grew last.

    How it is recognised
    --------------------
    The process was ended by SIGKILL, next to nothing of the machine's memory was available at the last measurement,
    and the count of memory kills in the kernel's control group rose although no limit was near. Without that count it
    is no more than likely.

    What to do
    ----------
    Let the cell need less at a time, and look at what else holds memory: other notebooks' kernels keep theirs until
    they are shut down. On a shared machine, another user's program may have taken it.

    Example
    -------
    Two notebooks with a table of 6 GiB each on a laptop with 16 GiB: the third `merge` ends one of them.
    """

    id = "oom-host"
    title = "Out of memory: the machine"

    def judge(self, facts: Facts) -> CauseFinding | None:
        """See the class's page."""
        memory = facts.memory
        if not facts.is_unasked_end or facts.status.signal != "SIGKILL":
            return None
        if not memory.machine_is_full or memory.pressed is not None:
            return None
        if memory.kills is not None and not memory.kills.oom_kills:
            return None
        ram = facts.recording.kernel.ram_bytes
        total = f" of {size(ram)}" if ram else ""
        return CauseFinding(
            self.id,
            self.title,
            0.85 if memory.kills is not None and memory.kills_are_own else 0.65,
            f"The machine ran out of its memory{total} while the kernel was at work {facts.where()}.",
            evidence=(
                *proofs.exit_status(facts),
                *proofs.counts_of_kills(facts),
                *_available(facts),
                *proofs.last_measurement(facts),
            ),
            ruled_out=exclusions.known(
                exclusions.not_asked_for(facts),
                "Not a container's limit: none was near." if memory.groups else None,
                exclusions.not_a_crash(facts),
            ),
            line=facts.line,
            summary="Killed by Linux: the machine's memory was full",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """The group's count rose, with the machine full and no limit near; or there is nothing but the full machine."""
        memory = (2 * GIB, 5 * GIB, 9 * GIB)
        group = Group(oom_kills=(3, 4))
        yield recording("m = a.merge(b)", signal="SIGKILL", memory=memory, available_bytes=90 * MIB, groups=[group])
        yield recording("m = a.merge(b)", signal="SIGKILL", memory=memory, available_bytes=90 * MIB)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """The container's limit was hit, the count did not rise, or there was memory left."""
        memory = (300 * MIB, 490 * MIB)
        full = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 50), usage_bytes=499 * MIB)
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=90 * MIB, groups=[full])
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=90 * MIB, groups=[Group()])
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=8 * GIB)


def _available(facts: Facts) -> Iterator[Evidence]:
    last, ram = facts.memory.last, facts.recording.kernel.ram_bytes
    if last is not None and last.available_bytes is not None and ram:
        yield Evidence(
            f"Of the machine's {size(ram)}, {size(last.available_bytes)} was left at the last measurement.",
            last.available_bytes,
            "bytes",
            "/proc/meminfo MemAvailable",
        )
