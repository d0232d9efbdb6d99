"""Whether a join made far more than the tables that it joins."""

import ast
from collections.abc import Iterable

from .code.scopes import Scope
from .death import Death

_OUTGROWN = 3
"""A result this much larger than both tables is no plain join."""
_KERNEL_BYTES = 64 << 20
"""A kernel that has imported pandas takes more, before there is any table."""


def has_outgrown(tables: Iterable[ast.expr], scope: Scope, death: Death) -> bool:
    """Return whether what was wanted is several times as large as these tables."""
    return death.wanted_bytes >= _OUTGROWN * _bytes(tables, scope, death)


def _bytes(tables: Iterable[ast.expr], scope: Scope, death: Death) -> int:
    """Return what the tables take; where that is not known, no more than the variables took, or all that was in use."""
    known = [None if (value := death.values.of(one, scope)) is None else value.bytes for one in tables]
    if None not in known:
        return sum(one or 0 for one in known)
    before = max(0, (death.memory.before_bytes or 0) - _KERNEL_BYTES)
    look = next(iter(death.recording.namespaces[-1:]), None)
    return before if look is None or not look.complete else min(before, sum(one.bytes or 0 for one in look.objects))
