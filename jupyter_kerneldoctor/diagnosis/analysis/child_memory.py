"""The memory of the processes below the kernel: workers of joblib, a DataLoader, a Pool, a program it started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..postmortem import Evidence
from ..units import plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.samples import Sample

    from ..death import Death

_WORTH_TELLING_BYTES = 50 << 20
_AT_THE_END_S = 5.0
"""What they held so long before the last measurement counts: one that is killed first is gone by then."""


@dataclass(frozen=True)
class Children:
    """What the processes below the kernel held when it ended."""

    bytes: int
    count: int | None


def children(death: Death) -> Children | None:
    """Return the most that was seen of them towards the end; None when not measured, or next to nothing."""
    samples = death.memory.samples
    last = [sample for sample in samples if sample.mono_s >= samples[-1].mono_s - _AT_THE_END_S]
    best = max(last, key=_held, default=None)
    if best is None or (held := _held(best)) < _WORTH_TELLING_BYTES:
        return None
    return Children(held, best.children)


def evidence(death: Death) -> Iterator[Evidence]:
    """Say what they held."""
    found = children(death)
    if found is None:
        return
    who = plural(found.count, "process") if found.count else "processes"
    yield Evidence(
        f"The kernel's child processes ({who}) held {size(found.bytes)} together; that counts towards the same limit.",
        found.bytes,
        "bytes",
        "samples",
    )


def accounts_for_kills(death: Death) -> bool:
    """Whether the memory kills at the end were those of children, and the kernel itself was small.

    A kernel that is killed along with its children is the largest process, or one kill more than they are.
    """
    kills, last = death.memory.kills, death.memory.last
    if kills is None or not kills.oom_kills or last is None:
        return False
    killed = [
        child
        for child in death.recording.children
        if child.signal == "SIGKILL" and child.oom_kills and child.mono_s >= last.mono_s
    ]
    return len(killed) >= kills.oom_kills and (death.memory.peak_bytes or 0) < (death.memory.limit_bytes or 0) / 2


def _held(sample: Sample) -> int:
    """What the tree holds beyond the kernel; 0 when not known."""
    whole, own = sample.tree_bytes, sample.rss_bytes
    return whole - own if whole is not None and own is not None else 0
