"""A fix that is only data: a setting that a Hugging Face Trainer was not given."""

from collections.abc import Iterator
from typing import Any, ClassVar

from .case import Case
from .code.notebook import Call
from .death import Death
from .fix import SetArgument
from .frameworks.trainers import trainer_settings
from .frameworks.training import is_of_evaluation

_ARGUMENTS = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out'{})"
_TRAIN = "trainer = Trainer(model, args, train_dataset=ds)\ntrainer.{}()"


class TrainerSetting(SetArgument):
    """The settings of a trainer get an argument; its examples follow from that."""

    methods: ClassVar[tuple[str, ...]] = ("train",)
    """The trainer's methods one of which was running."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Make the examples: settings without the argument; with it, hidden, or of a trainer that does other work."""
        super().__init_subclass__(**more)
        given, runs, plain = f", {cls.argument}={cls.value}", _TRAIN.format(cls.methods[0]), ", bf16=True"
        becomes = {1: _ARGUMENTS.format(plain + given)}
        cls.FIRES = [Case(_ARGUMENTS.format(plain), runs, becomes=becomes, cause="gpu-oom")]
        cls.SILENT = [
            Case(_ARGUMENTS.format(given), runs, cause="gpu-oom"),
            Case(_ARGUMENTS.format(""), _TRAIN.format("save_model"), cause="gpu-oom"),
            Case(_ARGUMENTS.format(", **more"), runs, cause="gpu-oom"),
        ]

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the settings of the trainer that was at work."""
        if not is_of_evaluation(death.code):
            yield from trainer_settings(death.code, *self.methods)
