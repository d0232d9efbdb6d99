import ast

from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.keras import known_as, training_calls, whole_calls_of_models, written_number
from ...sizing import choose

_USUAL = 32  # what Keras takes where nothing is said
_NET = "import numpy as np, tensorflow as tf\nX = np.ones((5000, 9), dtype='float32')\nae = tf.keras.Sequential()"


class KerasBatchSize(Fix):
    """Train in batches, not on all rows at once.

    What it does: `fit(X, y, batch_size=len(X))` sends all rows through the network in one step, and training keeps the
    intermediate results of each row until the step is over. The edit writes a number in its place.

    When it is offered: Memory ran out in a `fit`, `evaluate` or `predict` of Keras whose batch size is calculated, as
    the length of the data. A number that is written down is the matter of `reduce-batch-size`.

    What it costs: More and smaller steps: the course of the training changes. `evaluate` and `predict` give the same.
    """

    id, title, causes = "keras-batch-size", "Train in batches of 32 rows, not all at once", (Family.MEMORY,)

    FIRES = [
        Case(_NET, "ae.fit(X, X, batch_size=len(X), epochs=5)", becomes={"len(X)": "32"}, says=("5000",)),
        Case(
            _NET + "\ndef run(model, data):\n    return model.predict(data, batch_size=data.shape[0])",
            "run(ae, X)",
            becomes={"data.shape[0]": "32"},
        ),
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
        Case(_NET, "ae.fit(X, X, batch_size=16)"),
        Case(_NET, "samples = ae(X, training=True)"),
        Case(_NET, "loss = ae.test_on_batch(X)"),
        Case(_NET, "ae.fit(X, X)"),
        Case("import numpy as np\nX = np.ones((5000, 9))", "forest.fit(X, batch_size=len(X))"),
        Case(_NET, "ae.fit(X, X, batch_size=len(X))", before_mib=1950),
    ]

    def propose(self, death: Death) -> Proposals:
        memory, code = death.memory, death.code
        yield from _called_on_all(death)
        for call in training_calls(code) if memory.grew_here else ():
            given = call.argument("batch_size")
            if given is None or written_number(given, call.scope, code) or not death.was_running(call.node, call.scope):
                continue
            rows = death.values.number(given, call.scope)
            choice = None if rows is None else choose(death, rows, from_runs=False)
            if rows is not None and (choice is None or choice.value < 1 or rows <= _USUAL):
                continue
            number = min(_USUAL, choice.value) if choice is not None else _USUAL
            all_rows = "all rows" if rows is None else f"all {rows} rows"
            why = (
                f"{quote(call.text)} sends {all_rows} through the network in one step; the cell took "
                f"{size(memory.missing_bytes or 0)}. {number} rows at a time take a small part of that."
            )
            yield Proposal(replace(call.scope, given, str(number)), why, memory.missing_bytes)
            return


def _called_on_all(death: Death) -> Proposals:
    """Propose `predict` for a model that is called with all rows as one batch: it takes 32 at a time."""
    memory, code = death.memory, death.code
    for call, data in whole_calls_of_models(code) if memory.grew_here else ():
        rows, model = death.values.rows(data, call.scope), call.node.func
        if rows is None or rows <= _USUAL or not death.was_running(call.node, call.scope):
            continue
        whole = [one for one in call.scope.calls if isinstance(one.func, ast.Attribute) and one.func.value is call.node]
        is_array = bool(whole) and isinstance(whole[0].func, ast.Attribute) and whole[0].func.attr == "numpy"
        gives_array = call.name == "predict_on_batch"
        owner = model.value if gives_array and isinstance(model, ast.Attribute) else model
        new = f"{call.scope.segment(owner)}.predict({data.id}, batch_size={_USUAL})"
        name = (known_as(code) or "").removesuffix(".keras")
        if not is_array and not gives_array and (known_as(code) or "").endswith(".keras"):
            new = f"{name}.convert_to_tensor({new})"
        why = (
            f"{quote(call.text)} sends all {rows} rows through the network at once; the cell took "
            f"{size(memory.missing_bytes or 0)}. `predict` takes {_USUAL} rows at a time; it gives an array."
        )
        place, title = whole[0] if is_array else call.node, f"Let predict take {_USUAL} rows at a time"
        yield Proposal(replace(call.scope, place, new), why, memory.missing_bytes, title)
        return
