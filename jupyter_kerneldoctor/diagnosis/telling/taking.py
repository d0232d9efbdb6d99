"""Where memory was being taken when there was no more: a line that only sleeps took none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..code.arraysize import array_made
from ..code.cellfiles import user_line
from ..postmortem import Evidence
from ..units import quote, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..facts import Facts


_WORTH_TELLING_BYTES = 100 << 20


def taken_where(facts: Facts) -> str:
    """Return "in cell [2] on `code`", as much of it as may be blamed."""
    if facts.memory.grows_by_itself:
        return f"{facts.when()}, with something in the background taking memory, too"
    return facts.when() if _slept(facts) else facts.where()


def taking_line(facts: Facts) -> int | None:
    """Return the line of the cell that took it; None when it may have been another one, or none."""
    return None if facts.memory.grows_by_itself or _slept(facts) else facts.line


def array_asked_for(facts: Facts) -> Iterator[Evidence]:
    """Say how much memory the array takes that the line makes, where its code tells."""
    line, called = taking_line(facts), facts.last_stack.called if facts.last_stack is not None else None
    if facts.cell is None or line is None:
        return
    inner = facts.cell_of(called) if called is not None else None
    cell = facts.cell if inner is None else inner
    line = line if called is None or inner is None else user_line(inner, called)
    try:
        made = None if line is None else array_made(facts.recording.cells, cell, line)
    except RecursionError:  # code nested a thousand levels deep parses, but is not worth an answer
        return
    if made is not None and made[1] >= _WORTH_TELLING_BYTES:
        yield Evidence(f"The array of {quote(made[0])} needs {size(made[1])}.", made[1], "bytes", "cell source")


def _slept(facts: Facts) -> bool:
    return facts.last_stack is not None and facts.last_stack.sleeps
