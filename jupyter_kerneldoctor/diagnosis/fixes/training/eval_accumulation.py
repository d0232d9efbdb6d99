from ...trainer_setting import TrainerSetting


class EvalAccumulation(TrainerSetting):
    """Move what the evaluation gives off the card every few batches.

    What it does: `evaluate()` and `predict()` collect the outputs of all batches on the card, and move them to the
    machine's memory at the end. `eval_accumulation_steps=8` moves them after every eight batches.

    When it is offered: The graphics card was full in `evaluate()` or `predict()` of a Hugging Face Trainer.

    What it costs: A little time. Where the machine's memory is too small as well, let `preprocess_logits_for_metrics`
    keep less.
    """

    id, title = "eval-accumulation", "Move the outputs off the card: eval_accumulation_steps"
    causes, general = ("gpu-oom",), False
    methods = ("evaluate", "predict")
    argument, value = "eval_accumulation_steps", "8"
    why = "collects the outputs of all batches on the card until the end."
