import ast

from ...calls import makers
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size

_SHARED = ("n_components", "whiten", "copy")  # parameters that both have
_SNIPPET = (
    "from sklearn.decomposition import IncrementalPCA\nfrom sklearn.utils import gen_batches\n\n"
    "pca = IncrementalPCA(n_components={few})\n"
    "batches = list(gen_batches(len({rows}), 2_000, min_batch_size={few}))  # each with at least {few} rows\n"
    "for batch in batches:\n    pca.partial_fit({rows}[batch])\n"
    "Z = np.concatenate([pca.transform({rows}[batch]) for batch in batches])"
)
_PCA = "import numpy as np\nfrom sklearn import decomposition\nX = np.random.rand(60_000, 2_000)\n"


class IncrementalDecomposition(Fix):
    """Work out the principal components batch by batch.

    What it does: `PCA` centres a copy of all data and decomposes that. `IncrementalPCA.partial_fit` takes some rows at
    a time; together with `np.load(..., mmap_mode="r")` the data need not be in memory at all.

    When it is offered: Memory ran out while a `PCA` of a given number of components was fitted, and a copy of the data
    is a good part of what was missing, where their shape is known.

    What it costs: Components differ slightly, and the batches take longer.
    """

    id, title, causes = "incremental-decomposition", "Work out the components batch by batch", (Family.MEMORY,)

    FIRES = [
        Case(
            _PCA + "pca = decomposition.PCA(n_components=50)",
            "Z = pca.fit_transform(X)",
            before_mib=1100,
            says=("916 MiB", "IncrementalPCA(n_components=50)", "pca.partial_fit(X[batch])"),
        ),
        Case(
            "from sklearn.decomposition import PCA, IncrementalPCA\nfrom sklearn.pipeline import make_pipeline",
            "pipe = make_pipeline(PCA(20), model)\npipe.fit(X, y)",
            says=("pca.partial_fit(X[batch])",),
        ),
    ]
    SILENT = [
        Case("from sklearn.decomposition import PCA", "PCA(5, svd_solver='full').fit(X)"),
        Case("from sklearn.decomposition import PCA", "PCA(0.95).fit(X)"),  # a share of the variance
        Case("from sklearn.decomposition import PCA", "PCA(5).fit(X)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nfrom sklearn.decomposition import PCA\nX = np.ones((50, 9))", "PCA(2).fit(X)\nf()"),
    ]

    def propose(self, death: Death) -> Proposals:
        for made, used in makers(death, "sklearn.decomposition.PCA"):
            given, missing = made.argument("n_components", 0), death.memory.missing_bytes or 0
            plain = all(word.arg in _SHARED for word in made.node.keywords) and len(made.node.args) < 2
            if not plain or given is None or (isinstance(given, ast.Constant) and not isinstance(given.value, int)):
                continue
            value = death.values.of(data, used.scope) if (data := used.argument("X", 0)) is not None else None
            takes = None if value is None else value.bytes
            copy = "" if takes is None else f" of {size(takes)}"
            why = f"{quote(made.text)} centres a copy{copy} of all data and decomposes that. `IncrementalPCA` can be "
            why += "given some rows at a time: `partial_fit`. Its `fit` of all rows takes more than `PCA`."
            rows = "X" if data is None else used.scope.segment(data)
            snippet = _SNIPPET.format(rows=rows, few=made.scope.segment(given))
            yield Proposal((), why, missing if takes is None else takes, snippet=snippet)
