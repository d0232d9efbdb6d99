"""How many examples hypothesis plays."""

import os


def examples(count: int) -> int:
    """Return so many for a run that gives the same answer each time; twenty times as many for one that explores."""
    return 20 * count if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else count
