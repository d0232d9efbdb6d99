"""How much code a diagnosis may read."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class CodeTooLargeError(Exception):
    """The cells hold more code than can be read in the time that a diagnosis may take, or it is nested too deeply."""


@dataclass
class Budget:
    """How much of the code may still be read, in units of about a microsecond."""

    left: float

    def spend(self, units: float) -> None:
        """Take the units off. Raises CodeTooLargeError when there are none left."""
        self.left -= units
        if self.left < 0:
            raise CodeTooLargeError


_CURRENT: ContextVar[Budget | None] = ContextVar("_CURRENT", default=None)


@contextmanager
def charged(budget: Budget) -> Iterator[None]:
    """Let what is looked at within the block, with the functions of `trees`, be taken off a budget."""
    before = _CURRENT.set(budget)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def spend(units: float) -> None:
    """Take the units off the budget of the block around, if there is one. Raises CodeTooLargeError."""
    if (budget := _CURRENT.get()) is not None:
        budget.spend(units)
