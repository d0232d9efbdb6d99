"""Sentences on what an end was not, and why: half of an answer is what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..facts import Facts


def not_asked_for(facts: Facts) -> str | None:
    """Nobody asked for a restart or a shutdown; None when that is not known for sure."""
    if facts.request is not None or not facts.server_watched:
        return None
    return "Not a restart or a shutdown: the Jupyter server was not asked for one."


def not_memory(facts: Facts) -> str | None:
    """Linux did not kill it for memory; None when that is not known for sure."""
    kills = facts.memory.kills
    if kills is None or kills.oom_kills:
        return None
    what = "Not killed for memory" if facts.said("allocation-refused") else "Not out of memory"
    another = "; another process, such as a child of the kernel, may have been killed for memory earlier"
    return (
        f"{what}: Linux keeps a count of the processes it killed for memory here, "
        f"and it stood at {kills.oom_kills_after} before and after{another if kills.oom_kills_before else ''}."
    )


def not_a_crash(facts: Facts) -> str | None:
    """No signal of a crash; None when it may have been one."""
    if facts.signal in ("SIGKILL", "SIGTERM", "SIGHUP"):
        return "Not a crash of a library: a crash ends a program with another signal, and leaves a report."
    if facts.status.exit_code is not None:
        return "Not a crash of a library: the process left with an exit code, a crash ends it with a signal."
    return None


def not_by_itself(facts: Facts) -> str | None:
    """Nothing in the cell sends a signal or exits; None when something does, or there is no cell to read."""
    if facts.cell is None or facts.calls or facts.sendings or facts.cell.truncated:
        return None
    return (
        "Not a signal or an exit of the cell's own code: as far as it shows, it sends no signal to its own process "
        "and calls no exit."
    )


def known(*sentences: str | None) -> tuple[str, ...]:
    """Return the sentences that could be said."""
    return tuple(sentence for sentence in sentences if sentence is not None)
