"""How sure a cause may be, from who saw the end and who sent the signal."""

from .death import Death

_BY_THE_CELL = 0.3
_STATUS_NOT_SEEN = 0.7

DOUBTED = 0.4
"""Last words after which the process did something else: less than a crash or an abort without a reason."""

_WARNED = 0.75


def certainty(death: Death, confidence: float) -> float:
    """Return the confidence, lowered where the cell ended the kernel itself or the exit status is not known."""
    if death.own_signals or death.told_to_exit:
        return min(confidence, _BY_THE_CELL)
    return confidence if death.status.known else min(confidence, _STATUS_NOT_SEEN)


def by_words(death: Death, confidence: float, otherwise: float = DOUBTED) -> float:
    """Return how sure its last words make a cause; `otherwise` where the process went on after them."""
    if death.outlived_its_words:
        return min(confidence, otherwise)
    warned = death.words is not None and not death.words.final and death.never_aborted
    return min(confidence, _WARNED) if warned else confidence
