import ast
import re
from collections.abc import Iterator

from ...code.arrays import Value
from ...code.origins import all_origins
from ...edits import Changes, replace, set_argument
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.numpy import single_precision

_SMALL = re.compile(r"\b(?:u?int(?:8|16|32)|bool_?|float(?:16|32))\b")
_RESERVE = ("numpy.zeros", "numpy.empty")


class UntouchedPreallocation(Fix):
    """Keep an array that is larger than memory in a file, or take float32.

    What it does: `np.zeros` succeeds for an array of any size: Linux gives the memory page by page, when something is
    written there. The cell that fills the array dies. The edit makes it float32 where that is enough; else it keeps it
    in a file, from where Linux reads and writes the parts in use.

    When it is offered: Memory ran out on a line that writes into such an array, its size is known, and it does not fit
    below the limit; a file not where Keras is in use, which copies the whole array to train on it. Or the array is only
    filled, and then turned into numbers of fewer bytes: it can have them from the beginning.

    What it costs: float32 has seven digits. An array in a file is slower, and the file stays on the disk.
    """

    id, title, causes = "untouched-preallocation", "Make room for the array: float32, or a file", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\nbuf = np.zeros((60_000, 10_000))",
            "for i in range(len(buf)):\n    buf[i] = i",
            becomes={
                1: "import numpy as np\nbuf = np.lib.format.open_memmap"
                "('buf.npy', mode='w+', dtype='float64', shape=(60_000, 10_000))"
            },
            says=("4.5 GiB", "cell [1]", "Keep the array in a file"),
        ),
        Case(
            "import numpy as np\ndef allocate(n):\n    return np.empty((n, 480, 640))\nvideo = allocate(900)",
            "for k in range(900):\n    video[k] = frame(k)",
            becomes={"(n, 480, 640)": "(n, 480, 640), dtype=np.float32"},
            says=("float32",),
        ),
        Case(
            "from numpy import zeros",
            "scores = zeros((30_000, 8_000))\nscores += 1",
            line=2,
            becomes='scores = zeros((30_000, 8_000), dtype="float32")\nscores += 1',
        ),
        Case(  # half of it would fit, if it were the only one
            "import numpy as np\nX = np.zeros((9_000, 40_000))\ny = np.zeros((5_000, 20_000))",
            "for i in range(5_000):\n    X[i] = i\n    y[i] = i",
            says=("open_memmap",),
            becomes={
                1: "import numpy as np\nX = np.lib.format.open_memmap"
                "('X.npy', mode='w+', dtype='float64', shape=(9_000, 40_000))\ny = np.zeros((5_000, 20_000))"
            },
        ),
        Case(  # half of it fits once, but TensorFlow makes a tensor of it
            "import numpy as np\nimport tensorflow as tf\nX = np.zeros((9_000, 40_000))",
            "for i in range(9_000):\n    X[i] = i",
            says=("np.zeros((9_000, 40_000), dtype=np.float32)",),
        ),
        Case(  # of a size that is not known
            "import numpy as np\ndef join(n):\n    a = np.zeros((n, 9, 3))\n    for i in range(n):\n"
            "        a[i] = load(i)\n    return a.astype(np.uint8)",
            "join(count())",
            becomes={"(n, 9, 3)": "(n, 9, 3), dtype=np.uint8"},
        ),
    ]
    SILENT = [
        Case(  # TensorFlow copies it whole when it is trained on
            "import numpy as np\nfrom tensorflow import keras\nframes = np.zeros((60_000, 10_000))",
            "for i in range(len(frames)):\n    frames[i] = i",
        ),
        Case(
            "import keras\nimport numpy as np\nx, y = np.zeros((60_000, 10_000)), np.zeros(9)",
            "for i, row in enumerate(rows):\n    x[i] = row",
        ),
        Case("import numpy as np\ndef f(n):\n    a = np.zeros(n)\n    a[0] += 1\n    return a.astype('uint8')", "f(9)"),
        Case("import numpy as np\nbuf = np.zeros((100, 100))", "buf[0] = 1\nbig = load()"),
        Case("import numpy as np\nbuf = np.zeros((60_000, 10_000))", "print(buf.shape)\nbig = [0] * 10**10"),
        Case("import numpy as np\nbuf = np.zeros(n)", "buf[0] = 1"),
        Case("import torch\nbuf = torch.zeros(10**9)", "buf[0] = 1"),
    ]

    def propose(self, death: Death) -> Proposals:
        headroom, missing = death.safe_headroom_bytes, death.memory.missing_bytes or 0
        filled = list(_filled(death))
        is_copied = any(map(death.code.imports, ("keras", "tensorflow")))  # by `fit`, as a tensor of all rows
        all_bytes = sum(value.bytes or 0 for _, _, value in filled if value is not None)
        for call, name, value in filled:
            if (kind := _kept_as(call)) is not None:
                why = (
                    f"{quote(call.text)} makes numbers of eight bytes, and all of them become {quote(kind)} in the end."
                )
                title = f"Make the array of the type that it gets in the end: {kind}"
                width = 8 if (bits := re.search(r"\d+", kind)) is None else int(bits[0])
                edits = set_argument(call, "dtype", kind, 1)
                yield Proposal(edits, why, missing - missing * width // 64, title)
                continue
            if value is None or value.bytes is None or headroom is None or value.bytes < max(headroom, missing // 2):
                continue
            halved = value.dtype == "float64" and all_bytes - value.bytes // 2 <= headroom
            edits = (
                set_argument(call, "dtype", single_precision(call, death.code), 1) if halved else _in_file(call, name)
            )
            at = death.code.cell_name(call.cell)
            if edits and (halved or not is_copied):
                yield Proposal(
                    edits,
                    f"{quote(call.text)} in {at} reserves {size(value.bytes)}, but takes them only when something is "
                    f"written there. {size(headroom)} was left when this cell began.",
                    value.bytes,
                    leaves=all_bytes - value.bytes // 2 if halved else None,
                    title="Take float32 for the array that is filled"
                    if halved
                    else "Keep the array in a file: open_memmap",
                )


def _filled(death: Death) -> Iterator[tuple[Call, str, Value | None]]:
    """Yield the calls that reserved the arrays which a running line writes into, and the arrays' names."""
    found: dict[ast.Call, tuple[Call, str, Value | None]] = {}
    for node, scope in death.code.running.nodes(ast.AST) if death.is_of_this_cell else ():
        match node:
            case ast.Subscript(value=array, ctx=ast.Store()) | ast.AugAssign(target=array):
                statement = scope.tree.statements[node]
                loops = scope.loops_around(statement)
                if not death.was_running((statement, *loops)[-1], scope):
                    continue
                for one, where in all_origins(array, scope, death.code):
                    name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
                    if isinstance(one, ast.Call) and name in _RESERVE:
                        value = death.values.of(array, scope) or death.values.of(one, where)
                        found[one] = Call(one, where, name), scope.segment(array), value
    yield from found.values()


def _kept_as(call: Call) -> str | None:
    """Return the smaller type that an array of floats is turned into, where else it is only filled."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=made) if made is call.node and not call.argument("dtype", 1):
            pass
        case _:
            return None
    scope, kinds = call.scope, set[str]()
    filled = {one.value for one in scope.nodes if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)}
    added = {one.target for one in scope.nodes if isinstance(one, ast.AugAssign)}
    filled -= {one.value for one in added if isinstance(one, ast.Subscript)}
    for node in scope.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="astype", value=ast.Name(id=owner) as use), args=[kind]):
                if owner == name:
                    filled.add(use)
                    kinds.add(scope.segment(kind))
    uses = [one for one in scope.names if getattr(one, "id", "") == name and isinstance(one.ctx, ast.Load)]
    (known,) = kinds if len(kinds) == 1 else ("",)
    return known if all(one in filled for one in uses) and _SMALL.search(known) else None


def _in_file(call: Call, name: str) -> Changes:
    """Return the edit that keeps the array in a file; none where it is not clear how the array is made."""
    shape, kind, function = call.argument("shape", 0), call.argument("dtype", 1), call.node.func
    if shape is None or not isinstance(function, ast.Attribute) or not name.replace(".", "_").isidentifier():
        return ()
    segment = call.scope.segment
    dtype = "'float64'" if kind is None else segment(kind)
    file = name.rpartition(".")[2]
    text = f"{segment(function.value)}.lib.format.open_memmap('{file}.npy', mode='w+', dtype={dtype}, shape="
    return replace(call.scope, call.node, f"{text}{segment(shape)})")
