"""Runs the recorded cells again with a fix, in a kernel of its own, and tells whether it lives."""

from .outcome import Outcome
from .plan import CannotTryError, Plan, Wishes, make_plan
from .run import Told, run

__all__ = ["CannotTryError", "Outcome", "Plan", "Told", "Wishes", "make_plan", "run"]
