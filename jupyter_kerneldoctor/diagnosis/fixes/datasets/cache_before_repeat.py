from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.cached_repeats import cached_repeats
from ...frameworks.keras import may_use_a_pipeline

_SNIPPET = (
    "ds = ds.cache()  # before the repeat, and before a map with chance: it holds one epoch\n"
    "ds = ds.repeat()  # and then what else there was"
)
_TF = "import tensorflow as tf\nds = tf.data.Dataset.from_tensor_slices(names)\n"
_FIT = "model = tf.keras.Sequential()\nmodel.fit(ds, steps_per_epoch=20, epochs=60)"
_MAKE = (
    "import tensorflow as tf\ndef make(names, training):\n    ds = tf.data.Dataset.from_tensor_slices(names)\n"
    "    {first}    ds = ds.map(load)\n    ds = ds.cache()\n{last}    return ds.batch(8)"
)
_IF = "    if training:\n        ds = ds.shuffle(99).repeat()\n"


class CacheBeforeRepeat(Fix):
    """Put cache() before repeat(): behind it the cache never fills.

    What it does: A cache of `tf.data` keeps all that goes through it until its input ends. Behind `repeat()` that input
    goes on: each epoch is put into the cache anew, and none is read from it. Before `repeat()` it holds one epoch.

    When it is offered: Memory grew in a cell that goes through a `tf.data` pipeline with a `repeat()` before its
    `cache()`. It is an edit where only steps stand between them that do the same to each element.

    What it costs: Nothing; the later epochs become faster. A `map` that is random has to come after the cache, which
    would keep one result for all epochs. Where one epoch does not fit either, `cache(filename)` keeps it in a file.
    """

    id, causes = "cache-before-repeat", (Family.MEMORY,)
    title = "Put cache() before repeat(): behind it the cache never fills"

    FIRES = [
        Case(
            _TF + "ds = ds.repeat().cache().batch(32)",
            _FIT,
            becomes={"repeat().cache()": "cache().repeat()"},
            says=("each epoch", "`ds.repeat()`"),
        ),
        Case(
            _TF + "ds = ds.shuffle(99).repeat().map(load).cache().batch(32)",
            _FIT,
            becomes={"ds.shuffle(99).repeat().map(load).cache()": "ds.map(load).cache().shuffle(99).repeat()"},
        ),
        Case(
            _TF + "ds = ds.repeat(60)\nds = ds.cache()\nds = ds.batch(8)",
            _FIT,
            becomes={"ds = ds.repeat(60)\nds = ds.cache()": "ds = ds.cache()\nds = ds.repeat(60)"},
            says=("60",),
        ),
        Case(
            _MAKE.format(first=_IF[4:], last=""),
            "model = tf.keras.Sequential()\nmodel.fit(make(names, True), steps_per_epoch=20, epochs=60)",
            becomes={1: _MAKE.format(first="", last=_IF).replace("\n        ds = ds.map", "\n    ds = ds.map")},
        ),
        Case(  # what is repeated are batches, of other steps
            _TF + "ds = ds.repeat()\nds = ds.batch(8).map(load)\nds = ds.cache()",
            _FIT,
            says=("ds = ds.cache()  # before", "ds = ds.repeat()"),
        ),
        Case(  # another picture in each epoch
            _TF + "def turn(x):\n    return tf.image.random_flip_left_right(x)\nds = ds.repeat().map(turn).cache()",
            _FIT,
            says=("before a map with chance",),
        ),
        Case(_TF + "ds = ds.repeat().apply(pairs).cache()", _FIT, says=("ds = ds.cache()  # before",)),
        Case(_TF + "ds = (ds).repeat().cache()", "for one in enumerate(ds): step(one)", says=("ds = ds.cache()",)),
    ]
    SILENT = [
        Case(_TF + "ds = ds.map(load).cache().repeat().batch(32)", _FIT),
        Case(_TF + "ds = ds.map(load)\nds = ds.cache()\nds = ds.shuffle(99).repeat()", _FIT),
        Case(_TF + "ds = ds.repeat().take(900).cache()", _FIT),
        Case(_TF + "ds = ds.cache()", "ds = ds.repeat()", _FIT),
        Case(_TF + "ds = ds.repeat(1).cache()", _FIT),
        Case(_TF + "ds = ds.repeat().cache()", _FIT, before_mib=1900),
        Case(_TF + "ds = ds.repeat().cache()", "big = [0] * 10**10"),
        Case("import numpy as np\nds = np.ones(9).repeat(3)\nds.cache()", "work(ds)"),
    ]

    def propose(self, death: Death) -> Proposals:
        is_used = death.memory.grew_here and may_use_a_pipeline(death.code)
        for one in cached_repeats(death.code) if is_used else ():
            repeat, cache = (" ".join(one.scope.segment(call).split()) for call in (one.repeat, one.cache.call))
            often = (
                "each epoch is put into the cache anew, and nothing is read from it"
                if one.is_endless
                else "each round is put into the cache anew, and it has to hold all of them"
            )
            why = (
                f"{quote(cache)} comes behind {quote(repeat)}: {often}. Before `repeat()` it is full after one round, "
                "and the others read it."
            )
            snippet = None if one.edits else _SNIPPET
            yield Proposal(one.edits, why, death.memory.ramp_bytes or death.memory.missing_bytes, snippet=snippet)
