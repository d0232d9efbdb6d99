"""What small results that are kept leave behind of a loop's rounds: gaps between them that are not used again."""

from .analysis.loop_total import LoopTotal
from .code.kept_lengths import kept_length
from .death import Death
from .units import size

_SHARE = 20
"""Of the graphs of so many rounds those of one stay behind as gaps: PyTorch on the CPU, whose kept outputs of 20 KB lay
between intermediate results of 512 KiB, kept a 15th to a 24th (the case `evaluator-collects-logits`)."""

_OF_MIDDLE = range(48 << 10, 512 << 10)
"""What a round's graph takes where the allocator cuts its tensors from the heap, and hands none of them back alone."""
_SHARE_OF_MIDDLE = 6
"""Networks of three layers and of convolutions, whose graphs took 54 to 370 KiB, kept a tenth to a third of them."""
_WORTH_TELLING = 1.2


def gaps_left(death: Death) -> tuple[int | None, str]:
    """Return how many bytes all rounds leave, though each keeps its results without their graphs, with words for it.

    None where that fits, the number of rounds is not known, or a graphics card has the memory.
    """
    whole, room = death.loop_total or _until_full(death), death.safe_headroom_bytes
    if whole is None or room is None or not death.is_about_memory:
        return None, ""
    values = death.growth.values_bytes * whole.bytes // max(1, death.growth.total_bytes)
    is_middle = whole.bytes // max(1, whole.rounds) in _OF_MIDDLE
    left = whole.bytes // (_SHARE_OF_MIDDLE if is_middle else _SHARE) + values
    if left <= room:
        return None, ""
    words = (
        f" But all {whole.rounds:,} rounds may leave another {size(left)} behind: small tensors that stay lie "
        "between the large ones that go. In each round work out the number that you need, and keep that alone; or "
        "NumPy's copy of each, `.cpu().numpy().copy()`, which lies apart from them."
    )
    return left, words


def _until_full(death: Death) -> LoopTotal | None:
    """Return what a container takes with its graphs until it is as long as the code lets it be: `deque(maxlen=n)`."""
    kept = death.growth.container
    gained = 0 if kept is None or not kept.with_graph else death.growth.items_gained(kept)
    found = None if kept is None or gained < 1 else kept_length(death.code, kept.name)
    if found is None or kept is None or found[0] < _WORTH_TELLING * (kept.length or gained):
        return None
    return LoopTotal(found[0], found[0] * death.growth.total_bytes // gained)
