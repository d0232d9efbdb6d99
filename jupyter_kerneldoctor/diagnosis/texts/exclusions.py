"""Sentences on what an end was not, and why."""

from collections.abc import Iterator

from ..death import Death
from ..family import Family


def standard(death: Death, family: Family) -> Iterator[str | None]:
    """Yield what an unasked end of this family was not; None for what is not known for sure."""
    if not death.is_unasked_end or family in (
        Family.STUCK,
        Family.START,
        Family.ALIVE,
        Family.ORDINARY_END,
        Family.UNKNOWN,
    ):
        return
    if family != Family.MEMORY:
        yield not_memory(death)
    yield not_asked_for(death)
    if family in (Family.MEMORY, Family.OUTSIDE):
        yield not_a_crash(death)
    if family != Family.OWN_END:
        yield not_by_itself(death)


def not_asked_for(death: Death) -> str | None:
    """Say that nobody asked for a restart or a shutdown; None when that is not known for sure."""
    if death.request is not None or not death.server_watched:
        return None
    return "Not a restart or a shutdown: the Jupyter server was not asked for one."


def not_memory(death: Death) -> str | None:
    """Say that Linux did not kill it for memory; None when that is not known for sure."""
    kills = death.memory.kills
    if kills is None or kills.oom_kills:
        return None
    earlier = " (an earlier kill may have hit a child process)" if kills.oom_kills_before else ""
    count = f"the out-of-memory kill count stayed at {kills.oom_kills_after}"
    return f"Not killed for memory: {count} when the kernel ended{earlier}."


def not_a_crash(death: Death) -> str | None:
    """Say that no library crashed; None when one may have."""
    if death.signal in ("SIGKILL", "SIGTERM", "SIGHUP"):
        return "Not a crash of a library: a crash ends a program with another signal."
    if death.status.exit_code is not None:
        return "Not a crash of a library: the process left with an exit code, and a crash ends it with a signal."
    return None


def not_by_itself(death: Death) -> str | None:
    """Say that the cell sends no signal and does not exit; None when it may, or there is no cell to read."""
    if death.cell is None or death.calls or death.sendings or death.cell.truncated:
        return None
    return "Not ended by the cell's own code: as far as it can be read, it sends itself no signal and calls no exit."


def known(*sentences: str | None) -> tuple[str, ...]:
    """Return the sentences that could be said."""
    return tuple(sentence for sentence in sentences if sentence is not None)
