from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.pair_scores import pair_scores

_NET = (
    "import keras, numpy as np\nX = np.zeros((400, {}, 1), 'float32')\ninputs = keras.Input(X.shape[1:])\n"
    "out = keras.layers.MultiHeadAttention(4, 64)(inputs, inputs)\nmodel = keras.Model(inputs, out)"
)
_LEAST = 0.1  # of the room, for one row


class ShorterBeforeAttention(Fix):
    """Make the sequence shorter before the network attends over it.

    What it does: Attention works out a number for each pair of steps, in each head: with an eighth of the steps it
    needs a 64th of the memory. A convolution with strides, or a pooling layer, makes one step of eight before the first
    block.

    When it is offered: Memory ran out in a training with Keras whose network has an attention layer, and the scores of
    a single row take more than a tenth of the room that there was.

    What it costs: What differs within eight steps is seen by the convolution only.
    """

    id, title = "shorter-before-attention", "Make the sequence shorter before the attention: strides=8"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET.format(4000),
            "model.fit(X, y, batch_size=32)",
            growth="jump",
            says=("4,000 steps", "977 MiB", "strides=8"),
        )
    ]
    SILENT = [
        Case(_NET.format(100), "model.fit(X, y, batch_size=32)", growth="jump"),
        Case(_NET.format(4000), "big = [0] * 10**10", growth="jump"),
    ]

    def propose(self, death: Death) -> Proposals:
        found = pair_scores(death.code, death.values) if death.memory.grew_here else None
        if found is None or found.row_bytes < _LEAST * (death.safe_headroom_bytes or 0):
            return
        why = f"{quote(found.layer.text)} makes a number for each pair of {found.steps:,} steps, {found.heads} times: "
        why += f"{size(found.row_bytes)} for a single row while it learns, and more with each block and row."
        snippet = (
            "x = keras.layers.Conv1D(32, 8, strides=8, padding='same', activation='relu')(inputs)  # one of eight\n"
            "# before the first block; or keras.layers.AveragePooling1D(8)(inputs), or windows of 500 steps"
        )
        yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
