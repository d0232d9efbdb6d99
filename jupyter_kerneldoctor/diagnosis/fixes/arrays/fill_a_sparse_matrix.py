from ...examples.growth import grew_in, growth
from ...examples.stuck import own_frame
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.mostly_zeros import is_calculated_with, made_of_zeros, may_stay_zero, set_to_numbers
from ...place import guilty_place

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
        for table, index in set_to_numbers(at.node) if at is not None else ():
            made = None if at is None else made_of_zeros(table, at.scope, death.code)
            if (
                at is None
                or made is None
                or not may_stay_zero(index, at.node, at.scope)
                or not is_calculated_with(table.id, at.scope, death.code)
            ):
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
