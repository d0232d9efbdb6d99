import ast
from collections.abc import Iterator

from ...calls import calls_at
from ...fix import Case, Death, Family, Fix, Proposal
from ...units import quote, size

_MAKERS = ("numpy.eye", "numpy.identity")
_ENCODERS = ("keras.utils.to_categorical", "tensorflow.keras.utils.to_categorical", "torch.nn.functional.one_hot")
_SNIPPET = (
    "# Keras: loss='sparse_categorical_crossentropy'; PyTorch: nn.CrossEntropyLoss() takes class numbers\n"
    "from scipy.sparse import csr_matrix\nimport numpy as np\n\n"
    "rows = np.arange(len({labels}))  # or only the ones, as a sparse matrix\n"
    "Y = csr_matrix((np.ones(len(rows), dtype='float32'), (rows, {labels})))"
)


class KeepLabelsAsNumbers(Fix):
    """Keep class labels as numbers, not as rows of zeros with one 1.

    What it does: `np.eye(20_000)[labels]` writes down 20,000 numbers for each label. Losses for class numbers take the
    labels as they are, and a sparse matrix holds one number for each row.

    When it is offered: Memory ran out on a line that makes such a table.

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
    ]
    SILENT = [
        Case("import numpy as np\nlabels = np.random.randint(0, 10, 100)", "Y = np.eye(10)[labels]\nload()"),
        Case("import numpy as np", "A = np.eye(20000)"),
        Case("from keras.utils import to_categorical", "to_categorical(t)\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Say how large the table is, where that is known."""
        for call, labels, saved in _tables(death):
            missing = death.memory.missing_bytes or 0
            if saved is None or saved >= missing // 4:
                more = "" if saved is None else f": {size(saved)}"
                why = f"{quote(call)} writes a zero or a one for each label and each class{more}."
                yield Proposal((), why, saved or missing, snippet=_SNIPPET.format(labels=labels))


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
        if isinstance(given := call.argument("x", "tensor", 0), ast.Name | ast.Attribute):
            yield call.text, call.scope.segment(given), None
