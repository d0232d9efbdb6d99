import ast

from ...calls import calls_at, nodes_at
from ...code.trees import unparse, walk
from ...edits import set_argument, text_of
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote

_WHY = (
    "{mesh} writes all coordinates of all points of the mesh. With `sparse=True` it gives one short array for each "
    "axis, and the arithmetic combines them. Arrays of the full shape are made of `np.broadcast_shapes`, not of "
    "`zeros_like`."
)
_SNIPPET = (
    "axes = {open_}\nshape = np.broadcast_shapes(*(one.shape for one in axes))\n"
    "result = np.zeros(shape)  # in place of np.zeros_like(x); np.float32 takes half"
)
_MGRID = (
    "{mesh} writes all coordinates of all points of the mesh. `np.ogrid` gives one short array for each axis, and the "
    "arithmetic combines them."
)
_OGRID = (
    "axes = {open_}\nresult = np.sqrt(sum(axis**2 for axis in axes))  # your arithmetic: only its result is as large"
)
_COPIES = 2  # of the result, while it is worked out
_EACH = tuple(f"numpy.{name}" for name in ("exp", "log", "sqrt", "square", "abs", "sin", "cos", "hypot", "arctan2"))


class OpenMesh(Fix):
    """Keep the axes of a mesh as they are, and let the arithmetic combine them.

    What it does: `np.meshgrid` writes each coordinate of each point of the mesh: three axes of 420 points are three
    arrays of 74 million numbers. With `sparse=True` each array has the points of its own axis only. NumPy combines them
    in the arithmetic that follows, so that only the result is as large as the mesh.

    When it is offered: Memory ran out in such a call, or in arithmetic on what it gave. It is an edit where all that is
    done with the coordinates is arithmetic on all of them together. Not where the result of that does not fit either.

    What it costs: What needs the full shape must ask for it: `np.zeros_like(x)` has the shape of one axis then.
    """

    id, title, causes = "open-mesh", "Make the mesh with `sparse=True`", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\ndef mesh(axis):\n    return np.meshgrid(axis, axis, axis, indexing='ij')",
            "x, y, z = mesh(np.linspace(0, 1, 420))",
            says=("np.meshgrid(axis, axis, axis, indexing='ij', sparse=True)", "zeros_like"),
        ),
        Case(
            "import numpy as np\nX, Y = np.meshgrid(xs, ys)\nZ = np.exp(-(X - 1) ** 2 - Y**2)",
            becomes={"xs, ys": "xs, ys, sparse=True"},
            line=3,
        ),
        Case("import numpy as np", "x, y = np.mgrid[0:90_000, 0:90_000]", says=("np.ogrid[0:90_000, 0:90_000]",)),
    ]
    SILENT = [
        Case("import numpy as np", "x = np.ogrid[0:9000, 0:9000]"),
        Case("import numpy as np\na = np.arange(9)", "x, y = np.meshgrid(a, a)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\na = np.arange(9)", "x, y = np.meshgrid(a, a, sparse=True)\nf(x * y)"),
        Case("import numpy as np\nx, y = np.meshgrid(u, v)", "z = x + y\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\na = np.arange(9)", "x, = np.meshgrid(a)"),
        # what is worked out of the coordinates does not fit either
        Case(
            "import numpy as np\nu = np.linspace(0, 1, 30_000)",
            "x, y = np.meshgrid(u, u)\nheight = np.sin(x) + np.cos(y)",
            line=2,
        ),
        Case("import numpy as np\nf = np.arange(9000)", "a, b = np.meshgrid(f, f)\nz = a + 1j * b", line=2),
        Case(
            "import numpy as np\ndef wave(ts, ks):\n    t, k = np.meshgrid(ts, ks)\n    return np.exp(2j * t * k)",
            "w = wave(np.arange(9000), np.arange(9000))",
        ),
        Case("import numpy as np", "x, y = np.meshgrid(a, b)\nd = x.ravel()[:, None] - p", line=1),
    ]

    def propose(self, death: Death) -> Proposals:
        calls = list(calls_at(death, "numpy.meshgrid"))
        if not calls and death.is_of_this_cell:
            named = [(one, scope) for scope in death.code.running for one in scope.names]
            used = {unparse(one) for one, scope in named if death.was_running(one, scope)}
            calls = [one for one in death.code.calls("numpy.meshgrid") if used & set(_targets(one))]
        for call in calls:
            axes = [death.values.of(one, call.scope) for one in call.node.args]
            points = 1
            for one in axes:
                points *= one.shape[0] if one is not None and len(one.shape) == 1 else 0
            too_few = points > 0 and len(axes) * points * 8 < (death.memory.missing_bytes or 0) // 4
            headroom, width = death.safe_headroom_bytes, _width(call)
            if _is_made_flat(call) or (headroom is not None and points * width * _COPIES > headroom):
                continue  # a list of all points is wanted; or what is worked out of them is itself too large
            if len(axes) > 1 and call.argument("sparse") is None and not too_few and call.is_written_out:
                edits = set_argument(call, "sparse", "True")
                snippet = _SNIPPET.format(open_=text_of(call, edits))
                why = _WHY.format(mesh=quote(call.text))
                is_safe = _are_only_combined(_targets(call), call, death)
                yield Proposal(edits if is_safe else (), why, death.memory.missing_bytes, snippet=snippet)
                return
        for node, scope in nodes_at(death, ast.Subscript) if not calls else ():
            if death.code.qualified(node.value, scope) == "numpy.mgrid" and isinstance(node.slice, ast.Tuple):
                text = scope.segment(node)
                snippet = _OGRID.format(open_=text.replace("mgrid", "ogrid", 1))
                yield Proposal((), _MGRID.format(mesh=quote(text)), death.memory.missing_bytes, snippet=snippet)
                return


