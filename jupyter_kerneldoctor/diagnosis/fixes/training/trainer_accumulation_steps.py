from ...code.origins import Origins
from ...edits import replace, set_argument
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.trainers import trainer_settings
from ...frameworks.training import is_of_evaluation
from ...sizing import choose

_ARGUMENTS = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out', {})"
_TRAIN = "trainer = Trainer(model, args, train_dataset=ds)\ntrainer.train()"
_SIZE, _STEPS = "per_device_train_batch_size", "gradient_accumulation_steps"


class TrainerAccumulationSteps(Fix):
    """Let the Trainer take each batch in parts, and add up their gradients.

    What it does: `gradient_accumulation_steps=4` with a quarter of `per_device_train_batch_size` gives the optimizer
    the same number of samples for each step, while the memory holds the intermediate results of a quarter of them.

    When it is offered: Memory ran out in `train()` of a Hugging Face Trainer whose batch size a cell writes.

    What it costs: Time: more and smaller passes. With several graphics cards the numbers count for each of them.
    """

    id, title, causes = "trainer-accumulation-steps", "Accumulate the gradient over smaller batches", OUT_OF_MEMORY
    edits_cure = True  # a smaller number is still a number

    FIRES = [
        Case(
            _ARGUMENTS.format("per_device_train_batch_size=64"),
            _TRAIN,
            becomes={1: _ARGUMENTS.format("per_device_train_batch_size=4, gradient_accumulation_steps=16")},
            says=("4 in place of 64",),
        ),
        Case(
            "BS = 64\n" + _ARGUMENTS.format("per_device_train_batch_size=BS, gradient_accumulation_steps=2"),
            _TRAIN,
            becomes={
                1: "BS = 4\n" + _ARGUMENTS.format("per_device_train_batch_size=BS, gradient_accumulation_steps=32")
            },
        ),
    ]
    SILENT = [
        Case(_ARGUMENTS.format("per_device_train_batch_size=1"), _TRAIN),
        Case(_ARGUMENTS.format("per_device_train_batch_size=64"), _TRAIN.replace("train()", "evaluate()")),
        Case(_ARGUMENTS.format("per_device_train_batch_size=64"), _TRAIN, before_mib=1900),
        Case(_ARGUMENTS.format("**options"), _TRAIN),
        Case(
            _ARGUMENTS.format("per_device_train_batch_size=4, per_device_eval_batch_size=512, eval_strategy='epoch'"),
            _TRAIN,
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        code, origins = death.code, Origins(death.code)
        if not death.memory.grew_here or death.growth.is_steady or is_of_evaluation(code):
            return
        settings = next(trainer_settings(code, "train"), None)
        given = None if settings is None else settings.argument(_SIZE)
        found = None if settings is None or given is None else origins.number(given, settings.scope)
        choice = None if found is None else choose(death, found[0], from_runs=False)
        if settings is None or found is None or choice is None or found[0] % choice.value:
            return
        steps = settings.argument(_STEPS)
        known = (1, None) if steps is None else origins.number(steps, settings.scope)
        if known is None:
            return
        more = str(known[0] * (found[0] // choice.value))
        edits = replace(found[1].scope, found[1].node, str(choice.value)) + set_argument(settings, _STEPS, more)
        why = (
            f"{quote(_SIZE)} is {found[0]}. {choice.reason} With {quote(f'{_STEPS}={more}')} the optimizer sees as "
            "many samples in each step as before."
        )
        title = f"{self.title}: {choice.value} in place of {found[0]}"
        yield Proposal(edits, why, death.memory.missing_bytes, title)
