from ...fix import Advice, Case, Death
from ...frameworks.keras import known_as, training_calls

_FIT = ("from tensorflow import keras\nnet = keras.Sequential()", "net.fit(x, y)")


class KerasMixedPrecision(Advice):
    """Let Keras calculate in 16 bits where that is enough.

    What it does: With the policy `mixed_float16` layers give numbers of 16 bits, so that what is kept of them for the
    backward pass takes half the memory. The weights stay in 32 bits.

    When it is offered: The graphics card was full in `fit` of a Keras model, and no cell sets such a policy.

    What it costs: Precision. The last layer should stay in 32 bits: `dtype="float32"`. The model has to be built anew.
    """

    id, title = "keras-mixed-precision", "Keep intermediate results in 16 bits: mixed_float16"
    causes, general = ("gpu-oom",), True
    unless = ("mixed_",)
    share = 1 / 3  # what is kept is not all that the step needs
    why = "What the layers give is kept in 32 bits for the backward pass; in 16 bits most of it takes half."
    snippet = (
        '{keras}.mixed_precision.set_global_policy("mixed_float16")  # before the model is built\n'
        'output = {keras}.layers.Dense(classes, activation="softmax", dtype="float32")  # the last layer'
    )

    FIRES = [Case(*_FIT, says=('keras.mixed_precision.set_global_policy("mixed_float16")',))]
    SILENT = [
        Case(_FIT[0] + "\nkeras.mixed_precision.set_global_policy('mixed_float16')", _FIT[1]),
        Case(_FIT[0], "net.predict(x)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Tell how the cells call Keras, where a model is trained."""
        name, code = known_as(death.code), death.code
        trains = any(call.name == "fit" for call in training_calls(code))
        return {"keras": name} if name is not None and trains else None
