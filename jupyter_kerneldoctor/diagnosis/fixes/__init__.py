"""What to change: one fix in a file, in the folder of its subject; a class in such a file is found by itself."""

import sys
from functools import cache

from ..fix import Fix
from ..registry import rules


@cache
def all_fixes() -> tuple[Fix, ...]:
    """Return one of each fix there is, sorted by id."""
    return tuple(rule() for rule in rules(sys.modules[__name__], Fix))
