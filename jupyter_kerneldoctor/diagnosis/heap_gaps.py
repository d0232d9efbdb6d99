"""What small results that are kept leave behind of a loop's rounds: gaps between them that are not used again."""

from .death import Death
from .units import size

_SHARE = 20
"""Of the graphs of so many rounds those of one stay behind as gaps: PyTorch on the CPU, whose kept outputs of 20 KB lay
between intermediate results of 512 KiB, kept a 15th to a 24th (the case `evaluator-collects-logits`)."""


def gaps_left(death: Death) -> tuple[int | None, str]:
    """Return how many bytes all rounds leave, though each keeps its results without their graphs, with words for it.

    None where that fits, the number of rounds is not known, or a graphics card has the memory.
    """
    whole, room = death.loop_total, death.safe_headroom_bytes
    if whole is None or room is None or not death.is_about_memory:
        return None, ""
    values = death.growth.values_bytes * whole.bytes // max(1, death.growth.total_bytes)
    left = whole.bytes // _SHARE + values
    if left <= room:
        return None, ""
    words = (
        f" But all {whole.rounds:,} rounds may leave another {size(left)} behind: small tensors that stay lie "
        "between the large ones that go. In each round work out the number that you need, and keep that alone."
    )
    return left, words
