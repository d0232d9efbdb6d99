"""Functions of all pairs: of points, nodes, texts or states."""

from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import both, is_method_of, made, of_many_rows, without
from .way import LesserWay

_KERNELS = (
    *(
        f"sklearn.metrics.pairwise.{name}"
        for name in (
            *("manhattan_distances", "nan_euclidean_distances", "haversine_distances", "pairwise_kernels"),
            *("laplacian_kernel", "polynomial_kernel", "sigmoid_kernel", "chi2_kernel", "additive_chi2_kernel"),
        )
    ),
    *("tslearn.metrics.cdist_dtw", "tslearn.metrics.cdist_soft_dtw"),
)
_QUANTUM = ("Statevector", "Operator", "DensityMatrix")
_LONGEST = 30


def _points(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the second coordinate of many points, as it is written."""
    given = call.argument("x", 1)
    text = "" if given is None else call.scope.operand(given)
    return {"x": text if 0 < len(text) <= _LONGEST else "x"} if of_many_rows(call, death) else False


WAYS = (
    LesserWay(
        _KERNELS,
        "Work through the pairs a block of rows at a time",
        "makes a number for each pair of rows.",
        "for at in range(0, len({a0}), {step}):\n    part = {function}({of0}[at : at + {step}], {a0})\n"
        "    ...  # keep the nearest of each, or a sum; with your other arguments",
        Case("from sklearn.metrics.pairwise import manhattan_distances", "D = manhattan_distances(X)"),
        lambda call, death: len(call.node.args) == 1 and of_many_rows(call, death),
    ),
    LesserWay(
        (
            *("dtaidistance.dtw.distance_matrix", "dtaidistance.dtw.distance_matrix_fast"),
            "dtaidistance.dtw_ndim.distance_matrix",
        ),
        "Compare a block of series with all: block, compact=True",
        "makes a number for each pair of series, and a full matrix of them.",
        "n = len({a0})\nfor at in range(0, n, 1000):\n"
        "    part = {function}({a0}, block=((at, min(at + 1000, n)), (0, n), False), compact=True)\n"
        "    ...  # keep the nearest of each; window=20 looks at steps near each other only",
        Case("from dtaidistance import dtw", "D = dtw.distance_matrix(series)"),
        lambda call, _death: bool(call.node.args) and call.argument("block") is None,
    ),
    LesserWay(
        ("MDAnalysis.analysis.distances.distance_array", "MDAnalysis.analysis.distances.self_distance_array"),
        "Keep only pairs that are near: capped_distance",
        "makes a number for each pair of atoms.",
        "from MDAnalysis.lib.distances import capped_distance\n\n"
        "pairs, d = capped_distance({a0}, {a0}, max_cutoff=8.0)  # pairs within 8 Å; your second set in its place",
        Case("from MDAnalysis.analysis import distances", "d = distances.self_distance_array(atoms)"),
        of_many_rows,
    ),
    LesserWay(
        ("rapidfuzz.process.cdist",),
        "Keep the best of each text only: process.extract with score_cutoff",
        "makes a number for each pair of texts.",
        "from rapidfuzz import process\n\nfor text in {a0}:\n"
        "    best = process.extract(text, {a1}, limit=5, score_cutoff=80)  # with your scorer\n"
        "# or a quarter of the table: process.cdist(..., dtype=np.uint8)",
        Case("from rapidfuzz import process", "s = process.cdist(a, b)"),
        lambda call, _death: len(call.node.args) == 2,
    ),
    LesserWay(
        (".full", ".index"),
        "Compare only rows that share something: block, sortedneighbourhood",
        "makes all pairs of rows.",
        "indexer = recordlinkage.Index()\nindexer.block('city')  # only pairs that share this; or\n"
        "indexer.sortedneighbourhood('name', window=5)  # or that stand near each other in order",
        Case(
            "import recordlinkage\nindexer = recordlinkage.Index()",
            "indexer.full()\npairs = indexer.index(a, b)",
            line=2,
        ),
        lambda call, death: bool(made("recordlinkage")(call, death)) and death.code.has_text(".full()"),
        silent=(Case("import recordlinkage\ni = recordlinkage.Index()\ni.block('city')", "pairs = i.index(a, b)"),),
    ),
    LesserWay(
        (".execute",),
        "Let each point see its nearest only: backend='loop', n_closest_points=12",
        "makes a number for each pair of a point of the grid and one that is known.",
        "found, variance = {owner}.execute({arguments}, backend='loop', n_closest_points=12)  # a point at a time",
        Case(
            "from pykrige.ok import OrdinaryKriging\nok = OrdinaryKriging(x, y, z)", "z, s = ok.execute('grid', gx, gy)"
        ),
        lambda call, death: (
            both(made("pykrige", "OrdinaryKriging"), without("backend", "n_closest_points"))(call, death)
            and {"arguments": ", ".join(map(call.scope.segment, call.node.args)) or "'grid', x, y"}
        ),
        silent=("z, s = ok.execute('grid', gx, gy, backend='loop')",),
    ),
    LesserWay(
        ("GPy.models.GPRegression",),
        "Learn from some hundred inducing points: a sparse Gaussian process",
        "makes some matrices of a number for each pair of rows.",
        "model = GPy.models.SparseGPRegression({a0}, {a1}, num_inducing=200)  # 200 numbers for each row",
        Case("import GPy", "m = GPy.models.GPRegression(X, Y)"),
        of_many_rows,
    ),
    LesserWay(
        ("ot.dist", "ot.emd", "ot.emd2", "ot.sinkhorn", "ot.sinkhorn2"),
        "Compare along some hundred lines: sliced_wasserstein_distance; or samples",
        "works on a number for each pair of points.",
        "import ot\n\nd = ot.sliced_wasserstein_distance(X, Y, n_projections=200)  # your points; no pairs\n"
        "# or the exact one of samples: X[::20], Y[::20]",
        Case("import ot", "M = ot.dist(X, Y)"),
        of_many_rows,
    ),
    LesserWay(
        (".fit",),
        "Learn some factors of users and items: SVD, no similarity of all pairs",
        "makes a number for each pair of users, or of items.",
        "from surprise import SVD\n\nmodel = SVD(n_factors=50).fit({a0})  # 50 numbers for each user and item\n"
        "# or, where there are fewer items than users: KNNBasic(sim_options={{'user_based': False}})",
        Case("from surprise import KNNBasic\nk = KNNBasic()", "k.fit(t)"),
        made("surprise", "KNNBasic", "KNNWithMeans", "KNNWithZScore", "KNNBaseline"),
    ),
    LesserWay(
        ("scipy.stats.theilslopes", "scipy.stats.siegelslopes"),
        "Take fewer points: means of months or years, every tenth, a sample of the pairs",
        "works out the slope between every two of the points: a tenth of them needs a hundredth.",
        "few_y, few_x = {of0}[::10], {x}[::10]  # every tenth point\n{to} = {function}(few_y, few_x)\n\n"
        "months = series.resample('MS').mean()  # of days: the means of months, or of years ('YS'); the same trend\n\n"
        "values, times = np.asarray({a0}), np.asarray({x})  # or a million of the pairs, drawn\n"
        "i, j = np.random.default_rng(0).integers(0, len(times), (2, 1_000_000))\n"
        "differ = times[i] != times[j]\n"
        "slope = np.median((values[i] - values[j])[differ] / (times[i] - times[j])[differ])",
        Case("from scipy import stats", "s = stats.theilslopes(y, x)", says=("few_y, few_x = y[::10], x[::10]",)),
        _points,
    ),
    LesserWay(
        ("statsmodels.stats.stattools.medcouple",),
        "Take a sample of the points",
        "makes a number for each pair of points.",
        "few = np.random.default_rng(0).choice(len({a0}), 2000, replace=False)  # 2,000 points: nearly the same\n"
        "{to} = {function}({of0}[few])",
        fits=of_many_rows,
    ),
    LesserWay(
        (".()", "scipy.interpolate.barycentric_interpolate"),
        "Go from point to point: CubicSpline, PchipInterpolator",
        "works out a number for each pair of a point that is asked for and one that is known.",
        "from scipy.interpolate import CubicSpline\n\n"
        "f = CubicSpline(x, y)  # your known points, x in rising order: four numbers for each\n"
        "{to} = f({a0})  # one polynomial through many points swings wildly, too",
        Case("from scipy.interpolate import BarycentricInterpolator\nf = BarycentricInterpolator(x, y)", "z = f(t)"),
        lambda call, death: call.name != ".()" or made("scipy", "BarycentricInterpolator")(call, death),
    ),
    LesserWay(
        (
            *(f"scipy.spatial.{name}" for name in ("Delaunay", "ConvexHull", "Voronoi")),
            *("scipy.interpolate.LinearNDInterpolator", "scipy.interpolate.CloughTocher2DInterpolator"),
        ),
        "Take fewer points or fewer dimensions",
        "makes triangles between the points; with each dimension there are several times as many.",
        "from sklearn.decomposition import PCA\n"
        "from scipy.interpolate import NearestNDInterpolator, RBFInterpolator\n\n"
        "few = {of0}[::10]  # every tenth point; of more than three columns:\n"
        "few = PCA(n_components=3).fit_transform(few)\n\n"
        "f = RBFInterpolator(points, values, neighbors=30)  # to interpolate: no triangles; or NearestNDInterpolator",
    ),
    LesserWay(
        tuple(f"scipy.sparse.csgraph.{name}" for name in ("dijkstra", "shortest_path", "johnson", "bellman_ford")),
        "Start from some nodes at a time: indices",
        "makes a number for each pair of nodes.",
        "for at in range(0, {of0}.shape[0], 100):\n"
        "    part = {function}({a0}, indices=range(at, min(at + 100, {of0}.shape[0])))  # a hundred nodes\n"
        "    ...  # keep what is needed of these hundred rows",
        Case("from scipy.sparse.csgraph import dijkstra", "D = dijkstra(G)"),
        without("indices"),
        silent=("D = dijkstra(G, indices=[1, 2])",),
    ),
    LesserWay(
        (
            *(f"qiskit.quantum_info.{name}{more}" for name in _QUANTUM for more in ("", ".from_instruction")),
            "qiskit.quantum_info.Operator.from_circuit",
        ),
        "Sample the circuit without its whole state: method='matrix_product_state'",
        "keeps a number for each state of all qubits, 16 bytes; an operator or density for each pair of states.",
        "from qiskit_aer import AerSimulator\n\nsimulator = AerSimulator(method='matrix_product_state')\n"
        "counts = simulator.run(circuit, shots=1000).result().get_counts()  # with measure_all(); one qubit less: half",
    ),
    LesserWay(
        (".query_pairs", ".sparse_distance_matrix", ".query_ball_tree"),
        "Look around some points at a time, or only count: query_ball_point, count_neighbors",
        "keeps all pairs that are near enough: twice the radius has four times as many, or eight in space.",
        "for at in range(0, len(points), 1000):  # points: what the tree was made of\n"
        "    near = {owner}.query_ball_point(points[at : at + 1000], r)  # keep a count or a mean of each\n\n"
        "count = ({owner}.count_neighbors({owner}, r) - len(points)) // 2  # or how many pairs there are in all\n"
        "pairs = {owner}.query_pairs(r, output_type='ndarray')  # or 16 bytes for a pair, no Python objects",
        Case("from scipy.spatial import cKDTree\nt = cKDTree(X)", "n = t.query_pairs(5)"),
        both(is_method_of("scipy"), lambda call, _death: call.argument("output_type") is None),
    ),
)
