"""What speaks against a cause: the only place where evidence lowers the certainty that other evidence gives."""

from .analysis.ending import FROM_OUTSIDE
from .certainty import Certainty
from .death import Death
from .family import Family

_NOT_OF_THE_PROCESS = (Family.OWN_END, Family.START, Family.STUCK, Family.ALIVE, Family.ORDINARY_END, Family.UNKNOWN)
"""What causes of these families explain is no failure of the process."""


def settled(death: Death, certainty: Certainty, family: Family, *, general: bool) -> Certainty:
    """Return how sure a cause is after what speaks against it.

    A call in the cell that ends the kernel leaves little to other causes. Without the exit status nothing is proven,
    unless the system's log tells of the end; and a cause that only names the end has nothing else to go by. Nor has one
    where two cells may have been running.
    """
    if death.incident is not None or not death.is_unasked_end:
        return certainty
    if general and death.next_cell is not None:
        certainty = certainty.lowered()
    if _has_ended_itself(death) and not _is_none_of_its_own(death, family):
        return min(certainty, Certainty.WEAK)
    is_seen = death.status.known or family == Family.START or death.logged_kill("cgroup", "machine", "service")
    return certainty if is_seen else min(certainty.lowered() if general else certainty, Certainty.LIKELY)


def by_words(death: Death, certainty: Certainty, otherwise: Certainty = Certainty.WEAK) -> Certainty:
    """Return how sure its last words make a cause; `otherwise` where the process went on after them."""
    if death.outlived_its_words:
        return min(certainty, otherwise)
    warned = death.words is not None and not death.words.final and death.never_aborted
    return min(certainty, Certainty.LIKELY) if warned else certainty


def _has_ended_itself(death: Death) -> bool:
    return death.told_to_exit or any(death.reached(call) != "elsewhere" for call in death.own_signals)


def _is_none_of_its_own(death: Death, family: Family) -> bool:
    """Whether the end was the cell's own doing, or Linux killed for want of memory, which no call in a cell does."""
    return family in _NOT_OF_THE_PROCESS or (family == Family.MEMORY and death.signal in (None, *FROM_OUTSIDE))
