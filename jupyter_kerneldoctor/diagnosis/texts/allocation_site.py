"""Where memory was being taken when there was no more: a line that only sleeps took none."""

import re
from collections.abc import Iterator

from ..analysis.grown_objects import CONTAINERS
from ..analysis.growth import MOST
from ..analysis.guilty_statement import guilty_statement
from ..analysis.memory_refusals import NEAR, Refusal, refusals
from ..analysis.statements import statement_name
from ..code.values import Made
from ..death import Death
from ..frameworks.plain_layers import call_of_network
from ..postmortem import Evidence, Grown, Statement
from ..units import cell_name, quote, size

WORTH_TELLING_BYTES = 100 << 20

_NAME = re.compile(r"(?!self\.)[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SMALL = 0.1
"""A request for less than this share of a limit that is used up is only the last of many."""
_MINOR = 0.25
"""A kernel that held less than such a share of what is allowed, its children included, did not use it up."""

_FASTEST_BYTES_PER_S = 8 << 30
"""No program is given new memory faster: Linux fills it with zeros first."""


def taken_where(death: Death) -> str:
    """Return "in cell [2] on `code`", as much of it as may be blamed."""
    if death.memory.grows_by_itself:
        if death.cell is None:
            return f"{death.when()}, but something in the background"
        return f"while {cell_name(death.cell.execution_count)} and background work ran"
    last = death.statement_at(allocating_line(death))
    found = statement_to_blame(death, last)
    if found is not None and found != last:
        return statement_name(found, death.cell)
    return death.when() if sleeps(death) else death.where()


def refused_where(death: Death) -> str:
    """Return "in cell [2] on `code`" of a request that was refused."""
    last = death.in_function
    found = statement_to_blame(death, last)
    return death.where() if found is None or found == last else statement_name(found, death.cell)


def statement_to_blame(death: Death, last: Statement | None) -> Statement | None:
    """Return the statement to name, given the `last` one that was seen: for a network's layers the call of it.

    An error was raised by the last one, unless a container had filled the limit before: then what keeps is to blame.
    """
    error = death.incident is not None and death.incident.error
    container = death.growth.container if error and filled_limit(death) is not None else None
    is_full_of_it = container is not None and death.growth.held_share(container) >= MOST
    found = guilty_statement(death.growth, last) if is_full_of_it or not error else last
    return found and (death.find(lambda code: call_of_network(code, found)) or found)


def filled_limit(death: Death) -> Refusal | None:
    """Return the limit of the process that was full when a small request was refused."""
    incident, ram_bytes = death.incident, death.recording.kernel.ram_bytes
    if incident is None or incident.kind != "memory-error":
        return None
    limit = next(iter(refusals(death.environment, ram_bytes, incident.asked_bytes, refused=True)), None)
    if limit is None or limit.used_bytes is None or limit.used_bytes < NEAR * limit.limit_bytes:
        return None
    return limit if incident.asked_bytes is None or incident.asked_bytes < _SMALL * limit.limit_bytes else None


def held_most(death: Death) -> tuple[Grown | None, float]:
    """Return the object that holds most of what grew, and how large a part that is."""
    held = max(death.growth.objects, key=death.growth.held_share, default=None)
    return held, 0.0 if held is None else min(1.0, death.growth.held_share(held))


def free_first(death: Death) -> str | None:
    """Return the code that frees memory in a kernel that has hardly any left: "history.clear()"; None if it may not."""
    held, share = held_most(death) if filled_limit(death) is not None else (None, 0.0)
    if held is None or share < MOST or f"{held.where}".startswith("local of") or not _NAME.fullmatch(held.name):
        return None
    looks = death.recording.namespaces
    now = next((one.bytes for one in looks[-1].objects if one.name == held.name), 0) if looks else 0
    if now < MOST * (held.bytes or 0):
        return None  # it is freed already, or nobody knows
    return f"{held.name}.clear()" if held.type in CONTAINERS else f"del {held.name}"


def allocating_line(death: Death) -> int | None:
    """Return the line of the cell that took it; None when it may have been another one, or none."""
    return None if death.memory.grows_by_itself or sleeps(death) else death.line


def line_needs(death: Death) -> Iterator[Evidence]:
    """Say how much memory the line needs, where its code or what was recorded tells, and how much was left for it."""
    need, left = needed(death), death.memory.headroom_before_bytes
    if need is not None and need.value.bytes is not None and need.value.bytes >= WORTH_TELLING_BYTES:
        had = "" if left is None or left >= need.value.bytes else f"; {size(left)} was left when the cell began"
        yield Evidence(
            f"{quote(need.text)} needs {size(need.value.bytes)}{had}.", need.value.bytes, "bytes", "cell source"
        )


def needed(death: Death) -> Made | None:
    """Return the largest object that the line made which took the memory; None where no size is known."""
    inner = death.user_frames[0] if death.user_frames and death.last_stack is not None else None
    cell, line = (death.cell, allocating_line(death)) if inner is None else (inner.cell, inner.line)
    if cell is None or line is None or allocating_line(death) is None:
        return None
    return death.find(lambda code: death.values.made_in(code.index(cell), line))


def sleeps(death: Death) -> bool:
    """Whether the cell was last seen to sleep."""
    return death.last_stack is not None and death.last_stack.sleeps


def filled_by_others(death: Death) -> int | None:
    """What the kernel held with its children where others must have filled the group; None where it may have itself.

    It was small at the last measurement, and the group was full by then, or the kernel did nothing, or the time was too
    short to take so much.
    """
    group, last, end = death.memory.pressed, death.memory.last, death.recording.end
    limit = None if group is None else group.limit_bytes
    if not limit or last is None or last.rss_bytes is None or end is None:
        return None
    below = death.memory.children
    held = max(death.memory.held_bytes or 0, last.rss_bytes + (0 if below is None else below.bytes))
    if held >= _SMALL * limit:
        return None
    full = last.cgroup_bytes is not None and last.cgroup_bytes >= NEAR * limit
    did_nothing = death.cell is None or sleeps(death)
    too_fast = held + (end.mono_s - last.mono_s) * _FASTEST_BYTES_PER_S < _MINOR * limit
    return held if full or did_nothing or too_fast else None
