import ast

from ...fix import Advice, Call, Case, Death, Family, quote

_FIT = "import numpy as np\ndef fit(X, y):\n    A = np.linalg.inv(X.T @ X)\n    H = X @ A @ X.T\n    "


class DiagonalOfProduct(Advice):
    """Add up the diagonal of a product without the product.

    What it does: `np.diag(X @ A @ X.T)` makes a number for each pair of rows, and keeps one for each row: 60,000 rows
    are 26.8 GiB. `((X @ A) * X).sum(axis=1)` gives the same numbers, and needs no more than `X` again.

    When it is offered: Memory ran out in such a product, of which nothing but the diagonal is used.

    What it costs: The numbers may differ in their last digits.
    """

    id, title, causes = "diagonal-of-product", "Calculate only the diagonal of the product", (Family.MEMORY,)
    why = (
        "{product} makes a number for each pair of rows, and only its diagonal is used. The sum over each row of "
        "{left} times {right} is the same, without the others."
    )
    snippet = "diagonal = (({left_code}) * {right_code}).sum(axis=1)  # in place of {used}"

    FIRES = [
        Case(
            _FIT + "return y - A @ X.T @ y, np.diag(H)",
            "rest, leverage = fit(design(60_000), y)",
            says=("diagonal = ((X @ A) * X).sum(axis=1)", "each pair of rows"),
        ),
        Case(
            "import numpy as np\nX, S = np.random.rand(60_000, 9), np.eye(9)",
            "var = (X @ S @ X.T).diagonal()",
            says=("((X @ S) * X).sum(axis=1)",),
        ),
    ]
    SILENT = [
        Case(_FIT + "return H @ y, np.diag(H)", "fit(design(60_000), y)"),
        Case("import numpy as np\nX = load()", "d = np.diag(X @ X.T)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nX = np.random.rand(60, 9)", "d = np.diag(X @ X.T)\nload()"),
        Case("import numpy as np\nX = np.random.rand(60_000, 9)", "D = np.diag(X @ w)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the product, and that nothing else uses it."""
        missing = death.memory.missing_bytes or 0
        for call, scope in death.code.running.nodes(ast.Call) if death.is_of_this_cell else ():
            match call.func:
                case ast.Attribute(attr="diagonal", value=inner) if not call.args:
                    pass
                case _ if death.code.qualified(call.func, scope) in ("numpy.diag", "numpy.diagonal"):
                    inner = call.args[0] if len(call.args) == 1 else call
                case _:
                    continue
            product = _written_out(Call(call, scope, ""), inner)
            match product:
                case ast.BinOp(op=ast.MatMult(), left=left, right=ast.Attribute(attr="T", value=right)):
                    value = death.values.of(product, scope)
                    small = value is not None and (value.bytes or 0) < missing // 4
                    if small or not death.was_running(product, scope):
                        continue
                    one, other = scope.segment(left), scope.segment(right)
                    texts = {"left": quote(one), "right": quote(other), "left_code": one, "right_code": other}
                    return {**texts, "product": quote(scope.segment(product)), "used": scope.segment(call)}
        return None


def _written_out(call: Call, node: ast.expr) -> ast.expr:
    """Return what a name stands for that is bound once, and used by this call only."""
    if not isinstance(node, ast.Name) or call.scope.is_cell:
        return node
    names = call.scope.named(node.id)
    made = [one for one in call.scope.nodes if isinstance(one, ast.Assign) and one.targets[0] in names]
    return made[0].value if len(names) == 2 and len(made) == 1 else node
