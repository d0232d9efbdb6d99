import ast

from ...calls import makers
from ...code.trees import unparse
from ...edits import Changes, replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size

_NYSTROEM = "from sklearn.kernel_approximation import Nystroem\n\nZ = Nystroem(n_components=100).fit_transform({X})"
_KMEANS = "from sklearn.cluster import MiniBatchKMeans\n\nlabels = MiniBatchKMeans(n_clusters=10).fit_predict({X})"
_NEIGHBORS = (
    "# each row with its nearest only, with your other arguments\n"
    "model = SpectralClustering(affinity='nearest_neighbors', n_neighbors=10)\nlabels = model.fit_predict({X})"
)
_HDBSCAN = "from sklearn.cluster import HDBSCAN\n\nlabels = HDBSCAN(min_cluster_size=20).fit_predict({X})"
_NEAR = (
    "  # needs no eps\n\nfrom sklearn.cluster import DBSCAN\n\n"
    "labels = DBSCAN(eps=0.003, min_samples=50).fit_predict({X})  # a smaller eps, in the units of the columns:\n"
    "# in degrees 0.003 are some 300 m; a degree is 111 km"
)
_KNN = (
    "# each row with its nearest only, with your other arguments\n"
    "model = LabelSpreading(kernel='knn', n_neighbors=7).fit({X}, {y})"
)

_INSTEAD = {
    "sklearn.decomposition.KernelPCA": _NYSTROEM,
    "sklearn.kernel_ridge.KernelRidge": _NYSTROEM + "\nmodel = Ridge().fit(Z, {y})",
    "sklearn.gaussian_process.GaussianProcessRegressor": _NYSTROEM + "\nmodel = BayesianRidge().fit(Z, {y})",
    "sklearn.gaussian_process.GaussianProcessClassifier": _NYSTROEM + "\nmodel = LogisticRegression().fit(Z, {y})",
    "sklearn.cluster.DBSCAN": _HDBSCAN + _NEAR,
    "sklearn.cluster.AgglomerativeClustering": _KMEANS,
    "sklearn.cluster.AffinityPropagation": _KMEANS,
    "sklearn.cluster.SpectralClustering": _NEIGHBORS,
    "sklearn.neighbors.LocalOutlierFactor": "from sklearn.ensemble import IsolationForest\n\n"
    "labels = IsolationForest().fit_predict({X})  # compares no rows; or fewer neighbours: n_neighbors=20",
    "sklearn.manifold.MDS": "from sklearn.manifold import TSNE\n\nZ = TSNE().fit_transform({X}[::10])  # a sample",
    "sklearn.manifold.Isomap": _NYSTROEM,
    "sklearn.semi_supervised.LabelPropagation": _KNN.replace("Spreading", "Propagation"),
    "sklearn.semi_supervised.LabelSpreading": _KNN,
}
"""Estimators that hold a number for each pair of rows, and what to take in their place."""
_SAMPLED = (
    *("KernelPCA", "Isomap", "KernelRidge", "GaussianProcessRegressor", "GaussianProcessClassifier", "SVC", "NuSVC"),
)
"""Those that can be fitted to some rows and used on all."""

_HOLDS = {"sklearn.cluster.DBSCAN": "for each row the numbers of all rows within `eps`: the larger that is, the more"}


