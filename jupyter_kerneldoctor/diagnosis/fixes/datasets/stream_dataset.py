import ast

from ...code.notebook import Notebook
from ...code.origins import all_origins
from ...edits import EditRefusedError, insert_before, replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.keras import is_dataset, is_used, known_as, training_calls, written_number
from ...frameworks.sliced_arrays import copied_bytes, from_generator, slicing_calls
from ...place import grew_in

_TF = "import tensorflow as tf, numpy as np\n"
_GENERATOR = "tf.data.Dataset.from_generator(lambda: X, output_signature=tf.TensorSpec(X.shape[1:], X.dtype))"
_LARGE = 0.25  # of what was missing
_ROWS = 32  # Keras's own batch size
_SAMPLE_WISE = frozenset({"validation_split", "sample_weight", "class_weight", "callbacks", "shuffle"})


class StreamDataset(Fix):
    """Give the training one batch after the other, not a copy of all.

    What it does: `list(dataset)` holds what a pipeline would give piece by piece, and `fit(X, y)` and
    `from_tensor_slices(X)` copy whole arrays into TensorFlow: two to three times their size. The edit goes through the
    pipeline itself, or hands Keras the rows of a batch when it asks for them.

    When it is offered: Memory ran out in a cell that makes a list of a `tf.data` pipeline, or that hands Keras arrays
    of which the copy is a good part of what was missing.

    What it costs: A generator takes its time for each row: some ten times as long as slices, where rows are small. A
    pipeline loads its data again in every epoch. Rows come in their order; whole batches are shuffled.
    """

    id, title, causes = "stream-dataset", "Go through the data batch by batch, without a copy of all", (Family.MEMORY,)

    FIRES = [
        Case(
            _TF + "data = tf.data.Dataset.range(3000).map(load).batch(32)",
            "batches = list(data)\nfor epoch in range(3):\n    for batch in batches: step(batch)",
            becomes={"list(data)": "data"},
        ),
        Case(
            _TF + "data = tf.data.Dataset.range(3000).map(load).batch(32)",
            "kept = [batch for batch in data]\nprint(kept[3])",
            says=("for batch in data:",),
        ),
        Case(
            _TF + "X = np.ones((200_000, 1000), dtype='float32')\ny = np.ones(200_000)\nm = tf.keras.Sequential()",
            "m.fit(X, y, batch_size=256, verbose=0)",
            becomes="class Rows(tf.keras.utils.Sequence):\n    def __len__(self):\n        return -(-len(X) // 256)\n\n"
            "    def __getitem__(self, i):\n        rows = slice(256 * i, 256 * (i + 1))\n"
            "        return X[rows], y[rows]\n\nm.fit(Rows(), verbose=0)",
            says=("copies",),
            before_mib=1000,
        ),
        Case(
            _TF + "X = np.ones((200_000, 1000), dtype='float32')\nlabels = np.ones(200_000)",
            "train = tf.data.Dataset.from_tensor_slices((X, labels)).batch(32)",
            becomes="train = tf.data.Dataset.from_generator(lambda: zip(X, labels), output_signature="
            "(tf.TensorSpec(X.shape[1:], X.dtype), tf.TensorSpec(labels.shape[1:], labels.dtype)))"
            ".apply(tf.data.experimental.assert_cardinality(len(X))).batch(32)",
            before_mib=1000,
        ),
        Case(
            _TF + "X = np.ones((200_000, 1000), dtype='float32')",
            "ds = tf.data.Dataset.from_tensor_slices([X, X])",
            says=("from_generator",),
            before_mib=1000,
        ),
    ]
    SILENT = [
        Case("data = open('f')", "lines = list(data)"),
        Case(_TF + "X = np.ones((20, 1000))\ny = np.ones(20)\nm = tf.keras.Sequential()", "m.fit(X, y, batch_size=20)"),
        Case(_TF + "data = tf.data.Dataset.range(9).map(load)", "big = [0] * 10**10"),
        Case(_TF + "X = np.ones((200_000, 1000))\nclf = Forest()", "clf.fit(X, X)", before_mib=1000),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here or not is_used(death.code):
            return
        for node, scope in death.code.running.nodes(ast.AST):
            listed = _listed(node, scope, death.code)
            if listed is not None and isinstance(node, ast.expr) and death.was_running(node, scope):
                yield _without_list(node, listed, scope, death)
                return
        for call in slicing_calls(death.code):
            if grew_in(death, call.statement, call.scope) is not False and (copy := _sliced(call, death)) is not None:
                yield copy
                return
        for call in training_calls(death.code):
            if death.was_running(call.node, call.scope) and (proposal := _by_rows(call, death)) is not None:
                yield proposal
                return


def _listed(node: ast.AST, scope: Scope, code: Notebook) -> ast.expr | None:
    """Return the pipeline of which all elements are put into a list."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[ast.expr() as whole], keywords=[]):
            return whole if is_dataset(whole, scope, code) else None
        case ast.ListComp(generators=[ast.comprehension(iter=ast.expr() as whole)]):
            return whole if is_dataset(whole, scope, code) else None
    return None


def _without_list(node: ast.expr, whole: ast.expr, scope: Scope, death: Death) -> Proposal:
    text, missing = scope.segment(whole), death.memory.missing_bytes
    why = f"{quote(scope.segment(node))} holds all that the pipeline gives; the cell took {size(missing or 0)}."
    is_iterated = isinstance(node, ast.Call) and _is_only_iterated(node, scope)
    edits = replace(scope, node, text) if is_iterated else ()
    snippet = None if edits else f"for batch in {text}:\n    ...  # what you do with a batch"
    return Proposal(edits, why, missing, snippet=snippet)


def _is_only_iterated(node: ast.Call, scope: Scope) -> bool:
    """Whether all that is done with the list is going through it."""
    match scope.tree.statements[node]:
        case ast.For(iter=whole) if whole is node:
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            uses = {*scope.named(name)}
            reads = {one for one in uses if isinstance(one.ctx, ast.Load)}
            loops = {one.iter for one in scope.nodes if isinstance(one, ast.For)}
            return bool(reads) and reads <= loops and len(uses - reads) == 1
    return False


def _sliced(call: Call, death: Death) -> Proposal | None:
    """Let a pipeline take rows out of the arrays, in place of copying these into TensorFlow."""
    missing, copied = death.memory.missing_bytes or 0, copied_bytes(call, death.values)
    if not copied and _is_of_arrays(call, death) and grew_in(death, call.statement, call.scope):
        why = (
            f"{quote(call.text)} copies the arrays into TensorFlow, at times twice. A generator copies no more than a "
        )
        why += "row at a time, and reads an array that stays in its file: `np.load(path, mmap_mode='r')`."
        title = "Take rows out of the arrays, without a copy: a generator"
        return Proposal((), why, missing * 9 // 10, title, f"{_GENERATOR}  # of arrays")
    if copied < _LARGE * missing:
        return None
    why = (
        f"{quote(call.text)} copies {size(copied)} of arrays into TensorFlow, at times twice and more. A generator "
        "copies no more than a row at a time. It is slow: half a millisecond for each row was measured."
    )
    new, is_sure = from_generator(call, death.values) or (_GENERATOR, False)
    edits = replace(call.scope, call.node, new) if is_sure else ()
    snippet = None if edits else f"{new}  # of arrays"
    return Proposal(
        edits, why, min(2 * copied, missing), "Take rows out of the arrays, without a copy: a generator", snippet
    )


def _is_of_arrays(call: Call, death: Death) -> bool:
    """Whether what is sliced surely are arrays, though of unknown size: no names of files."""
    given = call.node.args[0] if call.node.args else None
    parts = given.elts if isinstance(given, ast.Tuple) else [] if given is None else [given]
    return any(
        isinstance(one, ast.Call) and (death.code.qualified(one.func, where) or "").startswith("numpy.")
        for part in parts
        for one, where in all_origins(part, call.scope, death.code)
    )


def _by_rows(call: Call, death: Death) -> Proposal | None:
    """Hand Keras the rows of a batch when it asks for them."""
    given, missing = call.node.args[:2], death.memory.missing_bytes or 0
    values = [death.values.of(one, call.scope) for one in given]
    if call.name != "fit" or len(given) != 2 or not all(isinstance(one, ast.Name) for one in given):
        return None
    copied = sum(one.bytes or 0 for one in values if one is not None and one.shape)
    words, keras = {word.arg for word in call.node.keywords}, known_as(death.code)
    if keras is None or copied < _LARGE * missing or not call.is_written_out:
        return None
    size_given = call.argument("batch_size")
    found = written_number(size_given, call.scope, death.code)
    rows = _ROWS if size_given is None else None if found is None else found[0]
    why = f"{quote(call.text)} copies {size(copied)} of arrays into TensorFlow, and the cell began with them in memory."
    if rows is None or words & _SAMPLE_WISE or len(call.node.args) > 2:
        return Proposal(
            (), why, min(copied, missing), snippet=_rows(given, call, _ROWS, keras) + "\n\nmodel.fit(Rows())"
        )
    others = [word for word in call.node.keywords if word.arg != "batch_size"]
    kept = ", ".join(["Rows()", *(f"{word.arg}={call.scope.segment(word.value)}" for word in others)])
    try:
        edits = insert_before(call.scope, call.statement, *_rows(given, call, rows, keras).split("\n"), "")
    except EditRefusedError:
        return Proposal((), why, min(copied, missing), snippet=_rows(given, call, rows, keras))
    whole = replace(call.scope, call.node, f"{call.scope.segment(call.node.func)}({kept})")
    return Proposal(edits + whole, why, min(copied, missing))


def _rows(given: list[ast.expr], call: Call, rows: int, keras: str) -> str:
    x, y = (call.scope.segment(one) for one in given)
    return (
        f"class Rows({keras}.utils.Sequence):\n    def __len__(self):\n"
        f"        return -(-len({x}) // {rows})\n\n    def __getitem__(self, i):\n"
        f"        rows = slice({rows} * i, {rows} * (i + 1))\n        return {x}[rows], {y}[rows]"
    )
