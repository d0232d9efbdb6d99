import ast

from jupyter_kerneldoctor.recording.events import Stack

from ...calls import nodes_at, ran_in, ran_in_function
from ...code.literals import compares, number
from ...examples.stuck import frame, own_frame, thread
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote

_MATRIX = "from scipy.sparse import csr_matrix\nX = csr_matrix((values, (rows, columns)))"
_CENTRED = "Z = X - X.mean(axis=0)"
_UNSEEN = "unseen = X == 0"


_COMPARES = ("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "_comparison", "_inequality", "_scalar_binopt")


def _within_sparse(cell: str, function: str = "__sub__") -> list[Stack]:
    scipy = frame("scipy/sparse/_base.py", function, library=True)
    return [Stack(-0.1, "busy", (thread(scipy, own_frame(cell, 1)),))]


class SparseArithmetic(Fix):
    """Calculate with a sparse matrix so that it stays sparse.

    What it does: A sparse matrix stores what is not zero. Minus its means it is zero nowhere, and `X == 0` is true of
    nearly all places: each of them is stored then. Both can be had without the full matrix.

    When it is offered: Memory ran out within SciPy's sparse matrices, on a line with such a difference or comparison.

    What it costs: Another way to write it.
    """

    id, title, causes = "sparse-arithmetic", "Keep the matrix sparse: do not store its zeros", (Family.MEMORY,)

    FIRES = [
        Case(_MATRIX, _CENTRED, stacks=_within_sparse(_CENTRED), says=("LinearOperator(X.shape", "TruncatedSVD")),
        Case(
            _MATRIX, _UNSEEN, stacks=_within_sparse(_UNSEEN, "__eq__"), says=("X[i].indices", "np.setdiff1d", "X != 0")
        ),
    ]
    SILENT = [
        Case(_MATRIX, _CENTRED),
        *(
            Case(_MATRIX, cell, stacks=_within_sparse(cell, function))
            for cell, function in (
                ("seen = X > 3", "__gt__"),
                ("seen = X != 0", "__ne__"),
                ("both = X + X", "__add__"),
                ("Z = X - X.mean(axis=1)", "__sub__"),  # other means, of each row
                ("Z = X.T @ X + (y - y.mean())", "__matmul__"),
                ("Y = X @ X.T if n >= 0 else None", "__matmul__"),
            )
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.BinOp, ast.Compare) if ran_in(death, "/scipy/sparse/") else ():
            text, missing = quote(scope.segment(node)), death.memory.missing_bytes
            match node:
                case ast.BinOp(
                    left=matrix, op=ast.Sub(), right=ast.Call(func=ast.Attribute(attr="mean", value=same)) as mean
                ) if scope.segment(same) == scope.segment(matrix):
                    axis = Call(mean, scope, "mean").argument("axis", 0)
                    if axis is not None and number(axis) == 0:
                        why = f"{text} is zero nowhere, as each column's mean is taken from all its zeros, too."
                        yield Proposal((), why, missing, snippet=_CENTRE.format(X=scope.segment(matrix)))
                case ast.Compare(left=matrix, ops=[how], comparators=[other]) if compares(how, 0, number(other)):
                    if ran_in_function(death, *_COMPARES):
                        why = f"{text} is true of nearly all places, as most are zero, and each of them is stored."
                        title = "Ask for what the matrix stores, not for its zeros"
                        yield Proposal((), why, missing, title, _STORED.format(X=scope.operand(matrix)))


_CENTRE = """\
import numpy as np
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.decomposition import PCA, TruncatedSVD

means = np.asarray({X}.mean(axis=0)).ravel()
centred = LinearOperator({X}.shape, dtype='float64',  # subtracts the means from each product
                         matvec=lambda v: {X} @ v.ravel() - means @ v.ravel(),
                         rmatvec=lambda u: {X}.T @ u.ravel() - means * u.sum())
U, s, Vt = svds(centred, k=30)
scores = PCA(30, svd_solver='arpack').fit_transform({X})  # the same; takes it sparse since scikit-learn 1.4
scores = TruncatedSVD(30).fit_transform({X})  # or without centring"""
_STORED = """\
stored = {X} != 0  # few places: what is not among them is what you look for
i = 0  # one row at a time
zero = np.setdiff1d(np.arange({X}.shape[1]), {X}[i].indices)  # the columns that are zero in row i
count = {X}.shape[0] * {X}.shape[1] - {X}.nnz  # how many zeros there are"""
