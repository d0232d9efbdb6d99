from ...analysis.gpu import framework_at
from ...examples import GIB
from ...examples.gpu import CARD, torch_memory
from ...fix import Advice, Case, Death, size

_PART, _LEAST = 8, 1 << 30


class ExpandableSegments(Advice):
    """Let PyTorch's allocator grow its segments.

    What it does: PyTorch keeps freed memory of the card in segments of fixed sizes. Where sizes vary from step to step,
    much is reserved, and none of the free pieces is large enough. With `expandable_segments:True` a segment grows in
    place of that.

    When it is offered: The graphics card was full, and PyTorch had reserved a good deal more than it used.

    What it costs: Nothing but a restart. It is no help against a true shortage.
    """

    id, title, causes = "expandable-segments", "Let PyTorch's segments grow: expandable_segments", ("gpu-oom",)
    why = (
        "PyTorch had reserved {unused} of the card without using it, in pieces too small for what was asked. "
        "Set this before PyTorch is imported, and restart the kernel."
    )
    snippet = (
        "import os\n"
        'os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"  # before 2.9: PYTORCH_CUDA_ALLOC_CONF'
    )

    FIRES = [Case("x = net(y)", frameworks=[torch_memory(9 * GIB, 20 * GIB)], gpus=[CARD], says=("11.0 GiB",))]
    SILENT = [Case("import torch", "x = net(y)")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Say how much was reserved in vain, where that is an eighth of the card's memory and more."""
        moment = float("inf") if death.incident is None else death.incident.mono_s
        known = framework_at(death.recording, moment, "torch")
        reserved, used = (known.reserved_bytes or 0, known.allocated_bytes or 0) if known is not None else (0, 0)
        return {"unused": size(reserved - used)} if reserved - used >= max(_LEAST, reserved // _PART) else None
