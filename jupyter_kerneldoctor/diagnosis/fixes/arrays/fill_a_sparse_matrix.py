import ast
from collections.abc import Iterator

from ...code.calls import last_name
from ...code.literals import number
from ...code.loop_changes import called_name
from ...code.origins import all_origins
from ...code.trees import walk
from ...examples.growth import grew_in, growth
from ...examples.stuck import own_frame
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import Place, guilty_place

_SOLVERS = (
    *("linprog", "milp", "lsq_linear", "LinearConstraint", "nnls", "lsqr", "minimize", "solve", "solve_qp", "lstsq"),
    *("inv", "pinv", "eig", "eigh", "eigs", "eigsh", "eigvals", "eigvalsh", "svd", "svds", "spsolve", "matrix_power"),
)
"""What takes a matrix of equations, constraints or edges."""
_SPARSE = ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array", "from_numpy_array")
_LEARNERS = ("fit", "fit_transform", "fit_predict", "dot", "matmul", "multi_dot", "OLS", "GLM", "Logit", "Variable")
_USES = frozenset((*_SOLVERS, *_SPARSE, *_LEARNERS))

_IMPORTS = "import numpy as np\nfrom scipy.optimize import linprog"


def _plan(row: str, use: str) -> Case:
    cell = f"{_IMPORTS}\ndef plan(c, b, m, n):\n    A = np.zeros((m, m * n))\n    for i in range(m):\n        {row}\n"
    cell += f"    {use}"
    frames = [own_frame(cell, 6, "plan"), own_frame(_RUN, 1)]
    grown = [growth(2, grew_in(1500 << 20, *frames))]
    says = ("A = sparse.lil_matrix((m, m * n))", "A = A.tocsr()", "sparse.kron")
    return Case(cell, _RUN, growths=grown, says=says)


_RUN = "x = plan(c, b, 400, 400)"
_USE = "return linprog(c, A_eq=A, b_eq=b)"


def _cell(*lines: str, line: int, says: tuple[str, ...] = ()) -> Case:
    cell = "\n".join(("import numpy as np", *lines))
    return Case(cell, line=line, growths=[growth(1, grew_in(1500 << 20, own_frame(cell, line)))], says=says)


