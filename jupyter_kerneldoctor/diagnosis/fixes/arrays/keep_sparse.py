import ast

from ...calls import calls_at
from ...code.calls import last_name
from ...code.trees import unparse
from ...edits import Changes, import_as, replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.pandas import frame_name

_MATRIX = "import scipy.sparse as sp, pandas as pd\nX = sp.random(30_000, 40_000, density=0.001, format='csr')"
_TEXT = "from sklearn.feature_extraction.text import TfidfVectorizer\nvec = TfidfVectorizer()"
_TAKES = ("fit", "fit_transform", "predict", "predict_proba", "score", "cross_val_score", "train_test_split")
"""What of scikit-learn takes a sparse matrix, for nearly all of its estimators."""
_DENSE_ONLY = (
    *("GaussianNB", "HistGradient", "LinearDiscriminant", "QuadraticDiscriminant", "GaussianProcess", "StandardScaler"),
    *("PCA", "Agglomerative", "GaussianMixture", "keras", "tensorflow", "torch", "MinMaxScaler", "TSNE", "Imputer"),
    *("KernelDensity", "MeanShift", "AffinityPropagation", "PowerTransformer", "Spline", "CCA", "PLS", "FastICA"),
    *("MiniBatchDictionary", "EllipticEnvelope", "EmpiricalCovariance", "LedoitWolf", "ARDRegression", "BayesianRidge"),
)
_MAKE_DENSE = {"values", "to_numpy", "astype", "corr", "apply", "iloc", "loc", "to_csv"}
"""What does not take one: where it is mentioned, nothing is edited."""
_LABELS = {"index", "columns"}
"""What a table may be given beside the matrix, also in this order."""


