import ast

from ...code.origins import Origins
from ...edits import remove, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.cached_repeats import cached_repeats
from ...frameworks.keras import may_use_a_pipeline, pipeline_steps

_FILE = "In a file they take none. Delete that file when the pipeline changes."
_SHARED = "It is made for several pipelines, which one file would mix up. Without it each epoch works them out again."
_MAKE = (
    "import tensorflow as tf\ndef make(n):\n    ds = tf.data.Dataset.range(n).map(load)\n{cache}    return ds.batch(8)"
)
_DATA = "import tensorflow as tf\ndata = tf.data.Dataset.range(20_000).map(load)\nmodel = tf.keras.Sequential()"


class DatasetCacheToFile(Fix):
    """Cache the data set in a file, not in memory.

    What it does: `dataset.cache()` keeps all that goes through it in memory during the first epoch. With the name of a
    file it is written there, and the later epochs read it.

    When it is offered: Memory grew in a cell that goes through a `tf.data` pipeline with a `cache()` without a name.

    What it costs: As much room on the disk as the data takes, and reading it. Delete the files when the pipeline
    changes. Where one `cache()` stands in a function that makes several pipelines, a file would give one the data of
    the other: the edit leaves the cache out, and each epoch does the work again.
    """

    id, title, causes = "dataset-cache-to-file", "Cache the data set in a file: .cache(filename)", (Family.MEMORY,)

    FIRES = [
        Case(_DATA, "model.fit(data.cache().batch(32), epochs=3)", becomes={"cache()": 'cache("dataset.cache")'}),
        Case(
            "import tensorflow as tf\ndef make(n):\n    ds = tf.data.Dataset.range(n).map(load)\n"
            "    return ds.cache().batch(8)",
            "for images in make(9000):\n    tf.reduce_mean(images)",
            becomes={"cache()": 'cache("dataset.cache")'},
        ),
        Case(  # training and validation
            _MAKE.format(cache="    ds = ds.cache()\n"),
            "model.fit(make(9000), validation_data=make(800))\nmodel = tf.keras.Sequential()",
            becomes={1: _MAKE.format(cache="")},
            says=("mix up",),
        ),
        Case(
            _DATA + "\nvalid = data.take(99)",
            "train, valid = data.cache(), valid.cache()\nmodel.fit(train, validation_data=valid)",
            becomes={"(), valid.cache()": '("dataset-1.cache"), valid.cache("dataset-2.cache")'},
        ),
    ]
    SILENT = [
        Case(_DATA, "model.fit(data.cache('here').batch(32))"),
        Case(_DATA, "model.fit(data.cache().batch(32))", before_mib=1900),
        Case(_DATA, "model.fit(data.repeat().cache().batch(32), steps_per_epoch=9, epochs=3)"),
        Case("import functools", "functools.cache()"),
        Case(_DATA + "\ndata = data.cache().batch(32)", "big = [0] * 10**10"),
    ]

    def propose(self, death: Death) -> Proposals:
        steps = [one for one in pipeline_steps(death.code, "cache") if not (one.call.args or one.call.keywords)]
        endless = {one.cache.call for one in cached_repeats(death.code)}  # a file would never be complete either
        steps = [one for one in steps if one.call not in endless]
        missing, origins = death.memory.missing_bytes, Origins(death.code)
        is_used = death.memory.grew_here and may_use_a_pipeline(death.code)
        for at, step in enumerate(steps if is_used else (), 1):
            scope = step.scope
            keeps = f"{quote(scope.segment(step.call))} keeps every element in memory that goes through it"
            why = f"{keeps}; the cell took {size(missing or 0)}. {_FILE}"
            name = "dataset.cache" if len(steps) == 1 else f"dataset-{at}.cache"
            edits, title = replace(scope, step.call, f'{scope.segment(step.call.func)}("{name}")'), None
            if scope.loops_around(step.call) or (not scope.is_cell and len(origins.calls_of(scope)) > 1):
                title = "Leave out the cache in memory: no .cache() for several pipelines"
                why = why.replace(_FILE, _SHARED)
                edits = replace(scope, step.call, scope.segment(step.owner))
                match scope.statement_of(step.call):
                    case ast.Assign(targets=[ast.Name(id=target)], value=value) as statement if value is step.call:
                        if scope.segment(step.owner) == target:
                            edits = remove(scope, statement)
            yield Proposal(edits, why, death.memory.ramp_bytes or missing, title)
