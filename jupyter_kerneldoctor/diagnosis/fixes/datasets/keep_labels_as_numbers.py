import ast
from collections.abc import Iterator

from ...calls import calls_at
from ...code.trees import walk
from ...edits import set_argument
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.class_numbers import ENCODERS, to_class_numbers

_MAKERS = ("numpy.eye", "numpy.identity")
_ENCODERS = (
    *ENCODERS,
    *("torch.nn.functional.one_hot", "tensorflow.one_hot", "jax.nn.one_hot"),
)
_SUMS = ("sum", "mean", "any", "all", "max", "argmax", "shape")
_SNIPPET = (
    "# Keras: loss='sparse_categorical_crossentropy'; PyTorch: nn.CrossEntropyLoss() takes class numbers\n"
    "# JAX: optax.softmax_cross_entropy_with_integer_labels(logits, labels)\n"
    "from scipy.sparse import csr_matrix\nimport numpy as np\n\n"
    "rows = np.arange(len({labels}))  # or only the ones, as a sparse matrix\n"
    "Y = csr_matrix((np.ones(len(rows), dtype='float32'), (rows, {labels})))"
)


class KeepLabelsAsNumbers(Fix):
    """Keep class labels as numbers, not as rows of zeros with one 1.

    What it does: `np.eye(20_000)[labels]` writes down 20,000 numbers for each label. Losses for class numbers take the
    labels as they are, and a sparse matrix holds one number for each row.

    When it is offered: Memory ran out on a line that makes such a table. Where Keras learns from it, the edit leaves
    `to_categorical` out and takes the loss `sparse_categorical_crossentropy`, which learns the same.

    Where the table is only multiplied, added up and summed, as for a Dice score, the edit keeps it, with
    one byte for each number in place of eight.

    What it costs: Code that needs the table as a dense array takes a part of it at a time.
    """

    id, title, causes = "keep-labels-as-numbers", "Keep the labels as numbers, not one-hot", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\nlabels = np.random.randint(0, 20000, 100000)",
            "Y = np.eye(20000)[labels]",
            says=("14.9 GiB", "sparse_categorical_crossentropy", "len(labels)"),
        ),
        Case("from keras.utils import to_categorical", "y = to_categorical(t)", says=("len(t)",)),
        Case(
            "from keras.utils import to_categorical",
            "y = to_categorical(ids[:, 1:], n)",
            says=("ids[:, 1:]", "sparse_categorical_crossentropy"),
        ),
        Case(
            "from keras.utils import to_categorical\ndef build():\n    net = make()\n"
            "    net.compile('adam', loss='categorical_crossentropy', metrics=['accuracy'])\n    return net",
            "y = to_categorical(t[:, 1:], n)  # targets",
            becomes={"'categorical_": "'sparse_categorical_", "to_categorical(t[:, 1:], n)": "t[:, 1:]"},
        ),
        Case(  # the width of the table is asked for
            "from keras.utils import to_categorical\nnet.compile('adam', loss='categorical_crossentropy')",
            "y = to_categorical(t)\nnet.add(Dense(y.shape[1]))",
            line=1,
            says=("sparse_categorical_crossentropy",),
        ),
        Case("import jax", "y = jax.nn.one_hot(t, 9000)", says=("integer_labels", "len(t)")),
        Case(  # a score of masks
            "import numpy as np\ndef dice(y, p):\n    t = np.eye(9)[y]\n    q = np.eye(9)[p]\n"
            "    return 2 * (t * q).sum() / (t.sum() + q.sum())",
            "dice(masks, predicted)",
            becomes={"(9)[y]\n    q = np.eye(9)": "(9, dtype=np.int8)[y]\n    q = np.eye(9, dtype=np.int8)"},
            says=("1 byte",),
        ),
        Case(  # which bytes cannot hold: 0 + 0 - 1
            "import numpy as np\ndef score(y, p):\n    one = np.eye(9)[y]\n"
            "    two = np.eye(9)[p]\n    return (one + two - 1).sum()",
            "score(masks, predicted)",
            says=("csr_matrix",),
        ),
    ]
    SILENT = [
        Case("import numpy as np\nlabels = np.random.randint(0, 10, 100)", "Y = np.eye(10)[labels]\nload()"),
        Case("import numpy as np", "A = np.eye(20000)"),
        Case("from keras.utils import to_categorical", "to_categorical(t)\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        summed = list(_summed(death))
        for call, name in (one for one in summed if one[0].argument("dtype", 3) is None):
            numpy = call.scope.segment(call.node.func).rpartition(".")[0]
            why = (
                f"{quote(call.text)} makes ones and zeros of 8 bytes each (float64), and {quote(name)} is only "
                "multiplied and summed. As int8 each takes 1 byte; the sums stay the same."
            )
            edits = set_argument(call, "dtype", f"{numpy}.int8" if numpy else '"int8"')
            yield Proposal(edits, why, (death.memory.missing_bytes or 0) * 7 // 8, "Make the table of ones of bytes")
        for text, labels, saved in () if summed else _tables(death):
            missing = death.memory.missing_bytes or 0
            if saved is None or saved >= missing // 4:
                more = "" if saved is None else f": {size(saved)}"
                why = f"{quote(text)} writes a zero or a one for each label and each class{more}."
                edits = to_class_numbers(death.code) if saved is None else ()
                why += f" The loss {quote('sparse_categorical_crossentropy')} takes the numbers." if edits else ""
                yield Proposal(edits, why, saved or missing, snippet=None if edits else _SNIPPET.format(labels=labels))


def _summed(death: Death) -> Iterator[tuple[Call, str]]:
    """Yield the calls whose rows are taken for masks, where the table has a name that is only multiplied and summed."""
    for call in death.code.running.calls(*_MAKERS) if death.is_of_this_cell else ():
        match call.statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=made)) if made is call.node:
                near = death.was_running(call.statement, call.scope) or _is_beside(call, death)
                if near and not call.scope.is_cell and _is_only_summed(name, call.scope):
                    yield call, name


def _is_beside(call: Call, death: Death) -> bool:
    """Whether another such table, or what is worked out of them, was made when memory ran out: in the same function."""
    nodes = (one for one in call.scope.nodes if isinstance(one, ast.BinOp | ast.Subscript))
    return any(death.was_running(one, call.scope) for one in nodes)


def _is_only_summed(name: str, scope: Scope) -> bool:
    """Whether all that happens to a table is that it is multiplied or added to others, or summed up."""
    parents = {child: one for one in scope.nodes for child in ast.iter_child_nodes(one)}
    for use in scope.names:
        if not isinstance(use, ast.Name) or use.id != name or isinstance(use.ctx, ast.Store):
            continue
        part: ast.AST = use
        while isinstance(parent := parents.get(part), ast.BinOp) and _stays_small(parent):
            part = parent
        match parent:
            case ast.Attribute(attr=method) if method in _SUMS:
                pass
            case ast.Call(func=ast.Attribute(attr=method), args=[first, *_]) if method in _SUMS and first is part:
                pass
            case ast.Compare():
                pass
            case _:
                return False
    return True


def _stays_small(node: ast.BinOp) -> bool:
    """Whether what arithmetic makes of ones and zeros fits into a byte: no number is written in it."""
    is_plain = isinstance(node.op, ast.Mult | ast.Add | ast.BitAnd | ast.BitOr)
    return is_plain and not any(isinstance(one, ast.Constant | ast.UnaryOp) for one in (node.left, node.right))


def _tables(death: Death) -> Iterator[tuple[str, str, int | None]]:
    """Yield what makes a one-hot table, its labels, and its size where that is known."""
    makers = {call.node: call for call in calls_at(death, *_MAKERS)}
    for scope in {call.scope: None for call in makers.values()}:
        for node in scope.nodes:
            match node:
                case ast.Subscript(value=ast.Call() as made, slice=ast.Name() | ast.Attribute() as index) if (
                    made in makers
                ):
                    call = makers[made]
                    value, width = (
                        death.values.of(index, call.scope),
                        death.values.number(call.argument("N", "n", 0), call.scope),
                    )
                    known = value.shape[0] * width * 8 if value is not None and value.shape and width else None
                    yield call.scope.segment(node), call.scope.segment(index), known
    for call in calls_at(death, *_ENCODERS):
        given = call.argument("x", "tensor", 0)
        if given is not None and not any(isinstance(one, ast.Call) for one in walk(given)):
            yield call.text, call.scope.operand(given), None
