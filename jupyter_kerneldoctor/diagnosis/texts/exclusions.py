"""Sentences on what an end was not, and why: half of an answer is what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..death import Death


def standard(death: Death, family: Family) -> Iterator[str | None]:
    """Yield what an unasked end of this family was not; None for what is not known for sure."""
    if not death.is_unasked_end or family in (Family.STUCK, Family.START, Family.NO_DEATH, Family.UNKNOWN):
        return
    if family != Family.MEMORY:
        yield not_memory(death)
    yield not_asked_for(death)
    if family in (Family.MEMORY, Family.OUTSIDE):
        yield not_a_crash(death)
    yield not_by_itself(death)


def not_asked_for(death: Death) -> str | None:
    """Nobody asked for a restart or a shutdown; None when that is not known for sure."""
    if death.request is not None or not death.server_watched:
        return None
    return "Not a restart or a shutdown: the Jupyter server was not asked for one."


def not_memory(death: Death) -> str | None:
    """Linux did not kill it for memory; None when that is not known for sure."""
    kills = death.memory.kills
    if kills is None or kills.oom_kills:
        return None
    what = "Not killed for memory" if death.said("allocation-refused") else "Not out of memory"
    another = "; another process, such as a child of the kernel, may have been killed for memory earlier"
    return (
        f"{what}: Linux keeps a count of the processes it killed for memory here, "
        f"and it stood at {kills.oom_kills_after} before and after{another if kills.oom_kills_before else ''}."
    )


def not_a_crash(death: Death) -> str | None:
    """No signal of a crash; None when it may have been one."""
    if death.signal in ("SIGKILL", "SIGTERM", "SIGHUP"):
        return "Not a crash of a library: a crash ends a program with another signal, and leaves a report."
    if death.status.exit_code is not None:
        return "Not a crash of a library: the process left with an exit code, a crash ends it with a signal."
    return None


def not_by_itself(death: Death) -> str | None:
    """Nothing in the cell sends a signal or exits; None when something does, or there is no cell to read."""
    if death.cell is None or death.calls or death.sendings or death.cell.truncated:
        return None
    return (
        "Not a signal or an exit of the cell's own code: as far as it shows, it sends no signal to its own process "
        "and calls no exit."
    )


def known(*sentences: str | None) -> tuple[str, ...]:
    """Return the sentences that could be said."""
    return tuple(sentence for sentence in sentences if sentence is not None)
