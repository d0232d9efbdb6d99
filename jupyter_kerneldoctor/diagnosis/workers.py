"""How many worker processes fit beside the kernel, as far as those that were seen tell."""

from jupyter_kerneldoctor.recording.events import Child

from .death import Death
from .endless_wait import failed_workers

_LEAST = 0.15  # of the limit
_FREE = 0.1


def killed_workers(death: Death) -> tuple[Child, ...]:
    """Return the workers that Linux killed for memory, where the kernel waits for them."""
    failed = () if death.stuck_cell is None else failed_workers(death.stuck_cell)
    return tuple(one for one in failed if one.oom_kills)


def workers_bytes(death: Death) -> int | None:
    """Return what the kernel's child processes held, where that is a good part of what ran out; None otherwise."""
    if killed := killed_workers(death):
        return sum(one.peak_bytes or 0 for one in killed)
    memory, limit = death.memory, death.memory.limit_bytes
    held = max(0 if memory.children is None else memory.children.bytes, _grown_beside(death))
    return held if limit and held >= _LEAST * limit else None


def _grown_beside(death: Death) -> int:
    """Return how much more than the kernel its container grew while children ran, which are measured rarely."""
    memory, last = death.memory, death.memory.last
    if last is None or not last.children or last.cgroup_bytes is None or last.rss_bytes is None:
        return 0
    if memory.used_before_bytes is None or memory.before_bytes is None:
        return 0
    return (last.cgroup_bytes - memory.used_before_bytes) - (last.rss_bytes - memory.before_bytes)


def workers_that_fit(death: Death, started: int) -> int | None:
    """Return half of how many of so many workers fit: what they were seen to hold was not all that they needed.

    0: the kernel does the work itself. None: what one worker held does not fit into the kernel either.
    """
    memory = death.memory
    held, target = workers_bytes(death), memory.safe_target_bytes
    largest = max((one.peak_bytes or 0 for one in killed_workers(death)), default=0)
    if largest and memory.limit_bytes:  # the kernel itself was not what grew
        target = int((1 - _FREE) * memory.limit_bytes)
    own = memory.last.rss_bytes if memory.last is not None else None
    if not held or target is None or own is None:
        return 0
    fit = int((target - own) / (largest or held / started))
    return max(0, min(started - 1, fit // 2)) if fit else None
