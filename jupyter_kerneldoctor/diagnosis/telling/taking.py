"""Where memory was being taken when there was no more: a line that only sleeps took none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..facts import Facts


def taken_where(facts: Facts) -> str:
    """Return "in cell [2] on `code`", as much of it as may be blamed."""
    if facts.memory.grows_by_itself:
        return f"{facts.when()}, with something in the background taking memory, too"
    return facts.when() if _slept(facts) else facts.where()


def taking_line(facts: Facts) -> int | None:
    """Return the line of the cell that took it; None when it may have been another one, or none."""
    return None if facts.memory.grows_by_itself or _slept(facts) else facts.line


def _slept(facts: Facts) -> bool:
    return facts.last_stack is not None and facts.last_stack.sleeps
