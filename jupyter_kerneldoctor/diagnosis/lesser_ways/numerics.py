"""Signals, linear algebra, interpolation and statistics: mostly SciPy."""

from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import is_made_by, is_written, not_seen
from .way import LesserWay, names


def _column_and_row(call: Call, _death: Death) -> Mapping[str, str] | bool:
    """Return what a Toeplitz matrix is made of: its first column, or that and its first row."""
    given = [call.scope.segment(one) for one in call.node.args]
    if call.node.keywords or len(given) not in (1, 2):
        return False
    return {"column": given[0] if len(given) == 1 else f"({', '.join(given)})"}


def _makes_a_product(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether matrices are multiplied with each other, also one after the other: `reduce(np.kron, parts)`."""
    if call.name != "functools.reduce":
        return True
    is_kron = bool(call.node.args) and death.code.qualified(call.node.args[0], call.scope) == "numpy.kron"
    return {"a0": "A", "a1": "B"} if is_kron else False


_SQUARE = ("BFGS", "SLSQP", "Powell", "COBYLA", "trust-constr", "trust-exact", "dogleg")


def _keeps_a_square(call: Call, _death: Death) -> bool | Mapping[str, str]:
    """Whether a minimizer keeps a matrix with a row for each variable, as the one that is taken without bounds does."""
    method, is_newer = call.argument("method", 3), call.name == "scipy.optimize.minimize"
    is_square = any(is_written(method, one) for one in _SQUARE)
    if not is_square and (method is not None or (is_newer and call.argument("bounds", 7) is not None)):
        return False
    kept = [one for one in call.node.keywords if one.arg in ("args", "jac", "bounds", "tol", "callback")]
    return {"rest": "".join(f", {one.arg}={call.scope.segment(one.value)}" for one in kept if is_newer)}


def _asks_in_parts(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give how points are asked for some at a time: coordinates one by one, rows of them, or columns."""
    given, owner = names(call), names(call)["owner"]
    if not call.node.args:
        return False
    if is_made_by("interpolate.Rbf")(call, death):
        each = ", ".join(map(call.scope.segment, call.node.args))
        each += "" if len(call.node.args) > 1 else ","
        points = f"points = np.column_stack([np.ravel(one) for one in ({each})])  # all that are asked for\n"
        parts = f"parts = [{owner}(*points[at : at + 10_000].T) for at in range(0, len(points), 10_000)]"
        return {"points": points + parts, "reshaped": f".reshape(np.shape({given['a0']}))"}
    if is_made_by("interpolate.RBFInterpolator")(call, death):
        parts = f"{owner}({given['of0']}[at : at + 10_000]) for at in range(0, len({given['a0']}), 10_000)"
    elif is_made_by("stats.gaussian_kde")(call, death):
        parts = f"{owner}({given['of0']}[..., at : at + 10_000]) for at in range(0, {given['of0']}.shape[-1], 10_000)"
    else:
        return False
    return {"points": f"parts = [{parts}]", "reshaped": ""}


_OF_POINTS = ("RegularGridInterpolator", "LinearNDInterpolator", "NearestNDInterpolator", "interp1d")
"""What looks only at what is near to each point that it is asked for."""

WAYS = (
    LesserWay(
        tuple(f"scipy.optimize.{name}" for name in ("minimize", "fmin_bfgs", "fmin_slsqp", "fmin_powell")),
        "Keep no square matrix of the variables: method='L-BFGS-B'",
        "keeps a matrix with a row and a column for each variable.",
        "from scipy.optimize import minimize\n\n"
        "{to} = minimize({a0}, {a1}{rest}, method='L-BFGS-B')  # with your other arguments; keeps ten vectors\n"
        "# it has no constraints; method='CG' is another without a matrix",
        Case("from scipy.optimize import minimize", "found = minimize(loss, start, jac=True)"),
        _keeps_a_square,
        silent=("found = minimize(loss, start, method='CG')", "found = minimize(loss, start, bounds=limits)"),
    ),
    LesserWay(
        ("scipy.interpolate.RBFInterpolator", "scipy.interpolate.Rbf"),
        "Let each point see its nearest only: neighbors=50",
        "makes a number for each pair of points.",
        "from scipy.interpolate import RBFInterpolator\n\n{to} = RBFInterpolator(points, values, neighbors=50)",
    ),
    LesserWay(
        (".()",),
        "Ask for some points at a time",
        "works out a number for each pair of a point that is asked for and one that is known.",
        "{points}\n{to} = np.concatenate(parts){reshaped}",
        Case("from scipy.interpolate import Rbf\nf = Rbf(x, y, z)", "Z = f(gx, gy)", says=("one in (gx, gy)",)),
        _asks_in_parts,
    ),
    LesserWay(
        (".()",),
        "Ask for some points at a time, and keep them as float32",
        "works on the coordinates of all points at once, in numbers of eight bytes.",
        "parts = [{owner}({of0}[at : at + 100_000]).astype('float32')  # a hundred thousand points\n"
        "         for at in range(0, len({a0}), 100_000)]\n{to} = np.concatenate(parts)",
        Case(
            "from scipy.interpolate import RegularGridInterpolator\nf = RegularGridInterpolator(xs, v)", "z = f(points)"
        ),
        is_made_by(*(f"interpolate.{name}" for name in _OF_POINTS)),
    ),
    LesserWay(
        tuple(f"{package}.linalg.{name}" for package in ("numpy", "scipy") for name in ("pinv", "lstsq")),
        "Solve the small system of the columns",
        "makes more matrices as large as the whole.",
        "G = {of0}.T @ {a0}  # columns x columns only\n"
        "found = np.linalg.solve(G, {of0}.T @ {b})  # some digits less exact",
        fits=lambda call, _death: {"b": "b" if len(call.node.args) == 1 else names(call)["a1"]},
    ),
    LesserWay(
        ("librosa.stft", "librosa.feature.melspectrogram", "librosa.cqt", "librosa.load"),
        "Take a part of the recording at a time, at a lower rate",
        "keeps all of the recording, and some numbers for each of its moments.",
        "import librosa\n\nfor start in range(0, seconds, 60):  # a minute at a time\n"
        "    part, rate = librosa.load(path, sr=16_000, offset=start, duration=60)\n    ...",
    ),
    LesserWay(
        ("scipy.io.wavfile.read",),
        "Leave the sound in its file: mmap=True",
        "reads the whole recording.",
        "rate, x = {function}({a0}, mmap=True)  # nothing is read yet\n"
        "for at in range(0, len(x), 60 * rate):\n"
        "    part = x[at : at + 60 * rate].astype('float32')  # a minute",
        fits=not_seen("mmap", 1),
    ),
    LesserWay(
        ("scipy.io.loadmat",),
        "Read only the variables that you need: variable_names",
        "reads all variables of the file.",
        "from scipy.io import loadmat, whosmat\n\nprint(whosmat({a0}))  # names and shapes, without reading\n"
        "{to} = loadmat({a0}, variable_names=['the name'])",
        fits=not_seen("variable_names"),
    ),
    LesserWay(
        ("numpy.triu_indices", "numpy.tril_indices"),
        "Take one row after the other: no list of all pairs",
        "writes two numbers of eight bytes for each pair.",
        "for i in range(len(x) - 1):\n    d = np.abs(x[i] - x[i + 1 :])  # one row with all that come after it\n"
        "    ...  # keep what is needed of it",
    ),
    LesserWay(
        ("scipy.linalg.toeplitz",),
        "Calculate with its first column, or a view: no full matrix",
        "writes the same few numbers again and again.",
        "from scipy.linalg import matmul_toeplitz, solve_toeplitz\n\n"
        "product = matmul_toeplitz({column}, x)  # with a Toeplitz matrix\n"
        "solution = solve_toeplitz({column}, y)  # and, where it is square, the solution of its equations\n\n"
        "# shifted copies of a series, as in a Hankel matrix, are a view:\n"
        "windows = np.lib.stride_tricks.sliding_window_view(series, 500)",
        Case("from scipy.linalg import toeplitz", "R = toeplitz(c, r)"),
        _column_and_row,
    ),
    LesserWay(
        ("scipy.cluster.hierarchy.linkage",),
        "Cluster a sample, or with a method that does not compare all pairs",
        "makes a number for each pair of rows.",
        "from sklearn.cluster import HDBSCAN, MiniBatchKMeans\n\n"
        "labels = HDBSCAN(min_cluster_size=20, copy=False).fit_predict({a0})\n"
        "groups = MiniBatchKMeans(n_clusters=1000).fit({a0}).cluster_centers_  # or link the centers of small groups",
    ),
    LesserWay(
        ("numpy.kron", "scipy.linalg.block_diag", "functools.reduce"),
        "Make the matrix sparse: scipy.sparse",
        "makes a full matrix, nearly all of it zeros.",
        "from scipy import sparse\nfrom scipy.sparse.linalg import spsolve\n"
        'A = sparse.kron(sparse.csr_array({a0}), sparse.csr_array({a1}), format="csr")\nx = spsolve(A, b)',
        fits=_makes_a_product,
        silent=(Case("from functools import reduce", "t = reduce(add, rows)"),),
    ),
    LesserWay(
        tuple(f"{package}.linalg.{name}" for package in ("numpy", "scipy") for name in ("eig", "eigh", "eigvals")),
        "Ask for some eigenvectors only: eigsh(k=10)",
        "makes all eigenvectors, and copies of the full matrix.",
        "from scipy.sparse.linalg import eigsh  # eigs, where it is not symmetric\n\n"
        "values, vectors = eigsh({a0}, k=10)  # the ten furthest from zero; a sparse matrix will do",
    ),
    LesserWay(
        ("scipy.stats.bootstrap", "scipy.stats.permutation_test", "scipy.stats.monte_carlo_test"),
        "Resample a few at a time: batch=100",
        "makes all resamples at once where no `batch` is given.",
        "{to} = {function}({a0}, ..., batch=100)  # with your other arguments",
        fits=not_seen("batch"),
    ),
    LesserWay(
        ("numpy.linalg.inv", "numpy.linalg.solve", "scipy.linalg.inv", "scipy.linalg.solve"),
        "Keep the matrix sparse, and solve without its inverse",
        "works on a full matrix and a copy of it.",
        "from scipy import sparse\nfrom scipy.sparse.linalg import spsolve\n\n"
        "A = sparse.csc_array(...)  # where nearly all is zero: from the start\nx = spsolve(A, b)",
    ),
    LesserWay(
        tuple(f"scipy.signal.{name}" for name in ("convolve", "fftconvolve", "convolve2d")),
        "Convolve a block at a time: oaconvolve, float32",
        "works on transforms of all data at once.",
        "from scipy.signal import oaconvolve\n\n"
        "{to} = oaconvolve({of0}.astype('float32'), {of1}.astype('float32'))  # mode= as before",
    ),
    LesserWay(
        tuple(f"{package}.fft.{name}" for package in ("numpy", "scipy") for name in ("fft", "fft2", "fftn")),
        "Transform real numbers of float32: rfft",
        "gives complex numbers of 16 bytes, also for the half that mirrors the other.",
        "from scipy import fft\n\n{to} = fft.r{last}({of0}.astype('float32'))  # real input: a quarter of it",
        Case("import numpy as np", "F = np.fft.fft2(img)", says=("F = fft.rfft2(img.astype",)),
        lambda call, _death: {"last": call.name.rpartition(".")[2]},
    ),
    LesserWay(
        ("scipy.signal.spectrogram", "scipy.signal.stft", "matplotlib.mlab.specgram", ".specgram"),
        "Let the windows overlap less: noverlap",
        "gives a column for each step from window to window, and a step is `nperseg - noverlap`.",
        "# with your other arguments\n{to} = {function}({a0}, nperseg=512, noverlap=256)  # a column for 256 samples",
    ),
    LesserWay(
        ("scipy.optimize.linprog", "scipy.optimize.milp", "scipy.optimize.lsq_linear"),
        "Give the constraints as a sparse matrix",
        "copies its matrices, zeros included.",
        "from scipy import sparse\n\nA = sparse.csr_array((values, (rows, columns)), shape=(m, n))  # as A_ub=, A_eq=",
    ),
    LesserWay(
        ("numpy.outer", *(f"numpy.{name}.outer" for name in ("subtract", "add", "multiply", "minimum", "maximum"))),
        "Take some rows of it at a time",
        "makes a number for each pair of a number of the one and one of the other.",
        "for at in range(0, len({a0}), {step}):\n    part = {function}({of0}[at : at + {step}], {a1})\n"
        "    ...  # keep what is needed of it: part.sum(axis=1), part.min(axis=1)\n\n"
        "# a product with it needs no table: np.outer(a, b) @ x is a * (b @ x)",
        Case("import numpy as np", "d = np.subtract.outer(x, y)"),
        lambda call, _death: len(call.node.args) > 1,
    ),
    LesserWay(
        ("numpy.pad", "torch.nn.functional.pad", "cv2.copyMakeBorder"),
        "Pad less, or let the filter that comes next pad by itself",
        "copies all of it into a larger array.",
        "print({of0}.shape)  # each side of each dimension grows: ((0, 0), (10, 10)) pads the second only\n"
        "# filters of scipy.ndimage pad by themselves: ndimage.uniform_filter(x, 5, mode='reflect')",
    ),
    LesserWay(
        tuple(f"scipy.signal.{name}" for name in ("correlate", "correlate2d")),
        "Correlate near the middle only, in float32: mode='same'",
        "gives a number for each shift, and works in numbers of eight bytes.",
        "{to} = {function}({of0}.astype('float32'), {of1}.astype('float32'), mode='same')  # less than 'full'",
        Case("from scipy import signal", "c = signal.correlate2d(a, b)"),
        lambda call, _death: len(call.node.args) > 1 and not call.argument("mode", 2),
    ),
    LesserWay(
        ("scipy.interpolate.griddata",),
        "Fill the grid a block of rows at a time",
        "works out all points of the grid at once.",
        "from scipy.interpolate import LinearNDInterpolator\n\nf = LinearNDInterpolator({a0}, {a1})  # once\n"
        "rows = [f(X[at : at + 100], Y[at : at + 100]).astype('float32') for at in range(0, len(X), 100)]",
    ),
    LesserWay(
        ("scipy.optimize.brute",),
        "Search without a grid of all: differential_evolution",
        "works the function out at each point of a grid: `Ns` times for each of its numbers, multiplied.",
        "from scipy.optimize import differential_evolution\n\n"
        "found = differential_evolution({a0}, bounds)  # your ranges as (low, high); then found.x",
        Case("from scipy.optimize import brute", "x = brute(f, ((0, 1),) * 6, Ns=50)"),
        lambda call, _death: bool(call.node.args),
    ),
    LesserWay(
        ("scipy.optimize.least_squares",),
        "Say which numbers a residual depends on: jac_sparsity, tr_solver='lsmr'",
        "keeps a number for each pair of a residual and a variable.",
        "fit = least_squares({a0}, {a1}, jac_sparsity=pattern, tr_solver='lsmr')  # a sparse pattern of ones\n"
        "# where each depends on all: every tenth residual",
        Case("from scipy.optimize import least_squares", "fit = least_squares(f, x0)"),
        lambda call, _death: call.is_written_out and len(call.node.args) > 1 and call.argument("jac_sparsity") is None,
    ),
    LesserWay(
        ("scipy.optimize.linear_sum_assignment",),
        "Match only pairs that are near: min_weight_full_bipartite_matching",
        "works on a number of eight bytes for each pair.",
        "from scipy.sparse.csgraph import min_weight_full_bipartite_matching\n\n"
        "rows, columns = min_weight_full_bipartite_matching(near)  # near: a csr_array of the pairs that may match",
        Case("from scipy.optimize import linear_sum_assignment", "i, j = linear_sum_assignment(C)"),
    ),
)
