import ast

from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.keras import known_as, whole_calls_of_models

_ROWS = 32  # what Keras takes where nothing is said
_NET = "import numpy as np, tensorflow as tf\nX = np.ones((5000, 9), dtype='float32')\nae = tf.keras.Sequential()"


class KerasBatchSize(Fix):
    """Let `predict` take some rows at a time, not the model all of them at once.

    What it does: `model(X)` and `predict_on_batch(X)` send all rows through the network in one step. The edit calls
    `predict`, which takes 32 at a time and gives the same.

    When it is offered: Memory ran out in such a call of a Keras model on all rows, outside of its training. A batch
    size that is the length of the data is the matter of `batch-of-the-whole-set`.

    What it costs: Some time, where all rows would have fitted.
    """

    id, title, causes = "keras-batch-size", "Let predict take 32 rows at a time", (Family.MEMORY,)

    FIRES = [
        Case(
            _NET,
            "codes = ae(X)\nother = ae(X).numpy()",
            line=1,
            becomes="codes = tf.convert_to_tensor(ae.predict(X, batch_size=32))\nother = ae(X).numpy()",
        ),
        Case(_NET, "codes = ae(X, training=False).numpy()", becomes="codes = ae.predict(X, batch_size=32)"),
        Case(_NET, "codes = ae.predict_on_batch(X)", becomes="codes = ae.predict(X, batch_size=32)"),
    ]
    SILENT = [
        Case(_NET, "for part in np.split(X, 9):\n    ae(part)"),
        Case(_NET + "\nf = tf.keras.layers.Dense(2)", "out = ae(x_small)"),
        Case(_NET, "samples = ae(X, training=True)"),
        Case(_NET, "loss = ae.test_on_batch(X)"),
    ]

    def propose(self, death: Death) -> Proposals:
        memory, code = death.memory, death.code
        for call, data in whole_calls_of_models(code) if memory.grew_here else ():
            rows, model = death.values.rows(data, call.scope), call.node.func
            if rows is None or rows <= _ROWS or not death.was_running(call.node, call.scope):
                continue
            whole = [one for one in call.scope.calls if getattr(one.func, "value", None) is call.node]
            is_array = bool(whole) and getattr(whole[0].func, "attr", "") == "numpy"
            gives_array = call.name == "predict_on_batch"
            owner = model.value if gives_array and isinstance(model, ast.Attribute) else model
            new = f"{call.scope.segment(owner)}.predict({data.id}, batch_size={_ROWS})"
            if not (is_array or gives_array) and (keras := known_as(code) or "").endswith(".keras"):
                new = f"{keras.removesuffix('.keras')}.convert_to_tensor({new})"
            why = (
                f"{quote(call.text)} sends all {rows} rows through the network at once; the cell took "
                f"{size(memory.missing_bytes or 0)}. `predict` takes {_ROWS} rows at a time; it gives an array."
            )
            place = whole[0] if is_array else call.node
            yield Proposal(replace(call.scope, place, new), why, memory.missing_bytes)
            return
