"""Matrices with a form of their own, coordinates and counts, and functions that work item by item."""

from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import given, is_gathered, made, not_seen, without
from .way import LesserWay

_NP = "import numpy as np"
_LONGEST = 40
_FEW_COLUMNS = 8  # hashes of the rows, and what makes them, take as much
_FACTORS = (
    *(
        f"scipy.linalg.{name}"
        for name in ("lu", "lu_factor", "cholesky", "cho_factor", "ldl", "schur", "sqrtm", "logm")
    ),
    *(f"numpy.linalg.{name}" for name in ("cholesky", "det", "slogdet", "matrix_rank", "cond")),
    *("scipy.linalg.det", "scipy.linalg.eigvalsh", "numpy.linalg.eigvalsh"),
)
"""What takes a square matrix apart."""


def _right_side(call: Call, _death: Death) -> Mapping[str, str]:
    """Give the right side of the equations, where that is written in the same call."""
    given = call.argument("b", 1) if call.name.endswith("spsolve") else None
    text = "" if given is None else " ".join(call.scope.segment(given).split())
    return {"b": text if 0 < len(text) <= _LONGEST else "b"}


def _of_many_columns(call: Call, death: Death) -> bool:
    """Whether equal rows are looked for, not of a few columns as far as is known."""
    value = death.values.of(call.node.args[0], call.scope) if call.node.args else None
    is_narrow = value is not None and len(value.shape) == 2 and (value.shape[1] or _FEW_COLUMNS) < _FEW_COLUMNS
    return given(0, "axis", 4)(call, death) is True and not is_narrow


WAYS = (
    LesserWay(
        tuple(f"scipy.sparse.linalg.{name}" for name in ("spsolve", "splu", "factorized")),
        "Solve it step by step, without factors: cg, gmres, multigrid",
        "works out factors of the matrix, which fill in: on a grid, above all in three dimensions, they take many "
        "times what the matrix does.",
        "from scipy.sparse import diags\nfrom scipy.sparse.linalg import cg, gmres, minres\n\n"
        "A = {of0}.tocsr()\nM = diags(1 / A.diagonal())  # a preconditioner; vectors and the matrix are all it needs\n"
        "x, failed = cg(A, {b}, M=M)  # symmetric and positive, as a Laplacian; symmetric: minres; others: gmres\n\n"
        "import pyamg\n\nx = pyamg.ruge_stuben_solver(A).solve({b}, tol=1e-8)  # multigrid: few steps on grids\n"
        "# equal steps and coefficients in a box: scipy.fft.dstn, dctn or fftn, no matrix at all\n"
        "# or a coarser grid: half as many points on each side are an eighth of a cube",
        Case(
            "from scipy.sparse.linalg import spsolve", "x = spsolve(L, rho.ravel())", says=("cg(A, rho.ravel(), M=M)",)
        ),
        _right_side,
        silent=(Case("from scipy.sparse.linalg import cg", "x, failed = cg(A, b)"),),
    ),
    LesserWay(
        tuple(f"scipy.linalg.{name}" for name in ("circulant", "hankel", "dft", "convolution_matrix")),
        "Multiply without the matrix: a transform, a convolution, a view",
        "writes the same few numbers again and again.",
        "from scipy.fft import fft, ifft\n\n"
        "y = ifft(fft(c) * fft(x)).real  # circulant(c) @ x; its equations: scipy.linalg.solve_circulant(c, b)\n"
        "y = np.convolve(h, x)  # convolution_matrix(h, n) @ x\ny = fft(x)  # dft(n) @ x\n"
        "H = np.lib.stride_tricks.sliding_window_view(series, 500)  # hankel: a view",
    ),
    LesserWay(
        ("scipy.linalg.qr",),
        "Make no more columns than there are: mode='economic'",
        "makes a square matrix of all rows with `mode='full'`.",
        "from scipy.linalg import qr\n\nQ, R = qr({a0}, mode='economic')  # as many columns as there were\n"
        "R = np.linalg.qr({a0}, mode='r')  # without Q",
        Case("from scipy.linalg import qr", "Q, R = qr(X)"),
        not_seen("mode", 3),
        silent=("Q, R = qr(X, mode='economic')",),
    ),
    LesserWay(
        ("scipy.linalg.expm",),
        "Apply it to a vector without making it: expm_multiply",
        "makes several full matrices of the same size.",
        "from scipy.sparse.linalg import expm_multiply\n\n"
        "y = expm_multiply({a0}, v)  # expm(A) @ v, also of a sparse matrix; times: start=0, stop=1, num=11",
        Case("from scipy.linalg import expm", "E = expm(A)\ny = E @ v", line=1),
    ),
    LesserWay(
        ("numpy.vander",),
        "Work the polynomial out without a column for each power: polyval, Polynomial.fit",
        "makes a column for each power: as many as there are rows where no number is given.",
        "y = np.polynomial.polynomial.polyval(x, coefficients)  # x: {a0}; no matrix\n"
        "fit = np.polynomial.Polynomial.fit(x, y, deg=3)  # finds them, with four columns",
    ),
    LesserWay(
        ("numpy.indices",),
        "Let the coordinates broadcast: sparse=True",
        "writes all coordinates of each place, in eight bytes each.",
        "rows, columns = np.indices(shape, sparse=True)  # shape: yours; one column and one row\n"
        "distance = np.hypot(rows - r, columns - c)  # arithmetic repeats them by itself",
        Case(_NP, "y, x = np.indices((9000, 9000))"),
        lambda call, death: not given(True, "sparse")(call, death),
        silent=("y, x = np.indices((9000, 9000), sparse=True)",),
    ),
    LesserWay(
        ("numpy.unpackbits",),
        "Count the bits without unpacking them: np.bitwise_count, a table of 256",
        "makes eight bytes of each.",
        "ones = np.array([bin(i).count('1') for i in range(256)], dtype='uint8')\n"
        "counts = ones[{a0}].sum(axis=-1)  # how many bits are set; NumPy 2: np.bitwise_count({a0})\n"
        "different = ones[np.bitwise_xor(a, b)].sum(axis=-1)  # between two rows of packed bits",
    ),
    LesserWay(
        ("numpy.unique",),
        "Compare hashes of the rows, eight bytes each: hash_pandas_object",
        "copies and sorts all rows, to find equal ones next to each other.",
        "import pandas as pd\n\n"
        "keys = pd.util.hash_pandas_object(pd.DataFrame({a0}), index=False).to_numpy()  # a number for each row\n"
        "_, first = np.unique(keys, return_index=True)\n{to} = {of0}[first]  # each different row once, in no order",
        Case(_NP, "u = np.unique(X, axis=0)"),
        _of_many_columns,
        silent=("u = np.unique(X)", Case(_NP + "\nX = np.zeros((90_000_000, 3))", "u = np.unique(X, axis=0)")),
    ),
    LesserWay(
        tuple(f"scipy.ndimage.{name}" for name in ("map_coordinates", "zoom", "rotate", "shift", "affine_transform")),
        "Take the points between by lines, into float32: order=1, output='float32'",
        "makes a copy of eight bytes for each value first, for curves: `order=3`.",
        "{to} = {function}({a0}, ..., order=1, output='float32')  # with your other arguments; no copy before",
        fits=without("order", "prefilter"),
    ),
    LesserWay(
        ("numpy.roll",),
        "Take the windows as a view: sliding_window_view",
        "makes a copy of the whole for each shift.",
        "from numpy.lib.stride_tricks import sliding_window_view\n\n"
        "windows = sliding_window_view({a0}, 100)  # a view: nothing is copied\n"
        "for at in range(0, len(windows), 1000):\n    part = windows[at : at + 1000].mean(axis=1)",
        Case("import numpy as np", "X = np.column_stack([np.roll(x, k) for k in ks])"),
        is_gathered,
    ),
    LesserWay(
        ("numpy.bincount",),
        "Count only the numbers that occur: np.unique",
        "makes room for every number up to the largest.",
        "values, counts = np.unique({a0}, return_counts=True)",
    ),
    LesserWay(
        ("numpy.fromfile",),
        "Leave the numbers in their file: np.memmap",
        "reads the whole file.",
        "{to} = np.memmap({a0}, dtype='float32', mode='r')  # with your dtype and shape; nothing is read yet\n"
        "for at in range(0, len({to}), 1_000_000):\n    part = {to}[at : at + 1_000_000]",
        fits=not_seen("count", 2),
    ),
    LesserWay(
        ("numpy.histogramdd", "numpy.histogram2d"),
        "Count only the bins that occur, or take fewer bins",
        "makes a number for each combination of bins, nearly all of them zero.",
        "found, counts = np.unique(np.floor(points / width), axis=0, return_counts=True)  # width of a bin",
    ),
)