def _width(call: Call) -> int:
    """Return how many bytes a number takes that is worked out of the coordinates: more where it is complex."""
    numbers = (one.value for one in call.scope.nodes if isinstance(one, ast.Constant))
    return 16 if any(isinstance(one, complex) for one in numbers) else 8


def _targets(call: Call) -> list[str]:
    """Return the names that the coordinates got: `x`, `self.y`; none where it is no plain assignment to all."""
    match call.statement:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=value) if value is call.node:
            return [unparse(one) for one in names] if len(names) == len(call.node.args) else []
    return []


def _are_only_combined(names: list[str], call: Call, death: Death) -> bool:
    """Whether each expression that uses the coordinates is arithmetic on all of them, in all cells."""
    words = {name.rpartition(".")[2] for name in names}
    for scope in death.code.scopes_mentioning(*words):
        for use in (one for one in scope.names if unparse(one) in names):
            statement = scope.tree.statements[use]
            parents = {child: one for one in scope.inside(statement) for child in ast.iter_child_nodes(one)}
            whole: ast.AST = use
            while isinstance(up := parents.get(whole), ast.BinOp | ast.UnaryOp) or (
                isinstance(up, ast.Call) and death.code.qualified(up.func, scope) in _EACH
            ):
                whole = up
            combined = {unparse(one) for one in walk(whole) if isinstance(one, ast.Name | ast.Attribute)}
            if statement is not call.statement and not combined >= {*names}:
                return False
    return bool(names)


def _is_made_flat(call: Call) -> bool:
    """Whether the coordinates are put into rows, for which all of them have to be written out."""
    statement = call.statement
    targets = list(walk(statement.targets[0])) if isinstance(statement, ast.Assign) else []
    names = {one.id for one in targets if isinstance(one, ast.Name)}
    for node in call.scope.calls:
        match node:
            case ast.Call(func=ast.Attribute(attr="ravel" | "flatten" | "reshape", value=ast.Name(id=name))):
                if name in names:
                    return True
    return False
