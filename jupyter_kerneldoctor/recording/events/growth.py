"""Defines which statements memory grew in."""

from __future__ import annotations

from dataclasses import dataclass

from .stacks import Frame  # noqa: TC001 - `decode` reads the annotations


@dataclass(frozen=True)
class StatementGrowth:
    """How much memory grew while one statement ran."""

    frames: tuple[Frame, ...]
    """The stack of that statement, innermost first."""
    bytes: int
    reads: int | None = None
    """How many stacks showed it."""


@dataclass(frozen=True)
class Growth:
    """Which statements a cell's memory grew in, by stacks read from outside (event `growth`).

    A newer one of the same cell takes the place of the earlier one.
    """

    mono_s: float
    cell_seq: int | None = None
    grew_bytes: int | None = None
    """All growth while stacks were read."""
    unknown_bytes: int | None = None
    """The part of it for which no stack could be read."""
    reads: int | None = None
    """How many stacks were read."""
    statements: tuple[StatementGrowth, ...] = ()
    """At most 12, most bytes first."""