class QuadraticEstimator(Fix):
    """Fit the model on a part of the rows, or take one that does not compare all pairs.

    What it does: Kernel methods, spectral and hierarchical clustering hold a number for each pair of rows: 60,000 rows
    are 26.8 GiB. The edit fits the model to every k-th row, where it can be used on others afterwards. The snippet
    names a method for many rows: Nystroem, HDBSCAN, MiniBatchKMeans.

    When it is offered: Memory ran out while such a model was fitted, and the square of the rows is a good part of what
    was missing, where their number is known.

    What it costs: Another model: less exact, and with another meaning of its parameters.
    """

    id, title, causes = "quadratic-estimator", "Fit on a part of the rows, or compare fewer pairs", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\nfrom sklearn.decomposition import KernelPCA\nX = np.random.rand(25_000, 20)",
            "Z = KernelPCA(n_components=5, kernel='rbf').fit_transform(X)",
            becomes="Z = KernelPCA(n_components=5, kernel='rbf').fit(X[::16]).transform(X)",
            says=("4.7 GiB", "Nystroem(n_components=100).fit_transform(X)"),
        ),
        Case(
            "from sklearn import cluster\nmodel = cluster.AgglomerativeClustering(n_clusters=10)",
            "labels = model.fit_predict(table)",
            says=("MiniBatchKMeans", "fit_predict(table)"),
        ),
        Case(
            "from sklearn.cluster import DBSCAN\ndef spots(t, r=0.3): return DBSCAN(eps=r).fit_predict(t[['a', 'b']])",
            "labels = spots(table)",
            says=("all rows within `eps`", "smaller eps", "fit_predict(t[['a', 'b']])"),
        ),
        Case(
            "from sklearn.cluster import SpectralClustering",
            "labels = SpectralClustering(3).fit_predict(X)",
            says=("affinity='nearest_neighbors'",),
        ),
        Case(
            "from sklearn.semi_supervised import LabelSpreading\nmodel = LabelSpreading(gamma=0.2)",
            "model.fit(X, y)",
            says=("kernel='knn'",),
        ),
    ]
    SILENT = [
        Case("from sklearn.semi_supervised import LabelSpreading", "LabelSpreading(kernel='knn').fit(X, y)"),
        Case(
            "from sklearn.cluster import SpectralClustering", "SpectralClustering(affinity='nearest_neighbors').fit(X)"
        ),
        Case("from sklearn.cluster import KMeans", "KMeans(5).fit(X)"),
        Case("from sklearn.cluster import DBSCAN", "DBSCAN(eps=1).fit(X)\nbig = [0] * 10**10", line=2),
        Case(
            "import numpy as np\nfrom sklearn.cluster import DBSCAN\nX = np.random.rand(2_000, 20)", "DBSCAN().fit(X)"
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        for made, used in makers(death, *_INSTEAD):
            data, missing = used.argument("X", 0), death.memory.missing_bytes or 0
            value = death.values.of(data, used.scope)
            rows = value.rows if value is not None else None
            if (
                data is None
                or "neighbors" in unparse(made.argument("affinity") or ast.Constant(""))
                or "knn" in unparse(made.argument("kernel", 0) or ast.Constant(""))
                or (isinstance(data, ast.Subscript) and not isinstance(data.slice, ast.List | ast.Constant))
                or used.name in ("predict", "transform", "score", "predict_proba")
            ):
                continue
            given = dict(zip(("X", "y"), (used.scope.segment(one) for one in used.node.args[:2]), strict=False))
            square = missing if rows is None else rows * rows * 8
            takes = "" if rows is None else f": {rows:,} rows are {size(square)}"
            holds = _HOLDS.get(made.name, f"a number for each pair of rows{takes}")
            yield Proposal(
                _on_a_part(made, used, rows, death),
                f"{quote(made.text)} holds {holds}. Fit it to a part of the rows "
                "(subsample), or take a method for many rows.",
                min(square, missing),
                snippet=_INSTEAD[made.name].format(**{"X": "X", "y": "y", **given}),
            )


def _on_a_part(made: Call, used: Call, rows: int | None, death: Death) -> Changes:
    """Return the edit that fits to every k-th row, where these are few enough."""
    function, headroom = used.node.func, death.safe_headroom_bytes
    is_own = used.node in used.scope.calls  # not of cross_validate
    plain = is_own and all(isinstance(one, ast.Name) for one in used.node.args) and not used.node.keywords
    if made.name.rpartition(".")[2] not in _SAMPLED or rows is None or not headroom or not plain:
        return ()
    step = next((step for step in (2, 4, 8, 16, 32, 64) if 4 * rows * rows * 8 // step <= headroom), None)
    if step is None or not isinstance(function, ast.Attribute):
        return ()
    owner, names = used.scope.segment(function.value), [used.scope.segment(one) for one in used.node.args]
    fitted = f"{owner}.fit({', '.join(f'{name}[::{step}]' for name in names)})"
    after = f".transform({names[0]})" if used.name == "fit_transform" else ""
    return replace(used.scope, used.node, fitted + after)
