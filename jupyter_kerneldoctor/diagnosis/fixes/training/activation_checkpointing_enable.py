from collections.abc import Iterator

from ...death import Death
from ...fix import OUT_OF_MEMORY, Call
from ...trainer_setting import TrainerSetting


class ActivationCheckpointingEnable(TrainerSetting):
    """Let the Trainer work out intermediate results again in place of keeping them.

    What it does: `gradient_checkpointing=True` keeps only what goes into each block of the model, and works out a
    second time what it gives when its gradients are due.

    When it is offered: Memory ran out in `train()` of a Hugging Face Trainer whose settings a cell writes.

    What it costs: About a fifth more time. The gradients are the same.
    """

    id, title = "activation-checkpointing-enable", "Keep only what goes into each block: gradient_checkpointing"
    causes, general = OUT_OF_MEMORY, False
    argument, value = "gradient_checkpointing", "True"
    why = (
        "keeps what every layer gives for the backward pass. With `gradient_checkpointing` it keeps only what goes "
        "into each block."
    )

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the settings of the trainer that was at work."""
        if not death.is_about_memory or (death.is_of_this_cell and not death.growth.is_steady):
            yield from super().calls(death)

    def saves(self, call: Call, death: Death) -> int | None:  # noqa: ARG002 - the same for all of them
        """Count half of what was missing."""
        return (death.memory.missing_bytes or 0) // 2 if death.is_about_memory else 1
