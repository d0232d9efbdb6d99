"""Which tables a join joins by their labels, and whether it made far more than these."""

import ast
from collections.abc import Iterable

from .code.calls import Call
from .code.scopes import Scope
from .death import Death

_OUTGROWN = 3
"""A result this much larger than both tables is no plain join."""
_KERNEL_BYTES = 64 << 20
"""A kernel that has imported pandas takes more, before there is any table."""


def has_outgrown(tables: Iterable[ast.expr], scope: Scope, death: Death) -> bool:
    """Return whether what was wanted is several times as large as these tables."""
    return death.wanted_bytes >= _OUTGROWN * _bytes(tables, scope, death)


def joined_by_labels(call: Call) -> tuple[ast.expr, ast.expr] | None:
    """Return the two tables that a call joins by the labels of their rows; None where it joins by columns."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    if call.name == "pandas.DataFrame.join":
        by_column, right = call.argument("on", 1) is not None, call.argument("other", 0)
    else:
        by_column = call.argument("left_index") is None or call.argument("right_index") is None
        right = call.argument("right", 1 if call.name == "pandas.merge" else 0)
    left = call.argument("left", 0) if call.name == "pandas.merge" else owner
    return None if by_column or left is None or right is None else (left, right)


def _bytes(tables: Iterable[ast.expr], scope: Scope, death: Death) -> int:
    """Return what the tables take; where that is not known, no more than the variables took, or all that was in use."""
    known = [None if (value := death.values.of(one, scope)) is None else value.bytes for one in tables]
    if None not in known:
        return sum(one or 0 for one in known)
    before = max(0, (death.memory.before_bytes or 0) - _KERNEL_BYTES)
    look = next(iter(death.recording.namespaces[-1:]), None)
    return before if look is None or not look.complete else min(before, sum(one.bytes or 0 for one in look.objects))
