"""Trainers of Hugging Face's transformers: their settings, and what of them was running."""

from collections.abc import Iterator

from ..code.notebook import Call, Notebook

TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer")
EVALUATIONS = ("evaluation_loop", "prediction_loop")
"""Methods of a trainer in which `train` evaluates, too."""
_SETTINGS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments", "trl.SFTConfig")


def trainer_settings(code: Notebook, *methods: str) -> Iterator[Call]:
    """Yield the newest settings of a trainer, where one of its methods runs: `train`, `evaluate`, `predict`."""
    runs = any(getattr(one.func, "attr", "") in methods for scope in code.running for one in scope.calls)
    if runs and any(code.calls(*TRAINERS)):
        yield from list(code.calls(*_SETTINGS))[:1]
