"""Why the operating system refused memory: the limit that a request did not fit below."""

from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.events import Rlimit, SystemState

from ..postmortem import Evidence
from ..units import size
from .environment import Environment

NEAR = 0.9
"""From this share of a limit on, memory is called close to it: the next larger request may be refused."""

CLIMBING_FROM = 0.6
"""From this share on, memory that climbs may reach the limit before it is measured again."""

_CLIMBED = 0.2
"""Memory that grew by such a share of a limit of the process climbs."""

USED_UP = 0.99
"""From this share of a limit on, what is left is less than Python asks for at once, for whatever it does."""

_LARGE_STACK_BYTES = 1 << 30
"""Where more than this is left, no limit on memory keeps a thread from its stack."""

_ADDRESSES = 1 << 47
"""What a process can address on common 64-bit machines; a request beyond it is a mistake, not a need."""


def is_used_up(state: SystemState) -> bool:
    """Whether a limit on the memory of the process is used up: then Python can hardly report an error."""
    amounts = {"AS": state.address_space_bytes, "DATA": state.data_bytes}
    limits = ((state.rlimits.get(name, Rlimit()).soft, amount) for name, amount in amounts.items())
    return any(limit and amount is not None and amount >= USED_UP * limit for limit, amount in limits)


@dataclass(frozen=True)
class Refusal:
    """A limit that explains why memory was refused."""

    limit_bytes: int
    what: str
    """The limit in words, for a headline: "this process's limit is 4.0 GiB"."""
    reached: str
    """A clause on how near it was: "this process's limit of 4.0 GiB was used up"."""
    evidence: Evidence
    proven: bool = False
    """What was asked for did not fit below it; else it was only close."""
    used_bytes: int | None = None
    """How much of a limit of the process was reserved at the last measurement; None for a limit of the machine."""


def refusals(
    state: Environment,
    ram_bytes: int | None,
    asked_bytes: int | None,
    *,
    refused: bool = False,
    grew_bytes: int | None = None,
) -> tuple[Refusal, ...]:
    """Return the limits that explain a refusal at this moment, the surest first.

    Where memory is known to have been `refused`, a limit that was set counts even if there was room below it at the
    last measurement: memory can be asked for in steps of gigabytes, and within microseconds. So does one of the process
    that the cell came near to, having grown by `grew_bytes`.
    """
    limits = _rlimits(state, ram_bytes, asked_bytes, grew_bytes or 0, refused=refused)
    found = (*limits, *_overcommit(state, ram_bytes, asked_bytes))
    return tuple(sorted(found, key=lambda refusal: not refusal.proven))


def without_room_for_a_stack(state: Environment) -> tuple[Refusal, ...]:
    """Return the limits of the process that are nearly used up: below them another thread may get no stack."""
    found = _rlimits(state, None, _LARGE_STACK_BYTES, 0, refused=False)
    return tuple(one for one in found if one.proven and (one.used_bytes or 0) >= NEAR * one.limit_bytes)


def _rlimits(
    state: Environment, ram_bytes: int | None, asked_bytes: int | None, grew_bytes: int, *, refused: bool
) -> Iterator[Refusal]:
    """Read getrlimit(2): RLIMIT_AS bounds the address space, RLIMIT_DATA what is private and writable of it."""
    known = state.known
    by_name = ("AS", known.address_space_bytes, "ulimit -v"), ("DATA", known.data_bytes, "ulimit -d")
    for name, used, option in by_name:
        limit = state.soft_limit(name)
        if limit is None or used is None:
            continue
        proven = asked_bytes is not None and used + asked_bytes > limit
        near = used >= NEAR * limit or (used >= CLIMBING_FROM * limit and grew_bytes >= _CLIMBED * limit)
        if proven or near or (refused and limit < (ram_bytes or limit)):
            what = f"this process's limit is {size(limit)}"
            reached = f"this process's limit of {size(limit)} was used up" if near else what
            was_set = f"A limit of {size(limit)} was set for this process ({option}, RLIMIT_{name})"
            text = f"{was_set}; {size(used)} of it was reserved at the last measurement."
            yield Refusal(limit, what, reached, Evidence(text, limit, "bytes", "/proc/PID/limits"), proven, used)


def _overcommit(state: Environment, ram_bytes: int | None, asked_bytes: int | None) -> Iterator[Refusal]:
    """Read Documentation/mm/overcommit-accounting: mode 2 keeps a sum, mode 0 refuses what can never be there."""
    known = state.known
    if known.overcommit_mode == 2 and known.commit_limit_bytes and known.committed_bytes is not None:
        proven = asked_bytes is not None and known.committed_bytes + asked_bytes > known.commit_limit_bytes
        if proven or known.committed_bytes >= NEAR * known.commit_limit_bytes:
            limit, at_most = known.commit_limit_bytes, size(known.commit_limit_bytes)
            what = f"this machine promises at most {at_most}"
            reached = f"this machine had promised nearly all of its {at_most} already"
            promises = f"This machine promises no more than {at_most} to all programs together (overcommit mode 2)"
            text = f"{promises}; {size(known.committed_bytes)} was promised already."
            yield Refusal(limit, what, reached, Evidence(text, limit, "bytes", "/proc/meminfo CommitLimit"), proven)
    if asked_bytes is None or known.overcommit_mode == 1 or ram_bytes is None:
        return
    whole = ram_bytes + (known.swap_total_bytes or 0)
    if asked_bytes > whole:
        beyond = " It is more than any program can address." if asked_bytes > _ADDRESSES else ""
        asked = f"{size(asked_bytes)} was asked for at once; the machine has {size(whole)}, swap included"
        text = f"{asked}, and Linux refuses a single request above that.{beyond}"
        told = Evidence(text, asked_bytes, "bytes", "/proc/meminfo MemTotal and SwapTotal")
        has = f"this machine has {size(whole)}"
        yield Refusal(whole, has, has, told, proven=True)
