"""What attention in Keras needs for the scores of one row: a number for each pair of its steps, of each head."""

from typing import NamedTuple

from ..code.notebook import Call, Notebook
from ..code.origins import Origins
from ..code.values import Values
from .training import training_calls

_LAYERS = tuple(
    f"{package}.{name}"
    for package in ("keras.layers", "tensorflow.keras.layers")
    for name in ("MultiHeadAttention", "Attention", "AdditiveAttention", "GroupQueryAttention")
)
_COPIES = 4  # the scores, their softmax, what dropout leaves, and a gradient
_FLOAT_BYTES = 4


class PairScores(NamedTuple):
    """The scores of one row of what a network is fitted to."""

    layer: Call
    steps: int
    heads: int

    @property
    def row_bytes(self) -> int:
        """What they take at least while one block of the network is trained."""
        return self.heads * self.steps * self.steps * _FLOAT_BYTES * _COPIES


def pair_scores(code: Notebook, values: Values) -> PairScores | None:
    """Return them for the rows that `fit` is given; None where no layer attends, or the length is not known."""
    layer = next(iter(code.calls(*_LAYERS)), None)
    for call, scope in training_calls(code) if layer is not None else ():
        value = values.of(call.args[0], scope) if call.args else None
        if layer is not None and value is not None and len(value.shape) == 3:
            given = layer.argument("num_heads", 0)
            found = None if given is None else Origins(code).number(given, layer.scope)
            return PairScores(layer, value.shape[1], found[0] if found is not None else 1)
    return None