GENERAL = (
    LesserWay(
        ("numpy.gradient",),
        "Take one direction at a time, of float32: axis=0",
        "makes another array as large as the whole for each dimension.",
        "dy = np.gradient({of0}.astype('float32'), axis=0)  # one direction\n"
        "slope = dy**2\ndel dy\nslope += np.gradient({of0}.astype('float32'), axis=1) ** 2",
        fits=without("axis"),
    ),
    LesserWay(
        _FACTORS,
        "Work on a smaller matrix, in float32 and in its own place: overwrite_a",
        "works on a full matrix and copies of it, all rows together.",
        "from scipy import linalg\n\n"
        "small = {of0}.astype('float32', order='F')  # half of float64; a little more on the diagonal keeps it stable\n"
        "factors = linalg.lu_factor(small, overwrite_a=True, check_finite=False)  # in place; so is linalg.cholesky\n\n"
        "# where nearly all of it is zero: scipy.sparse, and cg or splu of scipy.sparse.linalg\n"
        "# similarities of n points: some of them are enough, as sklearn.kernel_approximation.Nystroem takes",
        Case(_NP, "L = np.linalg.cholesky(K)"),
        silent=("n = np.linalg.norm(K)",),
    ),
    LesserWay(
        (".()",),
        "Work on whole arrays, or some items at a time into one array: float32",
        "makes a Python object of each number that goes in, and of each that comes out.",
        "out = np.empty(len(x), dtype='float32')  # x: {a0}\nfor at in range(0, len(x), 100_000):\n"
        "    out[at : at + 100_000] = {owner}(x[at : at + 100_000])  # with your other arguments\n"
        "# with np.where, np.select and arithmetic, no objects are made at all",
        Case(_NP + "\nf = np.vectorize(rate)", "y = f(x)"),
        made("numpy", "vectorize", "frompyfunc"),
    ),
)
"""What saves something wherever it is; asked after all that know more."""
