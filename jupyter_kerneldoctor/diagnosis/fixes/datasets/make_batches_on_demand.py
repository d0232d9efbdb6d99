from jupyter_kerneldoctor.recording.events import Stack

from ...examples.stuck import own_frame, thread
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.keras import known_as
from ...frameworks.made_in_advance import in_batches, made_in_advance
from ...place import guilty_place

_FRAMEWORKS = ("torch", "tensorflow", "keras")
_FEW = 64  # rows
_SMALLER = "\n\n# or keep them small: float16 takes a quarter of float64, and so does a grid half as fine"
_MAPS = (
    "import numpy as np\nimport {}\ndef maps_of(points, size):\n    maps = np.zeros((len(points), size, size, 4))\n"
    "    for n, each in enumerate(points):\n        for k, (x, y) in enumerate(each):\n"
    "            maps[n, :, :, k] = np.exp(-(grid - x) ** 2 - (grid.T - y) ** 2)\n    return maps"
)
_UNROLLED = (
    "import numpy as np\nimport keras\ndef unroll(photos, texts):\n    a, b, y = [], [], []\n"
    "    for key, many in texts.items():\n        for text in many:\n            for i in range(1, len(text)):\n"
    "                a.append(photos[key])\n                b.append(text[:i])\n                y.append(text[i])\n"
    "    return np.array(a), np.array(b), np.array(y)"
)
_IN_A_CELL = (
    "views = np.zeros((len(x), 4, 96, 96))\nfor i in range(len(x)):\n    for j in range(4):\n"
    "        views[i, j] = np.roll(x[i], j)\nprint(views.shape)"
)
_CROPS = (
    "import numpy as np\nimport torch\ndef crops(pictures, boxes):\n    out, kinds = [], []\n"
    "    for pic, box in zip(pictures, boxes):\n        for left, top in box:\n"
    "            kinds.append(left)\n            out.append(pic[top : top + 64, left : left + 64].copy())\n"
    "    return np.stack(out), np.array(kinds)"
)


def _ran(text: str, line: int, function: str, call: str) -> Stack:
    return Stack(-0.1, "busy", (thread(own_frame(text, line, function), own_frame(call, 1)),))


class MakeBatchesOnDemand(Fix):
    """Make what the training needs of a batch's rows, when the batch is asked for.

    What it does: A loop before the training makes targets, crops or beginnings of all rows, many times the size of the
    rows. The same function, given the rows of one batch, needs the room of one batch.

    When it is offered: Memory ran out in a loop, nested or not, that fills an array or lists with what it makes of
    rows, or where arrays were made of these lists, in a notebook that uses PyTorch or Keras. Not where a row is made
    of its neighbours, or a network makes it.

    What it costs: The batches are made again in each epoch; workers do that beside the training.
    """

    id, title = "make-batches-on-demand", "Make a batch's part of it when the batch is asked for: __getitem__"
    causes, broad = (Family.MEMORY,), True
    unless_offered = frozenset(
        {
            *("load-items-on-demand", "make-items-on-demand", "windows-as-view", "stream-dataset", "keep-positions"),
            *("pad-each-batch", "integers-not-one-hot", "keep-labels-as-numbers", "keep-images-as-bytes"),
        }
    )

    FIRES = [
        Case(
            _MAPS.format("keras"),
            "Y = maps_of(corners, size=96)",
            says=("x[rows], maps_of(corners[rows], size=96)", "keras.utils.PyDataset", "len(corners)", "float16"),
            stacks=[_ran(_MAPS.format("keras"), 7, "maps_of", "Y = maps_of(corners, size=96)")],
        ),
        Case(
            _UNROLLED,
            "a, b, y = unroll(features, captions)",
            says=("keys = list(captions)", "unroll(features, {key: captions[key] for key in keys[rows]})", "*inputs"),
            stacks=[_ran(_UNROLLED, 10, "unroll", "a, b, y = unroll(features, captions)")],
        ),
        Case(
            _CROPS,
            "x, y = crops(pages, found)",
            says=("crops(pages[rows], found[rows])", "batch_size=None"),
            stacks=[_ran(_CROPS, 8, "crops", "x, y = crops(pages, found)")],
        ),
        Case(
            "import numpy as np\nimport keras",
            _IN_A_CELL,
            line=4,
            says=("def made_of(x):", "            views[i, j] = np.roll(x[i], j)", "made_of(x[rows])"),
        ),
        Case(
            "import numpy as np\nimport keras",
            "out = []\nfor i, row in enumerate(rows):\n    if i % 99 == 0: print(i)\n    out.append(made(row))\n"
            "X = np.array(out)",
            line=5,
            says=("made_of(rows[part])",),
        ),
    ]
    SILENT = [
        *(
            Case(
                text,
                "Y = maps_of(corners, size=96)",
                stacks=[_ran(text, 7, "maps_of", "Y = maps_of(corners, size=96)")],
            )
            for text in (
                _MAPS.format("scipy"),
                _MAPS.format("keras").replace("enumerate(each)", "enumerate(net.predict(each))"),  # a network makes it
                _MAPS.format("keras").replace("return maps", "return maps.mean(0)"),  # not the rows are wanted
                _MAPS.format("keras").replace("(each)", "(points[n - 1 : n])"),  # it is made of the rows beside it
            )
        ),
        Case(_MAPS.format("keras"), "for part in parts:\n    net.fit(part, maps_of(part, 96))", line=2),
        Case("import numpy as np\nimport keras", _IN_A_CELL.replace("np.roll(x[i], j)", "views[i - 1, j]"), line=4),
        Case("import numpy as np\nimport keras", _IN_A_CELL, line=5),
        *(
            Case("import numpy as np\nimport keras", f"out = []\nfor i, row in {head}\nX = np.array(out)", line=line)
            for head, line in (
                ("enumerate(table):\n    out.append(made(row) + i)", 4),  # the number begins anew in each batch
                ("table:\n    if row.fits:\n        out.append(made(row))", 5),  # the labels have more rows
            )
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        code, at = death.code, guilty_place(death)
        package = next((one for one in _FRAMEWORKS if code.imports(one)), None)
        if package is None or at is None or not death.memory.grew_here:
            return
        found = made_in_advance(at.node, at.scope, code)
        snippet = None if found is None else in_batches(found, package, code)
        if found is None or snippet is None:
            return
        if package != "torch" and known_as(code) is None:
            snippet = f"import keras\n\n{snippet}"
        rows, missing = found.rows[0], death.memory.missing_bytes or 0
        count = death.values.rows(next(iter(found.scope.named(rows)), None), found.scope)
        if count is not None and count < _FEW:
            return
        made = " and ".join(map(quote, found.containers[:2]))
        who = "The loop" if found.scope.is_cell else quote(f"{found.scope.function}()")
        why = (
            f"{who} makes {made} of all of {quote(rows)} before anything is trained: {size(missing)} so far. Made of "
            "the rows of a batch when that is asked for, it needs the room of some batches."
        )
        yield Proposal((), why, missing * 7 // 10, snippet=snippet + (_SMALLER if found.fills_arrays else ""))
