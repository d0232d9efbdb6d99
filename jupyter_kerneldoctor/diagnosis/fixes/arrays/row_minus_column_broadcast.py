import ast
from dataclasses import replace

from ...code.arrays import Value
from ...code.origins import all_origins
from ...code.trees import walk
from ...edits import append
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.numpy import is_array

_FLOAT_BYTES = 8
_NEAR = 0.9
_ARRAYS = "import numpy as np\ny = np.random.rand(40_000)\npred = np.random.rand(40_000, 1)"


class RowMinusColumnBroadcast(Fix):
    """Make a row of the column before both are subtracted.

    What it does: An array of shape `(n,)` and one of shape `(n, 1)` give an array of `(n, n)`: each number of one with
    each number of the other. Models return such columns. `.ravel()` makes a row of it, and the result has n numbers.

    When it is offered: Memory ran out on a line with arithmetic on two such arrays of equal length, and the square
    explains it.

    What it costs: Nothing, unless all pairs were meant.
    """

    id, title, causes = "row-minus-column-broadcast", "Make a row of the column: ravel()", (Family.MEMORY,)

    FIRES = [
        Case(
            _ARRAYS,
            "err = ((y - pred) ** 2).mean()",
            becomes="err = ((y - pred.ravel()) ** 2).mean()",
            says=("(40,000, 1)", "11.9 GiB"),
        ),
        Case(
            _ARRAYS,
            "def rmse(a, b):\n    return np.sqrt(np.mean((a - b) ** 2))",
            "rmse(pred * 2, y)",
            becomes={"a -": "a.ravel() -"},
        ),
        Case(
            _ARRAYS + "\nfrom sklearn.linear_model import Ridge\nmodel = Ridge().fit(X, pred)",
            "rest = y - model.predict(X)",
            becomes="rest = y - model.predict(X).ravel()",
        ),
        Case(
            _ARRAYS + "\nclass Linear:\n    def fit(self, X, y):\n"
            "        self.w = np.linalg.solve(X.T @ X, X.T @ y.reshape(-1, 1))\n        return self\n"
            "    def predict(self, X): return X @ self.w",
            "X = np.random.rand(40_000, 9)\nmodel = Linear().fit(X, y)",
            "def rest(model, X, y): return y - model.predict(X)",
            "rest(model, X, y).std()",
            becomes={"(X)": "(X).ravel()"},
        ),
    ]
    SILENT = [
        Case(_ARRAYS, "err = (y - pred[:, 0]).mean()"),
        Case("import numpy as np\ny = np.random.rand(100)\npred = np.random.rand(100, 1)", "err = y - pred\nload()"),
        Case(_ARRAYS, "d = y[:100] - pred"),
        Case(_ARRAYS, "d = np.abs(y - pred)\nnearest = d.argmin(1)", line=1),
        Case(_ARRAYS, "nearest = np.abs(y - pred).min(axis=1)"),
        Case(_ARRAYS, "err = y - pred\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\na = np.ones(40_000)", "d = a[:, None] - a"),  # all pairs are meant
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in death.code.running.nodes(ast.BinOp) if death.is_of_this_cell else ():
            if not death.was_running(node, scope):
                continue
            for row, column in ((node.left, node.right), (node.right, node.left)):
                one, other = (
                    death.values.of(row, scope),
                    death.values.of(column, scope) or _predicted(column, scope, death),
                )
                other = other or _as_asked(one, column, scope, death)
                if one is None or other is None or not (is_array(one) and is_array(other)):
                    continue
                meant = isinstance(column, ast.Subscript) or _is_reduced(node, scope)  # a[:, None], .argmin(1)
                if other.shape == (*one.shape, 1) and len(one.shape) == 1 and not meant:
                    whole = one.shape[0] ** 2 * _FLOAT_BYTES
                    why = (
                        f"{quote(scope.segment(row))} has the shape ({one.shape[0]:,},) and "
                        f"{quote(scope.segment(column))} the shape ({one.shape[0]:,}, 1): the result has a number "
                        f"for each pair, {size(whole)}. With `.ravel()` it has {one.shape[0]:,} numbers."
                    )
                    yield Proposal(append(scope, column, ".ravel()"), why, whole)


def _is_reduced(node: ast.BinOp, scope: Scope) -> bool:
    """Whether something is worked out of each row of the result, so that all pairs are meant: `.argmin(1)`."""
    names = scope.assigned_by(node)
    for call in scope.calls:
        axes = [word.value for word in call.keywords if word.arg == "axis"] or call.args[-1:]
        if any(isinstance(one, ast.Constant) and one.value == 1 for one in axes):
            inside = set(walk(call))
            if node in inside or any(isinstance(one, ast.Name) and one.id in names for one in inside):
                return True
    return False


def _as_asked(row: Value | None, node: ast.expr, scope: Scope, death: Death) -> Value | None:
    """Return the column that a result must be, when a number for each pair of rows is what Linux was asked for."""
    if row is None or len(row.shape or ()) != 1 or not isinstance(node, ast.Call | ast.Name):
        return None
    if any(_is_flat(one) for one, _ in all_origins(node, scope, death.code)):
        return None
    pairs, asked = row.shape[0] ** 2 * _FLOAT_BYTES, death.asked_bytes or 0
    fits = pairs > death.wanted_bytes and _NEAR * pairs < asked < pairs / _NEAR
    return replace(row, shape=(*row.shape, 1)) if fits else None


def _predicted(node: ast.expr, scope: Scope, death: Death) -> Value | None:
    """Return the column that a model of scikit-learn gives which was fitted to one."""
    for one, where in all_origins(node, scope, death.code):
        match one:
            case ast.expr() if _is_flat(one):
                return None
            case ast.Call(func=ast.Attribute(attr="predict", value=model)):
                for made, place in all_origins(model, where, death.code):
                    match made:
                        case ast.Call(func=ast.Attribute(attr="fit"), args=[_, target, *_]):
                            return death.values.of(target, place)
    return None


def _is_flat(node: ast.expr) -> bool:
    """Whether an expression changes the shape by itself."""
    match node:
        case ast.Subscript() | ast.Call(func=ast.Attribute(attr="ravel" | "reshape" | "squeeze" | "flatten")):
            return True
    return False
