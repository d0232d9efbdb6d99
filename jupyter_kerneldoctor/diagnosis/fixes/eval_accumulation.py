from collections.abc import Iterator

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from ..fix import SetArgument
from ..frameworks.trainers import trainer_settings

_ARGUMENTS = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out'{})"
_TRAIN = "trainer = Trainer(model, args, train_dataset=ds)\ntrainer.{}()"


class EvalAccumulation(SetArgument):
    """Move what the evaluation gives off the card every few batches.

    What it does
    ------------
    `evaluate()` and `predict()` collect the outputs of all batches on the card, and move them to the machine's memory
    at the end. `eval_accumulation_steps=8` moves them after every eight batches.

    When it is offered
    ------------------
    The graphics card was full in `evaluate()` or `predict()` of a Hugging Face Trainer.

    What it costs
    -------------
    A little time. Where the machine's memory is too small as well, let `preprocess_logits_for_metrics` keep less.
    """

    id, title = "eval-accumulation", "Move the outputs off the card: eval_accumulation_steps"
    causes, general = ("gpu-oom",), False
    argument, value = "eval_accumulation_steps", "8"
    why = "collects the outputs of all batches on the card until the end."

    FIRES = [
        Case(
            _ARGUMENTS.format(", bf16=True"),
            _TRAIN.format("evaluate"),
            becomes={1: _ARGUMENTS.format(", bf16=True, eval_accumulation_steps=8")},
            cause="gpu-oom",
        )
    ]
    SILENT = [
        Case(_ARGUMENTS.format(", eval_accumulation_steps=8"), _TRAIN.format("evaluate"), cause="gpu-oom"),
        Case(_ARGUMENTS.format(""), _TRAIN.format("save_model"), cause="gpu-oom"),
        Case(_ARGUMENTS.format(", **more"), _TRAIN.format("evaluate"), cause="gpu-oom"),
    ]

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the settings of the trainer that was at work."""
        yield from trainer_settings(death.code, "evaluate", "predict")