class KeepSparse(Fix):
    """Keep the matrix sparse.

    What it does: `toarray()` and `todense()` write down every zero: 30,000 texts and 40,000 words are 8.9 GiB, of which
    0.1 % is not zero. Most of scikit-learn, `X.sum()`, `X.mean()` and `X @ w` take the sparse matrix as it is, and
    pandas keeps it with `pd.DataFrame.sparse.from_spmatrix`.

    When it is offered: Memory ran out on a line that calls one of them. It is an edit where an estimator, a sum or a
    data frame takes the result.

    What it costs: An estimator that needs all zeros, such as `GaussianNB`, says so.
    """

    id, title, causes = "keep-sparse", "Keep the matrix sparse", (Family.MEMORY,)

    FIRES = [
        Case(
            _MATRIX,
            "df = pd.DataFrame(X.todense())\ndf.sum()",
            becomes="df = pd.DataFrame.sparse.from_spmatrix(X)\ndf.sum()",
        ),
        Case(
            _TEXT + "\nimport pandas as pd\ncounts = vec.fit_transform(texts)",
            "df = pd.DataFrame(counts.toarray(), columns=vec.get_feature_names_out())",
            becomes="df = pd.DataFrame.sparse.from_spmatrix(counts, columns=vec.get_feature_names_out())",
        ),
        Case(_MATRIX, "df = pd.DataFrame(X.toarray(), dtype='float32')", says=("X[:1000].toarray()",)),
        Case(_TEXT, "clf.fit(vec.fit_transform(docs).toarray(), labels)", becomes={"(docs).toarray()": "(docs)"}),
        Case(
            _TEXT + "\nbow = vec.fit_transform(docs)",
            "def train(m, y):\n    dense = m.toarray()\n    return model.fit(dense, y)",
            "train(bow, y)",
            becomes={"m.toarray()": "m"},
        ),
        Case(
            f"{_MATRIX}\nimport numpy as np",
            "total = X.toarray().sum(axis=0)",
            becomes="total = np.asarray(X.sum(0)).ravel()",
        ),
        Case(_MATRIX, "total = X.toarray().sum()", becomes="total = X.sum()"),
        Case(_MATRIX, "s = X.toarray() @ X.toarray().T", says=("X[:1000].toarray()",)),  # it would be sparse, too
        Case(_MATRIX, "Z = X.toarray().T", says=("X[:1000].toarray()",)),
        Case(_MATRIX, "D = X.toarray()", says=("X[:1000].toarray()",)),
    ]
    SILENT = [
        Case("import torch\nX = torch.eye(9).to_sparse()", "D = X.toarray()"),
        Case(_MATRIX, "D = X.toarray()\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, "scipy.sparse.toarray", "scipy.sparse.todense"):
            assert isinstance(call.node.func, ast.Attribute)
            owner = call.scope.segment(call.node.func.value)
            why = f"{quote(call.text)} writes down every zero."
            edits = _edits(call, owner, death)
            how = "" if edits else " Take slices of it, or give the sparse matrix itself to what follows."
            snippet = None if edits else f"part = {owner}[:1000].toarray()  # some rows at a time"
            kept = " What follows takes the sparse matrix as it is." if edits else how
            yield Proposal(edits, why + kept, death.memory.missing_bytes, snippet=snippet)


def _edits(call: Call, owner: str, death: Death) -> Changes:
    """Return the edit, where it is known what takes the result."""
    scope = call.scope
    if any(word in one.source for one in death.code.cells for word in _DENSE_ONLY):
        return ()
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            uses = scope.named(name)
            takers = [one for one in scope.calls if _takes(one) and not _is_own(one, death)]
            taken = [one for node in takers for one in node.args if one in uses]
            return replace(scope, call.node, owner) if 0 < len(taken) == len(uses) - 1 else ()
    return _in_expression(call, owner, scope, death)


def _in_expression(call: Call, owner: str, scope: Scope, death: Death) -> Changes:
    for outer in scope.inside(call.statement):
        match outer:
            case ast.Call(func=function, args=[inner, *labels], keywords=words) if inner is call.node:
                name = frame_name(call)
                used = [
                    one.attr for one in scope.nodes if isinstance(one, ast.Attribute) and unparse(one.value) == name
                ]
                is_table = death.code.qualified(function, scope) == "pandas.DataFrame"
                if is_table and {one.arg for one in words} <= _LABELS and not {*used} & _MAKE_DENSE:
                    rest = [*map(scope.segment, labels), *(f"{one.arg}={scope.segment(one.value)}" for one in words)]
                    arguments = ", ".join([owner, *rest])
                    return replace(scope, outer, f"{scope.segment(function)}.sparse.from_spmatrix({arguments})")
        match outer:
            case ast.Call(args=given, keywords=words) if _takes(outer) and not _is_own(outer, death):
                if call.node in (*given, *(word.value for word in words)):
                    return replace(scope, call.node, owner)
            case ast.Call(func=ast.Attribute(value=inner, attr="sum" | "mean")) if inner is call.node:
                return _summed(outer, owner, scope, death)
            case (
                ast.BinOp(op=ast.MatMult(), left=inner, right=other)
                | ast.Call(func=ast.Attribute(value=inner, attr="dot"), args=[other])
            ) if inner is call.node:
                dense = not any(word in scope.segment(other) for word in ("toarray", "todense"))
                return replace(scope, call.node, owner) if dense else ()  # else the product would be sparse, too
    return ()


def _summed(outer: ast.Call, owner: str, scope: Scope, death: Death) -> Changes:
    """Return the edit of a sum or mean; that of the columns of a sparse matrix would be a matrix."""
    axes = [*outer.args, *(word.value for word in outer.keywords if word.arg == "axis")]
    if len(axes) != len(outer.args) + len(outer.keywords) or len(axes) > 1:
        return ()
    if not axes:
        return replace(scope, outer, f"{owner}.{last_name(outer.func)}()")
    numpy, imported = import_as(scope, death.code, "numpy", "np")
    text = f"{numpy}.asarray({owner}.{last_name(outer.func)}({scope.segment(axes[0])})).ravel()"
    return imported + replace(scope, outer, text)


def _is_own(call: ast.Call, death: Death) -> bool:
    """Whether a method is one of the user's own classes."""
    return isinstance(call.func, ast.Attribute) and any(death.code.functions_named(call.func.attr))


def _takes(call: ast.AST) -> bool:
    """Whether a call is of a method that takes a sparse matrix, for nearly all estimators."""
    match call:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _TAKES
    return False
