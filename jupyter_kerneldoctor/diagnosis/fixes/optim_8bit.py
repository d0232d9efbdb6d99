from collections.abc import Iterator

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from ..fix import SetArgument
from ..frameworks.trainers import trainer_settings

_ARGUMENTS = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out'{})"
_TRAIN = "trainer = Trainer(model, args, train_dataset=ds)\ntrainer.{}()"


class Optim8bit(SetArgument):
    """Let the optimizer keep its numbers in 8 bits.

    What it does
    ------------
    Adam keeps two numbers for each weight, eight bytes. `adamw_bnb_8bit` keeps them in two.

    When it is offered
    ------------------
    The graphics card was full in `train()` of a Hugging Face Trainer whose settings name no optimizer.

    What it costs
    -------------
    The package bitsandbytes, and a little precision.
    """

    id, title = "optim-8bit", "Keep the optimizer's numbers in 8 bits: adamw_bnb_8bit"
    causes, general = ("gpu-oom",), True
    argument, value = "optim", '"adamw_bnb_8bit"'
    why = "lets Adam keep eight bytes for each weight; in 8 bits it keeps two. It needs the package bitsandbytes."

    FIRES = [
        Case(
            _ARGUMENTS.format(", bf16=True"),
            _TRAIN.format("train"),
            becomes={1: _ARGUMENTS.format(', bf16=True, optim="adamw_bnb_8bit"')},
            cause="gpu-oom",
        )
    ]
    SILENT = [
        Case(_ARGUMENTS.format(', optim="adamw_bnb_8bit"'), _TRAIN.format("train"), cause="gpu-oom"),
        Case(_ARGUMENTS.format(""), _TRAIN.format("save_model"), cause="gpu-oom"),
        Case(_ARGUMENTS.format(", **more"), _TRAIN.format("train"), cause="gpu-oom"),
    ]

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the settings of the trainer that was at work."""
        yield from trainer_settings(death.code, "train")
