from collections.abc import Iterator

from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal
from ...frameworks.keras import pipeline_steps
from ...units import quote, size

_DATA = "import tensorflow as tf\ndata = tf.data.Dataset.range(20_000).map(load)\nmodel = tf.keras.Sequential()"


class DatasetCacheToFile(Fix):
    """Cache the data set in a file, not in memory.

    What it does: `dataset.cache()` keeps all that goes through it in memory during the first epoch. With the name of a
    file it is written there, and the later epochs read it.

    When it is offered: Memory grew in a cell that goes through a `tf.data` pipeline with a `cache()` without a name.

    What it costs: As much room on the disk as the data takes, and reading it. Delete the files when the pipeline
    changes.
    """

    id, title, causes = "dataset-cache-to-file", "Cache the data set in a file: .cache(filename)", (Family.MEMORY,)

    FIRES = [
        Case(
            _DATA,
            "model.fit(data.cache().batch(32), epochs=3)",
            becomes='model.fit(data.cache("dataset.cache").batch(32), epochs=3)',
        ),
        Case(
            "import tensorflow as tf\ndef make(n):\n    ds = tf.data.Dataset.range(n).map(load)\n"
            "    return ds.cache().batch(8)",
            "for images in make(9000):\n    tf.reduce_mean(images)",
            becomes={
                1: "import tensorflow as tf\ndef make(n):\n    ds = tf.data.Dataset.range(n).map(load)\n"
                '    return ds.cache("dataset.cache").batch(8)'
            },
        ),
    ]
    SILENT = [
        Case(_DATA, "model.fit(data.cache('here').batch(32))"),
        Case(_DATA, "model.fit(data.cache().batch(32))", before_mib=1900),
        Case("import functools", "functools.cache()"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Give the cache a file."""
        steps = [one for one in pipeline_steps(death.code, "cache") if not (one.call.args or one.call.keywords)]
        for step in steps[:1] if death.memory.grew_here else ():
            scope, missing = step.scope, death.memory.missing_bytes
            why = (
                f"{quote(scope.segment(step.call))} keeps every element in memory that goes through it; the cell took "
                f"{size(missing or 0)}. In a file they take none."
            )
            edits = replace(scope, step.call, f'{scope.segment(step.call.func)}("dataset.cache")')
            yield Proposal(edits, why, death.memory.ramp_bytes or missing)
