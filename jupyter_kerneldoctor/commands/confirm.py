"""Asks whether to go on."""

import sys

from .errors import NotConfirmedError
from .output import say


def agrees(question: str, refusal: NotConfirmedError) -> bool:
    """Return whether the user agrees. Raises `refusal` where standard input is no terminal and holds no yes."""
    if sys.stdin is not None and sys.stdin.isatty():
        try:
            return _is_yes(input(question))
        except EOFError:  # Ctrl-D
            say("")
            return False
    say(question)
    try:
        agreed = sys.stdin is not None and _is_yes(sys.stdin.readline())
    except (OSError, ValueError):  # closed, or no text
        agreed = False
    if not agreed:
        raise refusal
    return True


def _is_yes(answer: str) -> bool:
    return answer.strip().lower() in ("y", "yes")