class FillASparseMatrix(Fix):
    """Fill a sparse matrix where nearly all stays zero.

    What it does: A row for each constraint and a column for each variable are 800 times 160,000 numbers, of which only
    two in each column are set. A page of memory is taken as soon as one of its numbers is. A sparse matrix of SciPy
    holds the numbers that are set, and solvers take it as it is.

    When it is offered: Memory ran out while a loop or an index puts a plain number into such places of an array of
    zeros that is multiplied, solved or learned from later.

    What it costs: A sparse matrix is filled more slowly; made of lists of rows and columns, or of blocks, it is not.
    """

    id, title, causes = "fill-a-sparse-matrix", "Fill a sparse matrix: nearly all of it stays zero", (Family.MEMORY,)
    unless_offered = frozenset({"count-pairs-sparse"})

    FIRES = [
        _plan("A[i, i * n : (i + 1) * n] = 1", _USE),
        _plan("A[i, i::n] = -1.0", "return solve(c, A_eq=A)\ndef solve(c, A_eq): return linprog(c, A_eq=A_eq)"),
        _cell(
            "D = np.zeros((len(games), teams))",
            "for k, (a, b) in enumerate(games):",
            "    D[k, a], D[k, b] = 0.5, -0.5",
            "rating = np.linalg.lstsq(D, margin)[0]",
            line=4,
            says=("D = sparse.lil_matrix((len(games), teams)",),
        ),
        _cell(
            "X = np.zeros((len(y), y.max() + 1))",
            "X[np.arange(len(y)), y] = 1",
            "model.fit(X, t)",
            line=3,
            says=("sparse.csr_matrix((np.ones(len(rows)), (rows, columns))",),
        ),
        _cell(
            "A = np.zeros((n, m))",
            "for i in range(n):",
            "    A[i, near[i]] = 1",
            "for _ in range(50):",
            "    p = A @ p",
            line=4,
            says=("A = sparse.lil_matrix((n, m)",),
        ),
    ]
    SILENT = [
        _cell("A = np.zeros((n, m))", "for i in range(n):", "    A[i, :] = 1", "y = A @ x", line=4),
        _cell("A = np.zeros((n, m))", "for i in range(n):", "    A[i] = row(i)", "y = A @ x", line=4),
        _cell("A = np.zeros((n, m))", "for a, b in boxes:", "    A[a : a + 9, b : b + 9] = 1", "y = A @ x", line=4),
        _cell("A = np.zeros((n, m))", "for i in range(n):", "    A[i, at[i]] = 1", "show(A)", line=4),
        _cell("A = np.zeros((n, m))", "for i in range(n):", "    A[i, at[i]] = f(i)", "y = A @ x", line=4),
        _cell("A = np.zeros((n, m))", "for i in range(n):", "    A[i, at[i]] = 0.0", "y = A @ x", line=4),
        _cell("A = np.ones((n, m))", "for i in range(n):", "    A[i, at[i]] = 0", "y = A @ x", line=4),
        _cell("A = np.zeros((n, n))", "for i in range(n):", "    A[i, :i] = 1", "y = A @ x", line=4),  # half of it
        _cell(
            "A = np.zeros((n, m))",
            "for i in range(n):",
            "    for j in range(m):",
            "        A[i, j] = 0.5",
            "y = A @ x",
            line=5,
        ),
        _cell("A = np.zeros(n)", "for i in range(n):", "    A[at[i]] = 1", "y = A @ x", line=4),
        _cell("A = np.zeros((n, m))", "A[3, 4] = 1", "y = A @ x", line=3),
        _cell("A = np.zeros((n, m))", "A[0, 0:9] = 1", "big = [0] * 10**10", "y = A @ x", line=4),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        for table, index in _set_to_numbers(at.node) if at is not None else ():
            made = None if at is None else _zeros(table, at.scope, death)
            if at is None or made is None or not _may_stay_zero(index, at) or not _is_used(table.id, at.scope, death):
                continue
            shape = made.argument("shape", 0)
            of = "" if shape is None else made.scope.segment(shape)
            why = f"{quote(made.text)} has a number for each place, and {quote(at.text)} sets a few of them: the rest "
            why += "stays zero."
            snippet = _SNIPPET.format(name=table.id, shape=" ".join(of.split()))
            yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
            return


_SNIPPET = """\
from scipy import sparse

{name} = sparse.lil_matrix({shape})  # filled as before, and only what is set takes memory
{name} = {name}.tocsr()  # after it is filled: for @, linprog(method='highs'), spsolve, lsqr, eigsh and scikit-learn

# or at once, faster, of the places that are set
{name} = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape={shape})
# of equal blocks: sparse.kron(sparse.identity(m), np.ones((1, n))); of several: sparse.vstack, sparse.block_diag"""


def _set_to_numbers(node: ast.stmt) -> Iterator[tuple[ast.Name, ast.Tuple]]:
    """Yield the tables of two dimensions of which a statement sets places to a plain number, and the index."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
        case ast.Assign(targets=targets, value=value):
            pairs = [(one, value) for one in targets]
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            pairs = [(target, value)]
    for place, given in pairs:
        match place:
            case ast.Subscript(value=ast.Name() as table, slice=ast.Tuple(elts=[_, _]) as index) if _is_set(given):
                yield table, index


def _is_set(value: ast.expr) -> bool:
    """Whether a plain number other than 0 is written."""
    inner = value.operand if isinstance(value, ast.UnaryOp) else value
    return number(value) is not None and getattr(inner, "value", None) != 0


def _may_stay_zero(index: ast.Tuple, at: Place) -> bool:
    """Whether an index leaves most places out: a part of a row, single places, those of two arrays; no box."""
    slices = [one for one in index.elts if isinstance(one, ast.Slice)]
    is_open = any(None in (one.lower, one.upper) and one.step is None for one in slices)  # half of all, as `A[i, :i]`
    is_fixed = all(isinstance(one, ast.Constant) for one in index.elts)
    is_repeated = not at.scope.is_cell or bool(at.scope.loops_around(at.node)) or not slices
    return len(slices) < len(index.elts) and not (is_open or is_fixed or _is_each(index, at)) and is_repeated


def _is_each(index: ast.Tuple, at: Place) -> bool:
    """Whether two loops go through all places: `A[i, j]` where nothing but `for i` and `for j` decides which."""
    loops = [one for one in at.scope.loops_around(at.node) if isinstance(one, ast.For)]
    counted = {one.target.id for one in loops if isinstance(one.target, ast.Name) and called_name(one.iter) == "range"}
    is_each = all(isinstance(one, ast.Name) and one.id in counted for one in index.elts)
    inside = loops[0].body if loops else []
    return is_each and at.node in inside


def _zeros(table: ast.Name, scope: Scope, death: Death) -> Call | None:
    """Return the call that made a table of zeros in two dimensions."""
    for one, where in all_origins(table, scope, death.code):
        if isinstance(one, ast.Call) and death.code.qualified(one.func, where) == "numpy.zeros":
            shape = (call := Call(one, where, "numpy.zeros")).argument("shape", 0)
            return call if isinstance(shape, ast.Tuple) and len(shape.elts) == 2 else None
    return None


def _is_used(name: str, scope: Scope, death: Death) -> bool:
    """Whether a table is solved, multiplied or learned from; one that is returned may be, wherever the code does so."""
    is_returned = any(_mentions(node.value, name) for node in scope.nodes if isinstance(node, ast.Return))
    is_given = not scope.is_cell and any(_own_call(call, name, scope, death) for call in scope.calls)
    for place in (scope, *death.code.running):
        is_anything = place is not scope and (is_returned or is_given)
        for node in place.nodes:
            match node:
                case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                    if is_anything or _mentions(left, name) or _mentions(right, name):
                        return True
                case ast.Call(func=function, args=given, keywords=words) if last_name(function) in _USES:
                    parts = (function, *given, *(word.value for word in words))
                    if is_anything or any(_mentions(one, name) for one in parts):
                        return True
    return False


def _own_call(call: ast.Call, name: str, scope: Scope, death: Death) -> bool:
    """Whether a table is given to a function of the notebook."""
    given = (*call.args, *(word.value for word in call.keywords))
    return death.code.definition(call.func, scope) is not None and any(_mentions(one, name) for one in given)


def _mentions(node: ast.AST | None, name: str) -> bool:
    return node is not None and any(isinstance(one, ast.Name) and one.id == name for one in walk(node))
