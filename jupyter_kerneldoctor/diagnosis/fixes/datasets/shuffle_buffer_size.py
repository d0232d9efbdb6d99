import ast

from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.keras import (
    Step,
    batched_before,
    is_after_map,
    is_of_numbers,
    pipeline_steps,
    written_number,
)
from ...frameworks.sliced_arrays import row_bytes
from ...place import grew_in
from ...sizing import power_of_two

_FEW = 256  # of what a pipeline gives one at a time; a first try
_MANY = 10_000  # where the code does not show how many
_CAUTION = 8  # the kill came while the buffer was filled
_LITTLE = 20  # part of what the cell took
_DATA = "import tensorflow as tf\ndata = tf.data.Dataset.range(20_000).map(load)\nmodel = tf.keras.Sequential()"

_MAKE = (
    "import tensorflow as tf\ndef make(files, train=True):\n    ds = tf.data.Dataset.from_tensor_slices(files)\n"
    "    ds = ds.map(load)\n    if train:\n        ds = ds.shuffle({size})\n    return ds.batch(32)"
)


class ShuffleBufferSize(Fix):
    """Shuffle with a smaller buffer.

    What it does: `dataset.shuffle(10_000)` fills a buffer with 10,000 elements before the first step, and keeps it
    full. After a `map` that loads images these are whole images: 10,000 of 224 x 224 x 3 in float32 are 5.6 GiB.

    When it is offered: Memory ran out in a cell that goes through a `tf.data` pipeline with a shuffle of more than 256
    elements.

    What it costs: The order is less random: an element moves by about the length of the buffer. Where that matters,
    shuffle the names or numbers before the `map` that loads: then the buffer may be as long as the data.
    """

    id, title, causes = "shuffle-buffer-size", "Shuffle with a smaller buffer", (Family.MEMORY,)

    FIRES = [
        Case(
            _DATA,
            "BUFFER = 10_000\nmodel.fit(data.shuffle(BUFFER).batch(32), verbose=0)",
            becomes={"10_000": "256"},
            says=("10000", "before the `map`"),
        ),
        Case(
            "import tensorflow as tf\nN = 5000",
            "def pipeline(train):\n    ds = tf.data.Dataset.range(N).map(load)\n    if train:\n"
            "        ds = ds.shuffle(buffer_size=N)\n    return ds.batch(32)",
            "model = tf.keras.Sequential()\nmodel.fit(pipeline(True))",
            becomes={"buffer_size=N": "buffer_size=256"},
        ),
        Case(
            _MAKE.format(size="len(files)"),
            "model = tf.keras.Sequential()\nmodel.fit(make(names))",
            becomes={1: _MAKE.format(size="256")},
            says=("all elements",),
        ),
        Case(  # whole batches
            _DATA,
            "model.fit(data.batch(64).shuffle(1000).prefetch(2))",
            becomes="model.fit(data.shuffle(1000).batch(64).prefetch(2))",
            says=("1000 batches",),
        ),
    ]
    SILENT = [
        Case(
            "import tensorflow as tf\nds = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).map(load)",
            "tf.keras.Sequential().fit(ds.batch(32))",
        ),
        Case(  # it shuffles numbers
            "import tensorflow as tf\nmodel = tf.keras.Sequential()",
            "model.fit(tf.data.Dataset.range(20_000).shuffle(20_000).map(load).batch(32))",
        ),
        Case(  # rows of 4 kB
            "import numpy as np, tensorflow as tf\nX = np.ones((9000, 1000), dtype='float32')",
            "tf.keras.Sequential().fit(tf.data.Dataset.from_tensor_slices((X, X)).shuffle(2000).batch(9))",
        ),
        Case(_DATA, "model.fit(data.shuffle(100).batch(32))"),
        Case(_DATA, "ds = data.shuffle(10_000).batch(32)", line=1),  # nothing is read yet
        Case("import random", "random.shuffle(10_000)"),
        Case("import torch\ndata = load()", "data.shuffle(10_000)"),
        Case(_DATA, "model.fit(data.shuffle(10_000))", before_mib=1900),
    ]

    def is_cured(self, before: Death, after: Death) -> bool:
        """Whether a buffer holds rows now in place of batches, or no buffer is too long."""
        of_batches = [
            sum(batched_before(one.owner) is not None for one in pipeline_steps(death.code, "shuffle"))
            for death in (before, after)
        ]
        return of_batches[1] < of_batches[0] or super().is_cured(before, after)

    def propose(self, death: Death) -> Proposals:
        memory, code = death.memory, death.code
        for step in pipeline_steps(code, "shuffle") if memory.grew_here else ():
            call = step.call
            statement = step.scope.tree.statements[call]
            if isinstance(statement, ast.Assign) and grew_in(death, statement, step.scope):
                continue  # nothing is read where the pipeline is made
            given = next(
                (word.value for word in call.keywords if word.arg == "buffer_size"), next(iter(call.args), None)
            )
            found = written_number(given, step.scope, code)
            length = found[0] if found is not None else death.values.number(given, step.scope)
            unknown = isinstance(given, ast.Call) and length is None and is_after_map(step, code)  # len(files)
            if given is None or (length is None and not unknown) or (length or _MANY) <= _FEW:
                continue
            each = row_bytes(step, code, death.values)
            if is_of_numbers(step, code) or (each and (length or 0) * each < (memory.missing_bytes or 0) // _LITTLE):
                continue
            fewer = min(_FEW, power_of_two((length or _MANY) // _CAUTION))
            is_own = found is not None and "buffer" in step.scope.segment(given).lower()
            where, node = (found[2], found[1]) if found is not None and is_own else (step.scope, given)
            if (batch := batched_before(step.owner)) is not None and isinstance(batch.func, ast.Attribute):
                yield _rows_first(step, batch, length, memory.missing_bytes)
                return
            many = length or "all"
            why = (
                f"{quote(step.scope.segment(call))} keeps {many} elements in memory before the first step; the cell "
                f"took {size(memory.missing_bytes or 0)}. Try {fewer}. To shuffle better at no cost, shuffle the names "
                "or numbers before the `map` that loads."
            )
            yield Proposal(replace(where, node, str(fewer)), why, memory.missing_bytes)
            return


def _rows_first(step: Step, batch: ast.Call, length: int | None, missing: int | None) -> Proposal:
    """Put the shuffle before the batch: then its buffer holds rows."""
    segment, owner = step.scope.segment, batch.func
    assert isinstance(owner, ast.Attribute)
    shuffled, batched = (segment(one)[len(segment(of)) :] for one, of in ((step.call, batch), (batch, owner.value)))
    why = (
        f"{quote(segment(step.call))} comes after {quote(batched)}: its buffer holds {length or 'all'} batches. "
        f"Shuffled before, it holds as many rows, and the order is more random. The cell took {size(missing or 0)}."
    )
    text = f"{segment(owner.value)}{shuffled}{batched}"
    return Proposal(
        replace(step.scope, step.call, text), why, missing, "Shuffle rows, not batches: shuffle before batch"
    )
