from ...edits import import_as, replace, set_argument
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.keras import known_as, optimizers_of, training_calls
from ...sizing import batch_to_blame

_MODEL = "from tensorflow import keras\nmodel = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile({}, 'mse')"
_ADAM, _FIT = _MODEL.format("'adam'"), "model.fit(x, y, batch_size={})"
_WORD = "gradient_accumulation_steps"


class KerasGradientAccumulation(Fix):
    """Take a smaller batch, and let the optimizer add up the gradients of several.

    What it does: With `gradient_accumulation_steps=8` a Keras optimizer makes one step with the mean gradient of eight
    batches. With an eighth of the batch size each step sees as many rows as before, while memory holds what an eighth
    of them needs.

    When it is offered: Memory ran out in `fit` with a batch size that a cell writes, and the optimizer is made in a
    cell. Keras 3.

    What it costs: Time, and memory for one more copy of the weights. BatchNormalization sees the smaller batches. A
    rest of batches at the end of an epoch counts for the next one.
    """

    unless_offered = frozenset({"empty-after-yield"})
    id, title = "keras-gradient-accumulation", "Take smaller batches and accumulate their gradients"
    causes = OUT_OF_MEMORY
    edits_cure = True  # a smaller number is still a number

    FIRES = [
        Case(
            _MODEL.format("keras.optimizers.Adam(1e-3)"),
            _FIT.format(512),
            becomes={"1e-3": "1e-3, gradient_accumulation_steps=16", "512": "32"},
            says=("32",),
        ),
        Case(_ADAM, _FIT.format(512), becomes={"'adam'": f"keras.optimizers.Adam({_WORD}=16)", "512": "32"}),
    ]
    SILENT = [
        Case(_MODEL.format("keras.optimizers.Adam(gradient_accumulation_steps=4)"), _FIT.format(512)),
        Case(_MODEL.format("optimizer"), _FIT.format(512)),
        Case(_ADAM, "model.predict(x, batch_size=512)"),
        Case(  # what the generator learns of all pictures is what is large
            _ADAM + "\ngen = keras.preprocessing.image.ImageDataGenerator(zca_whitening=True)",
            "gen.fit(x)\n" + _FIT.format(512),
            line=1,
        ),
        Case(_ADAM, _FIT.format(512), before_mib=1900),
        Case(_ADAM.replace("tensorflow import", "tensorflow import keras as"), "model.fit(x)"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, missing = death.code, death.memory.missing_bytes
        if not any(one.name == "fit" for one in training_calls(code)) or (batch := batch_to_blame(death)) is None:
            return
        written, made = batch.written, list(optimizers_of(code))
        if written is None or written.value % batch.choice.value or len(made) != 1 or _is_old(death):
            return
        steps, ((call, optimizer),) = str(written.value // batch.choice.value), made
        edits = written.becomes(batch.choice.value)
        if optimizer is None:
            if call.argument(_WORD) is not None:
                return
            edits += set_argument(call, _WORD, steps)
        else:
            name = known_as(code)
            name, imported = (name, ()) if name else import_as(call.scope, code, "tensorflow.keras", "keras")
            given = call.argument("optimizer", 0)
            assert given is not None
            edits += imported + replace(call.scope, given, f"{name}.optimizers.{optimizer}({_WORD}={steps})")
        why = f"{batch.reason} With {quote(f'{_WORD}={steps}')} each update sees as many rows as before."
        title = f"{self.title}: {batch.choice.value} in place of {written.value}"
        yield Proposal(edits, why, (missing or 0) * 9 // 10, title, peak=batch.choice.peak)


def _is_old(death: Death) -> bool:
    """Whether TensorFlow is known to come with Keras 2."""
    versions = [one.version for one in death.recording.frameworks if one.name == "tensorflow" and one.version]
    return any(tuple(int(part) for part in one.split(".")[:2] if part.isdigit()) < (2, 16) for one in versions)
