import ast
from collections.abc import Iterator

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.trees import walk
from ...edits import replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.batch_queues import batch_queues
from ...frameworks.keras import Step, is_fed_by_a_pipeline, is_of_batches, pipeline_steps, written_number
from ...frameworks.keras import training_calls as keras_training
from ...workers import workers_bytes

_FEW = 2  # batches that are ready, or files that are read from, at a time
_ROWS = 64
_MANY = 8
_WHOLE = ("from_tensor_slices", "from_tensors", "from_generator", "numpy_function", "py_function")
_DATA = "import tensorflow as tf\nds = tf.data.Dataset.range(9000).map(load)\nmodel = tf.keras.Sequential()"
_FILES = (
    "import tensorflow as tf\nmodel = tf.keras.Sequential()\ndef opened(path):\n"
    "    x = tf.numpy_function(read, [path], tf.float32)\n    return tf.data.Dataset.from_tensor_slices(x)"
)
_SEQUENCE = "import keras\nmodel = keras.Sequential()\nclass Photos(keras.utils.PyDataset):\n    pass\n"
_LOADER = "import torch\nnet = torch.nn.Linear(9, 9)\nloader = torch.utils.data.DataLoader(ds, batch_size=64, {})"
_INTERLEAVED = "ds = tf.data.Dataset.from_tensor_slices(files).interleave({})\nmodel.fit(ds.batch(8))"


def _fit(ready: int | str) -> str:
    return f"model.fit(ds.batch(32).prefetch({ready}))"


