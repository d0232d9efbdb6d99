"""The memory of child processes: workers of joblib, a DataLoader or a Pool, programs that a cell started."""

from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.samples import Sample

_WORTH_TELLING_BYTES = 50 << 20
_AT_THE_END_S = 5.0
"""What they held so long before the last measurement counts: one that is killed first is gone by then."""


@dataclass(frozen=True)
class Children:
    """What the child processes held when the kernel ended."""

    bytes: int
    count: int | None


def children(samples: Sequence[Sample]) -> Children | None:
    """Return the most that the child processes held in the last seconds; None if not measured, or below 50 MiB."""
    last = [sample for sample in samples if sample.mono_s >= samples[-1].mono_s - _AT_THE_END_S]
    best = max(last, key=_held, default=None)
    if best is None or (held := _held(best)) < _WORTH_TELLING_BYTES:
        return None
    return Children(held, best.children)


def _held(sample: Sample) -> int:
    """Return what the process tree holds beyond the kernel; 0 when not known."""
    whole, own = sample.tree_bytes, sample.rss_bytes
    return whole - own if whole is not None and own is not None else 0
