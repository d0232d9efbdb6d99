"""Arrays, graphs, and models that scikit-learn fits."""

from ..case import Case
from .way import LesserWay, is_made_by

WAYS = (
    LesserWay(
        ("numpy.histogramdd", "numpy.histogram2d"),
        "Count only the bins that occur, or take fewer bins",
        "makes a number for each combination of bins, nearly all of them zero.",
        "found, counts = np.unique(np.floor(points / width), axis=0, return_counts=True)  # width of a bin",
        Case(
            "import numpy as np", "counts, _ = np.histogramdd(points, bins=edges)", says=("only the bins that occur",)
        ),
    ),
    LesserWay(
        ("numpy.kron", "scipy.linalg.block_diag"),
        "Make the matrix sparse: scipy.sparse",
        "makes a full matrix, nearly all of it zeros.",
        "from scipy import sparse\nfrom scipy.sparse.linalg import spsolve\n"
        'A = sparse.kron(sparse.csr_array({a0}), sparse.csr_array({a1}), format="csr")\nx = spsolve(A, b)',
        Case("import numpy as np", "A = np.kron(L, I) + np.kron(I, L)", says=("sparse.csr_array(L)",)),
    ),
    LesserWay(
        ("numpy.tile", "numpy.repeat"),
        "Let it broadcast, without a copy: np.broadcast_to",
        "writes the same numbers again and again. Arithmetic repeats them by itself where a dimension is 1.",
        "view = np.broadcast_to({a0}, shape)  # takes no memory; often `x[:, None]` is enough",
        Case("import numpy as np", "grid = np.tile(row, (10**6, 1))", says=("np.broadcast_to(row",)),
    ),
    LesserWay(
        (".fit_transform", ".fit"),
        "Count with a fixed number of columns: HashingVectorizer",
        "keeps every word and n-gram that occurs in a dict; `max_features` only helps afterwards.",
        "from sklearn.feature_extraction.text import HashingVectorizer\n"
        "X = HashingVectorizer(ngram_range=(2, 4), n_features=2**20).transform({a0})  # with your other arguments",
        Case(
            "from sklearn.feature_extraction.text import TfidfVectorizer\nvec = TfidfVectorizer(ngram_range=(1, 5))",
            "X = vec.fit_transform(texts)",
            says=("HashingVectorizer", "transform(texts)"),
        ),
        is_made_by("text.CountVectorizer", "text.TfidfVectorizer"),
    ),
    LesserWay(
        ("networkx.to_numpy_array", "networkx.adjacency_matrix", "networkx.floyd_warshall_numpy"),
        "Keep the graph's matrix sparse: to_scipy_sparse_array",
        "makes a number for each pair of nodes.",
        "A = nx.to_scipy_sparse_array({a0})",
        Case("import networkx as nx", "A = nx.to_numpy_array(G)", says=("to_scipy_sparse_array(G)",)),
    ),
)
