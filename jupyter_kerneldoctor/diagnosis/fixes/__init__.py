"""What to change: one fix in a file; a class in a module of this package is found by itself."""

import sys
from functools import cache

from ..fix import Fix
from ..registry import rules


@cache
def all_fixes() -> tuple[Fix, ...]:
    """Return one of each fix there is, sorted by id."""
    return tuple(rule() for rule in rules(sys.modules[__name__], Fix))
