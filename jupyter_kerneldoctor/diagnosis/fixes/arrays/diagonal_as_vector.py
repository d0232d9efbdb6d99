import ast

from ...calls import is_of
from ...code.origins import all_origins
from ...code.trees import walk
from ...edits import Changes, import_as, replace
from ...fix import Call, CallAnother, Case, Death, Family, Scope
from ...place import grew_in

_ZERO_STAYS = ("numpy.sqrt", "numpy.abs", "numpy.square")
"""Functions that leave the zeros as they are."""
_PRODUCTS = ("numpy.dot", "numpy.matmul")


class DiagonalAsVector(CallAnother):
    """Multiply by a diagonal without the zeros around it.

    What it does: `np.diag(d)` makes a square of zeros with `d` in it: 60,000 numbers become 26.8 GiB.
    `scipy.sparse.diags(d)` holds the numbers alone, and `@` gives the same result. `np.dot`, which knows no sparse
    matrix, becomes `@`.

    When it is offered: Memory ran out on a line that makes such a square, which is used in products only.

    What it costs: Nothing. Without SciPy, `d[:, None] * X` is the same as `np.diag(d) @ X`.
    """

    id, title, causes = "diagonal-as-vector", "Multiply by the diagonal without its zeros", (Family.MEMORY,)
    functions, becomes, imports = ("numpy.diag",), "{imported}.diags({0})", ("scipy.sparse", "sparse")
    why = "makes a square of zeros with the numbers on its diagonal."

    FIRES = [
        Case(
            "import numpy as np\nfrom scipy import sparse\nd, X = np.random.rand(60_000), np.random.rand(60_000, 5)",
            "Y = np.diag(d) @ X",
            becomes="Y = sparse.diags(d) @ X",
            says=("26.8 GiB",),
        ),
        Case(
            "import numpy as np\nimport scipy.sparse as sp\nw = np.ones(60_000)",
            "def fit(A, b):\n    W = np.diag(w)\n    return np.linalg.solve(A.T @ W @ A, A.T @ W @ b)",
            "fit(np.ones((60_000, 3)), b)",
            becomes={"np.diag": "sp.diags"},
        ),
        Case(
            "import numpy as np\nfrom scipy import sparse",
            "def fit(A, b, w):\n    W = np.sqrt(np.diag(w))\n    return np.linalg.lstsq(np.dot(W, A), b.dot(W))",
            "fit(A, b, np.ones(60_000))",
            becomes={
                2: "def fit(A, b, w):\n    W = sparse.diags(np.sqrt(w))\n    return np.linalg.lstsq((W @ A), (b @ W))"
            },
        ),
        Case(
            "import numpy as np\nfrom scipy import sparse\nw = np.ones(60_000)",
            "W = np.diag(w)\nY = W.dot(A if cold else B) + np.dot(A.T - m, W)",
            becomes="W = sparse.diags(w)\nY = (W @ (A if cold else B)) + ((A.T - m) @ W)",
        ),
    ]
    SILENT = [
        Case("import numpy as np\nd = np.random.rand(60_000)", "D = np.diag(d)\nE = np.linalg.det(D @ D)"),
        Case(
            "import numpy as np\nimport pandas as pd\nd = np.random.rand(60_000)\nX = pd.DataFrame(a)",
            "Y = X.T @ np.diag(d)",
        ),
        Case("import numpy as np\nd = np.random.rand(60_000)", "D = np.diag(d)\nprint(D[0])"),
        Case("import numpy as np\nd = np.random.rand(60_000)", "S = np.diag(d) + A"),
        Case("import numpy as np\nd = np.random.rand(60, 60)", "S = np.diag(d) @ A\nload()"),
    ]

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the square; nothing where something else than a product uses it, or it may be no vector."""
        if len(call.node.args) != 1 or call.node.keywords or _products(call, death) is None:
            return None
        value = death.values.of(call.node.args[0], call.scope)
        if value is None:  # the diagonal of a matrix takes little
            return death.memory.missing_bytes if grew_in(death, call.statement, call.scope) else None
        return value.shape[0] ** 2 * 8 if len(value.shape) == 1 else None

    def change(self, call: Call, death: Death) -> Changes:
        """Make the diagonal sparse, what is done to each of its numbers first, and the products `@`."""
        name, imported = import_as(call.scope, death.code, *self.imports)
        square, segment = _made(call, death), call.scope.segment
        vector = segment(call.node.args[0])
        if isinstance(square, ast.Call) and square is not call.node:
            vector = f"{segment(square.func)}({vector})"
        changes = imported + replace(call.scope, square, f"{name}.diags({vector})")
        for product in _products(call, death) or ():
            if isinstance(product, ast.Call) and (sides := _sides(product, call.scope, death)):
                text, whole = " @ ".join(map(call.scope.operand, sides)), call.scope.statement_of(product)
                is_all = isinstance(whole, ast.Assign) and whole.value is product
                changes += replace(call.scope, product, text if is_all else f"({text})")
        return changes


def _made(call: Call, death: Death) -> ast.expr:
    """Return the square, with what is done to each of its numbers: `np.sqrt(np.diag(w))`."""
    for node in call.scope.inside(call.statement):
        match node:
            case ast.Call(args=[inner], keywords=[]) if inner is call.node:
                return node if death.code.qualified(node.func, call.scope) in _ZERO_STAYS else inner
    return call.node


def _products(call: Call, death: Death) -> list[ast.expr] | None:
    """Return the products in which the square is used; None where it is used otherwise, or an edit would overlap."""
    made, scope = _made(call, death), call.scope
    used: list[ast.expr] = [made]
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is made:
            names = scope.named(name)
            used = [one for one in names if isinstance(one.ctx, ast.Load)]
    expressions = (one for one in scope.nodes if isinstance(one, ast.expr))
    multiplied = {one: sides for one in expressions if (sides := _sides(one, scope, death))}
    products = [one for use in used for one, sides in multiplied.items() if use in sides]
    others = [one for product in products for one in multiplied[product] if one not in used]
    if len(others) < len(products):  # a product of two such squares would be sparse itself
        return None
    calls = [one for one in products if isinstance(one, ast.Call)]
    overlap = any(inner is not one and inner in walk(one) for one in calls for inner in (*calls, call.node))
    if overlap or any(_is_table(one, scope, death) for one in others):  # pandas knows no sparse matrix
        return None
    return products if len(products) == len(used) > 0 else None


def _sides(node: ast.expr, scope: Scope, death: Death) -> tuple[ast.expr, ast.expr] | None:
    """Return what a product of matrices multiplies: `A @ B`, `np.dot(A, B)`, `A.dot(B)`."""
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            return left, right
        case ast.Call(func=function, args=[left, right], keywords=[]):
            return (left, right) if death.code.qualified(function, scope) in _PRODUCTS else None
        case ast.Call(func=ast.Attribute(attr="dot", value=left), args=[right], keywords=[]):
            return left, right
    return None


def _is_table(node: ast.expr, scope: Scope, death: Death) -> bool:
    found = [one for one, _ in all_origins(node, scope, death.code)]
    words = {one.func.attr for one in found if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)}
    words |= {one.attr for one in found if isinstance(one, ast.Attribute)}
    return not words & {"to_numpy", "values"} and is_of(("pandas",), node, scope, death)
