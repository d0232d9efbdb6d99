import ast

from ...code.notebook import Call
from ...fix import CallAnother, Case, Death, Family


class DiagonalAsVector(CallAnother):
    """Multiply by a diagonal without the zeros around it.

    What it does: `np.diag(d)` makes a square of zeros with `d` in it: 60,000 numbers become 26.8 GiB.
    `scipy.sparse.diags(d)` holds the numbers alone, and `@` gives the same result.

    When it is offered: Memory ran out on a line that makes such a square, which is used by `@` only.

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
            becomes={2: "def fit(A, b):\n    W = sp.diags(w)\n    return np.linalg.solve(A.T @ W @ A, A.T @ W @ b)"},
        ),
    ]
    SILENT = [
        Case("import numpy as np\nd = np.random.rand(60_000)", "D = np.diag(d)\nprint(D[0])"),
        Case("import numpy as np\nd = np.random.rand(60_000)", "S = np.diag(d) + A"),
        Case("import numpy as np\nd = np.random.rand(60, 60)", "S = np.diag(d) @ A\nload()"),
    ]

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the square; nothing where something else than a product uses it."""
        value = death.values.of(call.node.args[0], call.scope) if len(call.node.args) == 1 else None
        if value is None or len(value.shape) != 1 or call.node.keywords:
            return None
        used: list[ast.expr] = [call.node]
        match call.statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=made) if made is call.node:
                names = [one for one in call.scope.names if isinstance(one, ast.Name) and one.id == name]
                used = [one for one in names if isinstance(one.ctx, ast.Load)]
        products = [one for one in call.scope.nodes if isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult)]
        is_multiplied = all(any(one in (product.left, product.right) for product in products) for one in used)
        return value.shape[0] ** 2 * 8 if used and is_multiplied else None
