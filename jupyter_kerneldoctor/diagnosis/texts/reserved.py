"""Explains why a kernel can be at its limit and hold visibly less."""

from collections.abc import Iterator

from ..death import Death
from ..units import size

_VISIBLE = 1.05  # of what the kernel held: two such numbers, or the curve and the limit above it, raise a question


def what_the_limit_counts(death: Death) -> Iterator[str]:
    """Say that a limit of the process counts what is reserved, where the kernel held less than that."""
    memory = death.memory
    reserved = 0 if memory.refusal is None else memory.refusal.used_bytes or 0
    if reserved > _VISIBLE * (memory.peak_bytes or reserved):
        yield f"That limit counts what is reserved, used or not: {size(reserved)} at the last measurement."
