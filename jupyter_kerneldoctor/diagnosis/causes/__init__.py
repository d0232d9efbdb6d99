"""The causes, one in a file: a class in a module of this package is found by itself."""

import re
import sys
from functools import cache

from jupyter_kerneldoctor.recording.model import Recording

from ..analysis.last_words import Pattern
from ..cause import Cause, Death
from ..registry import rules


@cache
def all_causes() -> tuple[Cause, ...]:
    """Return one of each cause there is, sorted by id."""
    return tuple(rule() for rule in rules(sys.modules[__name__], Cause))


@cache
def last_words_patterns() -> tuple[Pattern, ...]:
    """Return what last words look like that name a cause, those of all causes."""
    return tuple(
        Pattern(cause.id, re.compile(pattern, re.MULTILINE), final)
        for final in (True, False)
        for cause in all_causes()
        for pattern in (cause.last_words if final else cause.warnings)
    )


def examine(recording: Recording) -> Death:
    """Return what the recording shows, ready to be judged by all causes."""
    return Death(recording, last_words_patterns())