class FewerReadyBatches(Fix):
    """Keep fewer batches ready, and fewer files open.

    What it does: `prefetch(500)` behind a `batch` keeps 500 batches ready: where the data come faster than the network
    takes them, all 500 are in memory. Two hide the time of the loading as well. So do `max_queue_size` of a `PyDataset`
    and `prefetch_factor` of a `DataLoader`, which is for each worker. `interleave` with a `cycle_length` of all files
    has an element of each file open: a file that is read whole into an array is in memory whole.

    When it is offered: Memory ran out in a cell that trains on, or goes through, a `tf.data` pipeline which prefetches
    more than 8 batches or 256 rows, or interleaves more than 8 files that its function reads whole; or in a cell that
    trains while `max_queue_size` or `prefetch_factor` lets more than 8 batches wait, or 8 of each worker.

    What it costs: Nothing for batches that wait. Rows of fewer files are mixed with each other: shuffle the names of
    the files before, and the rows after `interleave` with a small buffer.
    """

    id, title, causes = "fewer-ready-batches", "Keep fewer batches ready: prefetch(2)", (Family.MEMORY,)

    FIRES = [
        Case(_DATA, _fit(500), becomes=_fit(2), says=("500 batches",)),
        Case(
            _DATA + "\nBUFFER = 2000\ntrain = ds.prefetch(buffer_size=BUFFER).batch(8)",
            "model.fit(train)",
            becomes={1: _DATA + "\nBUFFER = 2000\ntrain = ds.prefetch(buffer_size=64).batch(8)"},
            says=("2000 rows",),
        ),
        Case(
            _FILES,
            _INTERLEAVED.format("opened, cycle_length=len(files)"),
            becomes=_INTERLEAVED.format("opened, cycle_length=2"),
            says=("all files",),
        ),
        Case(
            _SEQUENCE + "ds = Photos(workers=4, max_queue_size=300)",
            "model.fit(ds)",
            becomes={"max_queue_size=300": "max_queue_size=4"},
            says=("300 batches",),
        ),
        Case(
            _SEQUENCE + "QUEUE = 50\nloading = {'max_queue_size': QUEUE}\nds = Photos(**loading)",
            "model.fit(ds)",
            becomes={"'max_queue_size': QUEUE": "'max_queue_size': 2"},
        ),
        Case(
            _SEQUENCE.replace("pass", "def __init__(self, n=99):\n        super().__init__(max_queue_size=n)"),
            "model.fit(Photos())",
            becomes={"n=99": "n=2"},
        ),
        Case(
            _SEQUENCE + "ds = Photos()",
            "model.fit(ds, workers=2, max_queue_size=64)",
            becomes="model.fit(ds, workers=2, max_queue_size=2)",
        ),
        Case(
            _SEQUENCE + "BATCH = 64\nds = Photos(BATCH, **dict(workers=4, max_queue_size=40))",
            "model.fit(ds)",
            becomes={"max_queue_size=40": "max_queue_size=4"},
        ),
        Case(
            _LOADER.format("num_workers=4, prefetch_factor=64"),
            "for x in loader:\n    net(x).mean().backward()",
            becomes={"prefetch_factor=64": "prefetch_factor=2"},
            says=("256 batches",),
        ),
    ]
    SILENT = [
        Case(_SEQUENCE + "ds = Photos(workers=4, max_queue_size=8)", "model.fit(ds)"),
        Case(_SEQUENCE + "ds = Photos(workers=4, max_queue_size=300)", "big = [0] * 10**10"),
        Case(_SEQUENCE + "ds = Photos(max_queue_size=300)", "model.fit(ds)", before_mib=1900),
        Case(_LOADER.format("num_workers=4, prefetch_factor=4"), "for x in loader:\n    net(x).mean().backward()"),
        Case(_LOADER.format("num_workers=4, prefetch_factor=64"), "big = [0] * 10**10"),
        Case(_DATA, _fit("tf.data.AUTOTUNE")),
        Case(_DATA, _fit(4)),
        Case(_DATA, "train = ds.batch(32).prefetch(500)\nbig = [0] * 10**10"),
        Case(_FILES, _INTERLEAVED.format("tf.data.TextLineDataset, cycle_length=64")),  # it reads line by line
        Case(_DATA, _fit(500), before_mib=1900),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes
        yield from _of_queues(death)
        if not death.memory.grew_here or not is_fed_by_a_pipeline(death.code):
            return
        for step in pipeline_steps(death.code, "prefetch"):
            many, given = _number(step, death, "buffer_size", 0)
            batches = is_of_batches(step, death.code)
            few = _FEW if batches else _ROWS
            if given is not None and many is not None and many > _MANY * (1 if batches else _ROWS // 2):
                unit = "batches" if batches else "rows"
                why = (
                    f"{quote(_last_call(step))} keeps up to {many} {unit} ready, which fill memory where the network "
                    f"is slower than the loading; the cell took {size(missing or 0)}. {few} hide the loading as well."
                )
                edit = replace(step.scope, given, str(few))
                yield Proposal(edit, why, missing, f"Keep fewer {unit} ready: prefetch({few})")
                return
        for step in pipeline_steps(death.code, "interleave"):
            many, given = _number(step, death, "cycle_length", 1)
            if given is None or (many or _MANY + 1) <= _MANY or not _reads_whole(step, death):
                continue
            why = (
                f"{quote(_last_call(step))} reads from {many or 'all'} files at a time, and each is in memory whole; "
                f"the cell took {size(missing or 0)}. Mix their names before, and the rows behind it: `shuffle(1000)`."
            )
            title = f"Read from {_FEW} files at a time: cycle_length={_FEW}"
            yield Proposal(replace(step.scope, given, str(_FEW)), why, missing, title)
            return


def _of_queues(death: Death) -> Iterator[Proposal]:
    """Propose a shorter queue behind the workers that make batches."""
    missing, code = death.memory.missing_bytes, death.code
    if not death.memory.grew_here and not workers_bytes(death):
        return
    for queue in batch_queues(code):
        trains = any(keras_training(code)) if queue.word == "max_queue_size" else any(_goes_through_loader(death))
        if queue.number <= _MANY or not trains:
            continue
        few = _FEW if queue.word != "max_queue_size" else max(_FEW, min(queue.workers or 0, _MANY))
        why = (
            f"`{queue.word}` lets up to {queue.batches} batches wait, which fill memory where the network is slower "
            f"than the loading; the cell took {size(missing or 0)}. {few} hide the loading as well."
        )
        title = f"Keep fewer batches ready: {queue.word}={few}"
        yield Proposal(replace(queue.scope, queue.node, str(few)), why, missing, title)
        return


def _goes_through_loader(death: Death) -> Iterator[ast.For]:
    """Yield the loops in what runs that go through a loader of PyTorch, by its name or a wrapper around it."""
    for scope in death.code.running:
        for node in scope.nodes:
            if isinstance(node, ast.For):
                made = (one for one, _ in all_origins(node.iter, scope, death.code, parts=True))
                if any(isinstance(one, ast.Call) and last_name(one.func) == "DataLoader" for one in made):
                    yield node


def _number(step: Step, death: Death, name: str, place: int) -> tuple[int | None, ast.expr | None]:
    """Return what a step's argument stands for, None where that is not known, and the argument."""
    given = next((word.value for word in step.call.keywords if word.arg == name), None)
    given = given or next(iter(step.call.args[place : place + 1]), None)
    found = written_number(given, step.scope, death.code)
    return (found[0] if found is not None else death.values.number(given, step.scope)), given


def _last_call(step: Step) -> str:
    """Return the text of a step without what it is called on: `.prefetch(500)`."""
    segment = step.scope.segment
    return segment(step.call)[len(segment(step.owner)) :].strip()


def _reads_whole(step: Step, death: Death) -> bool:
    """Whether the function that opens a file reads all of it, as far as its own text tells."""
    given = next(
        (word.value for word in step.call.keywords if word.arg == "map_func"), next(iter(step.call.args), None)
    )
    for one, scope in all_origins(given, step.scope, death.code) if given is not None else ():
        made = death.code.definition(one, scope) if isinstance(one, ast.Name) else None
        body = one if isinstance(one, ast.Lambda) else None if made is None else made.definition
        called = (last_name(node) for node in walk(body)) if body else ()
        if any(name in _WHOLE for name in called):
            return True
    return False
