import ast
from collections.abc import Iterator

from ...calls import calls_at
from ...code.origins import Origins, all_origins
from ...code.trees import walk
from ...edits import Changes, import_as, replace, replace_by_lines, set_argument, text_of
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.numpy import FLOAT_MAKERS, GATHERERS, SIGNS, is_array, is_double, parts_bytes, single_precision

_NARROW = ("uint8", "int8", "uint16", "int16")  # of wider whole numbers NumPy makes float64, whatever divides them
_DOUBLES = "Each of its numbers takes 8 bytes (float64). In float32 it takes half"


class DowncastFloat32(Fix):
    """Calculate with float32, which takes half the memory.

    What it does: NumPy makes numbers of 8 bytes where no type is given, and so do `astype(float)` and the division of
    whole numbers. float32 has seven decimal digits and takes 4 bytes; networks and images seldom need more.

    When it is offered: Memory ran out on a line that makes an array of float64, and half of it fits below the limit, as
    far as its shape or what Linux had promised the process tells.

    What it costs: Seven digits in place of sixteen: sums of millions of numbers should be made with `dtype=np.float64`.
    """

    id, title, causes = "downcast-float32", "Take float32, which needs half the memory", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\nROWS = 300_000\nW = np.ones((ROWS, 1000))",
            becomes="import numpy as np\nROWS = 300_000\nW = np.ones((ROWS, 1000), dtype=np.float32)",
            says=("1.1 GiB",),
        ),
        Case(
            "import numpy as np\ndef load(i): return np.zeros((300, 300, 3), dtype=np.uint8)\nN = 1200",
            "images = np.stack([load(i) for i in range(N)])",
            "X = images / 255.0",
            becomes="X = images / np.float32(255.0)",
        ),
        Case(  # what is subtracted would make it float64 again
            "import numpy as np\nMEAN, STD = np.array([0.4]), 0.2\n"
            "def load(i): return np.zeros((300, 300, 3), dtype=np.uint8)",
            "images = np.stack([load(i) for i in range(1200)])",
            "X = (images / 255.0 - MEAN) / STD",
            becomes="X = (images / np.float32(255.0) - MEAN.astype(np.float32)) / STD",
        ),
        Case(
            "import numpy as np\npics = [np.zeros((300, 300, 3), dtype='uint8') for i in range(1000)]",
            "X = np.array(pics).astype(float) / 255",
            becomes="X = np.array(pics, dtype=np.float32)\nX /= 255",
        ),
    ]
    SILENT = [
        Case("import numpy as np", "for i in range(n):\n    X.append(x[i : i + 720].astype('float64'))"),
        Case("import numpy as np", "W = np.ones((10**6, 1000))"),  # half of it does not fit either
        Case("import numpy as np", "W = np.ones((300_000, 1000), dtype=np.int64)"),
        Case("import numpy as np\npics = np.zeros((9000, 300, 300), dtype='uint8')", "X = pics / 255.0"),
        Case("import numpy as np", "n = np.ones(10)\nbig = [0] * 10**10"),
        Case("import numpy as np", "W = np.ones((300_000, 1000))\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\ndef f(): return np.ones((10_000, 10_000))", "f()", "f()", before_mib=1000),
        Case("import numpy as np", "W = np.ones((300_000, 1000))\nassert (W == ids).all()", line=1),
        Case("import jax.numpy as np", "W = np.ones((300_000, 1000))"),
        Case("import numpy as np\npics = np.zeros((400, 300, 900), dtype='int32')", "X = pics / 255.0", before_mib=700),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope, edits in doubles(death) if death.is_of_this_cell and not death.ran_before else ():
            if _is_compared(node, scope):
                continue
            value, headroom, missing = (
                death.values.of(node, scope),
                death.safe_headroom_bytes,
                death.memory.missing_bytes or 0,
            )
            known = None if value is None else value.bytes
            if known is None and scope.loops_around(node):
                continue  # how many rounds were to come is not known
            taken = known if known is not None else death.asked_bytes
            if taken is None or headroom is None or taken < missing // 4:
                continue
            beside = 0 if known is None else parts_bytes(node, scope, death.values)
            made = f"{quote(scope.segment(node))} makes {'at least ' if known is None else ''}{size(taken)}."
            if (leaves := taken // 2 + beside) <= headroom:
                why = f"{made} {_DOUBLES}: {size(taken // 2)}."
                yield Proposal(edits, why, max(taken // 2, missing // 2), leaves=leaves)


def _is_compared(node: ast.expr, scope: Scope) -> bool:
    """Whether the array is compared with `==`, to the last digit."""
    names = scope.assigned_by(node)
    exact = (one for one in scope.nodes if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Eq))
    return any(isinstance(part, ast.Name) and part.id in names for one in exact for part in walk(one))


def doubles(death: Death) -> Iterator[tuple[ast.expr, Scope, Changes]]:
    """Yield what makes an array of float64 on the line that ran, and the edit that makes it float32."""
    for call in calls_at(death, *FLOAT_MAKERS):
        place = 2 if call.name == "numpy.full" else 1
        given = call.argument("dtype", place)
        if call.is_written_out and (given is None or is_double(given)) and _makes_floats(call, death):
            yield call.node, call.scope, set_argument(call, "dtype", single_precision(call, death.code), place)
    for node, scope in death.code.running.nodes(ast.AST):
        match node:
            case ast.Call(func=ast.Attribute(attr="astype", value=owner), args=[kind], keywords=[]):
                if is_double(kind) and death.was_running(node, scope):
                    yield node, scope, _as_single(node, owner, scope, death)
            case ast.BinOp(op=ast.Div(), left=left, right=ast.Constant() as by) if death.was_running(node, scope):
                value = death.values.of(left, scope)
                is_whole = is_array(value) and value is not None and value.dtype in _NARROW
                if is_whole and (edits := _divided_as_single(node, by, scope, death)) is not None:
                    yield node, scope, edits


def _divided_as_single(node: ast.expr, by: ast.expr, scope: Scope, death: Death) -> Changes | None:
    """Return the edit of `X / 255.0`, and of the arrays of float64 around it; None where one of these is not known."""
    name, edits = import_as(scope, death.code, "numpy", "np")
    edits += replace(scope, by, f"{name}.float32({scope.segment(by)})")
    for one in _partners(node, scope):
        is_double_too = _is_array_of_double(one, scope, death)
        if is_double_too is None:
            return None
        if is_double_too:
            edits += replace(scope, one, f"{scope.segment(one)}.astype({name}.float32)")
    return edits


def _partners(node: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield the other sides of the arithmetic around an array: one of float64 among them makes all of it float64."""
    for one in scope.inside(scope.tree.statements[node]):
        if isinstance(one, ast.BinOp) and one is not node:
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if any(part is node for part in walk(side)):
                    yield other


def _is_array_of_double(node: ast.expr, scope: Scope, death: Death) -> bool | None:
    """Whether an expression is an array that may be of float64; None where it may be no number, and no array."""
    if isinstance(node, ast.Constant):
        return False
    if (value := death.values.of(node, scope)) is not None and value.dtype is not None:
        return value.dtype == "float64"
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    made = [
        (one, death.code.qualified(one.func, where))
        for one, where in all_origins(node, scope, death.code)
        if isinstance(one, ast.Call)
    ]
    if any((name or "").startswith("numpy.") for _, name in made):
        return True
    given = Origins(death.code).of(node, scope)
    return False if given and all(isinstance(one.node, ast.Constant) for one in given) else None


def _makes_floats(call: Call, death: Death) -> bool:
    value = death.values.of(call.node, call.scope)
    return value is not None and value.dtype == "float64"


def _as_single(node: ast.Call, owner: ast.expr, scope: Scope, death: Death) -> Changes:
    """Return the edit of `….astype(float)`: without a copy of what is put together, and with a division in place."""
    name = death.code.qualified(owner.func, scope) if isinstance(owner, ast.Call) else None
    if isinstance(owner, ast.Call) and name in GATHERERS and not owner.keywords and len(owner.args) == 1:
        inner = Call(owner, scope, name)
        text = text_of(inner, set_argument(inner, "dtype", single_precision(inner, death.code)))
    else:
        text = f'{scope.segment(owner)}.astype("float32")'
    match _in_two_lines(node, scope):
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.BinOp(op=op, right=by)) as statement:
            return replace_by_lines(
                scope, statement, f"{target} = {text}", f"{target} {SIGNS[type(op)]}= {scope.segment(by)}"
            )
    return replace(scope, node, text)


def _is_copied(node: ast.expr, scope: Scope) -> bool:
    """Whether arithmetic makes another array of this one on the same line."""
    return any(isinstance(one, ast.BinOp) and node in (one.left, one.right) for one in scope.nodes)


def _in_two_lines(node: ast.expr, scope: Scope) -> ast.Assign | None:
    """Return the statement `X = node / number`, which can be written as `X = node` and `X /= number`."""
    match scope.tree.statements[node]:
        case ast.Assign(targets=[ast.Name()], value=ast.BinOp(left=left, op=op, right=ast.Constant())) as statement:
            return statement if left is node and type(op) in SIGNS else None
    return None
