"""Models that compare all rows, or all columns, with each other: a number for each pair."""

import ast

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import both, given, made, of_many_rows, without
from .way import LesserWay, Test

_MATRICES = 10
_KERNEL_MACHINES = ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")


def _has_own_kernel(call: Call, death: Death) -> bool:
    """Whether a kernel is a function, so that it is worked out for all pairs before the fit."""
    kernel = call.argument("kernel")
    if not isinstance(kernel, ast.Name):
        return isinstance(kernel, ast.Lambda)
    is_own = death.code.definition(kernel, call.scope) is not None
    return is_own or death.code.qualified(kernel, call.scope) is not None


def _of_many_columns(call: Call, death: Death) -> bool:
    """Whether a number for each pair of columns may explain the missing memory, with ten such matrices."""
    value = death.values.of(call.node.args[0], call.scope) if call.node.args else None
    columns = value.shape[1] if value is not None and len(value.shape) > 1 else None
    return columns is None or columns * columns * 8 * _MATRICES >= (death.memory.missing_bytes or 0) // _MATRICES


def _fit(
    made_by: str,
    title: str,
    makes: str,
    snippet: str,
    told: Test | None = None,
    *,
    others: tuple[str, ...] = (),
    given: str = "",
    silent: str = "",
    fits: Test = of_many_rows,
) -> LesserWay:
    """Return the entry of the models of sklearn that one of these classes makes, as `mixture.GaussianMixture`.

    Its example makes one with what is `given`; a model that is given what is `silent` is well.
    """
    module, _, name = made_by.rpartition(".")
    imported = f"from sklearn.{module} import {name}"
    return LesserWay(
        (".fit", ".fit_transform", ".fit_predict"),
        title,
        makes,
        snippet,
        Case(f"{imported}\nm = {name}({given})", "m.fit(X, y)"),
        both(fits, made("sklearn", name, *others, told=told, parts=True)),
        silent=(Case(imported, f"{name}({silent}).fit(X)"),) if silent else (),
    )


WAYS = (
    _fit(
        "semi_supervised.LabelSpreading",
        "Spread labels to the nearest rows only: kernel='knn'",
        "makes a number for each pair of rows with `kernel='rbf'`.",
        "from sklearn.semi_supervised import LabelSpreading\n\n"
        "model = LabelSpreading(kernel='knn', n_neighbors=7).fit({a0}, {a1})  # seven numbers for each row",
        without("kernel", 0),
        silent="kernel='knn'",
    ),
    _fit(
        "manifold.SpectralEmbedding",
        "Draw the graph of the nearest rows only: affinity='nearest_neighbors'",
        "makes a number for each pair of rows with `affinity='rbf'`.",
        "from sklearn.manifold import SpectralEmbedding\n\n"
        "{to} = SpectralEmbedding(affinity='nearest_neighbors', n_neighbors=10).fit_transform({a0})",
        given("rbf", "affinity"),
        given="affinity='rbf'",
        silent="n_components=3",
    ),
    _fit(
        "neighbors.NeighborhoodComponentsAnalysis",
        "Learn the metric from a sample of the rows",
        "makes a number for each pair of rows in each step.",
        "few = np.random.default_rng(0).choice(len({a0}), 3000, replace=False)  # 3,000 rows\n"
        "model = NeighborhoodComponentsAnalysis().fit({of0}[few], {of1}[few])\n"
        "Z = model.transform({a0})  # of all rows",
    ),
    LesserWay(
        (".fit", ".fit_transform", ".fit_predict"),
        "Give your kernel to Nystroem: it compares all rows with some hundred",
        "asks its kernel for a number for each pair of rows, before it fits.",
        "from sklearn.kernel_approximation import Nystroem\nfrom sklearn.linear_model import SGDClassifier\n\n"
        "Z = Nystroem(kernel=your_kernel, n_components=300).fit_transform({a0})  # it gets one pair of rows a time\n"
        "model = SGDClassifier().fit(Z, y)  # SGDRegressor for numbers, SGDOneClassSVM without y",
        Case("from sklearn.svm import SVC\ndef k(a, b):\n    return a @ b.T\nm = SVC(kernel=k)", "m.fit(X, y)"),
        both(of_many_rows, made("sklearn", *_KERNEL_MACHINES, told=_has_own_kernel, parts=True)),
        silent=(
            Case("from sklearn.svm import OneClassSVM", "OneClassSVM(kernel='rbf').fit(X)"),
            Case("from sklearn.svm import OneClassSVM\nname = 'linear'\nm = OneClassSVM(kernel=name)", "m.fit(X)"),
        ),
    ),
    LesserWay(
        (".fit", ".fit_predict"),
        "Scale the rows to length 1: the Euclidean distance has trees, cosine has none",
        "makes a number for each pair of rows: there is no tree for this metric.",
        "from sklearn.cluster import HDBSCAN\nfrom sklearn.preprocessing import normalize\n\n"
        "rows = normalize({a0})  # then the Euclidean distance orders pairs as cosine does\n"
        "labels = HDBSCAN(min_cluster_size=20, algorithm='kd_tree', copy=False).fit_predict(rows)  # with yours",
        Case("import hdbscan\nc = hdbscan.HDBSCAN(metric='cosine')", "c.fit(X)"),
        lambda call, death: (
            of_many_rows(call, death)
            and any(made(one, "HDBSCAN", told=given("cosine", "metric"))(call, death) for one in ("hdbscan", "sklearn"))
        ),
        silent=(Case("from sklearn.cluster import HDBSCAN", "HDBSCAN(min_cluster_size=9).fit(X)"),),
    ),
    _fit(
        "cluster.Birch",
        "Make fewer small clusters first: threshold; or leave them as they are: n_clusters=None",
        "joins its small clusters by a number for each pair of these; a small `threshold` makes very many.",
        "from sklearn.cluster import Birch\n\nmodel = Birch(threshold=1.0, n_clusters=None).fit({a0})\n"
        "print(len(model.subcluster_centers_))  # some thousand at most: a larger threshold makes fewer",
        without("n_clusters", 2),
        given="threshold=0.01",
        silent="n_clusters=None",
    ),
    _fit(
        "mixture.GaussianMixture",
        "Give each component a variance for each column only: covariance_type='diag'",
        "keeps a number for each pair of columns of each component with `covariance_type='full'`.",
        "from sklearn.mixture import GaussianMixture\n\n"
        "model = GaussianMixture(n_components=10, covariance_type='diag').fit({a0})  # with your n_components\n"
        "# or fewer columns before: PCA(n_components=50)",
        without("covariance_type"),
        others=("BayesianGaussianMixture",),
        silent="9, covariance_type='diag'",
        fits=_of_many_columns,
    ),
    _fit(
        "covariance.LedoitWolf",
        "Take fewer columns before: PCA, or those that vary most",
        "makes a number for each pair of columns, and some matrices as large.",
        "from sklearn.decomposition import PCA\n\n"
        "few = PCA(n_components=100).fit_transform({a0})\n"
        "{owner}.fit(few)  # 100 x 100 numbers; and your y, where it takes one",
        others=(
            *("EmpiricalCovariance", "OAS", "ShrunkCovariance", "MinCovDet", "EllipticEnvelope", "GraphicalLasso"),
            *("GraphicalLassoCV", "QuadraticDiscriminantAnalysis", "ARDRegression", "LassoLars", "LassoLarsIC"),
        ),
        fits=_of_many_columns,
    ),
)
