import ast

from ...calls import calls_at, makers
from ...code.calls import plain_names
from ...code.trees import unparse
from ...edits import drop_argument, set_argument, text_of
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.pandas import frame_name

_COLUMNS = "makes a column for each value that occurs, nearly all zeros."
_MATRIX = (
    "from scipy import sparse\n\ncolumns = [...]  # those to encode; not names, addresses or numbers of the rows\n"
    "ones = pd.get_dummies({table}[columns], sparse=True).sparse.to_coo()\n"
    "X = sparse.hstack([{table}.drop(columns=columns).to_numpy(dtype=float), ones]).tocsr()  # scikit-learn takes it"
)
_SPARSE = (
    "encoder = OneHotEncoder()  # its result is a sparse matrix of SciPy: models of scikit-learn take it\n"
    "X = scipy.sparse.hstack([numbers, encoder.fit_transform(texts)]).tocsr()  # in the place of np.hstack, pd.concat"
)
_TAKE_SPARSE = frozenset(
    {
        *("fit", "fit_predict", "fit_transform", "partial_fit", "predict", "predict_proba", "transform", "score"),
        *("train_test_split", "cross_val_score", "print", "cross_validate", "cosine_similarity"),
    }
)
_DENSE = frozenset({"values", "to_numpy", "astype"})
_NEED_DENSE = (
    *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "GaussianNB", "PCA", "PowerTransformer"),
    *("StandardScaler", "MinMaxScaler", "RobustScaler", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    *("GaussianProcessClassifier", "GaussianProcessRegressor", "IterativeImputer", "AgglomerativeClustering"),
    *("keras", "tensorflow", "torch"),
)
"""What raises an error where it is given a sparse matrix, of scikit-learn and others."""
_ENCODER = "from sklearn.preprocessing import OneHotEncoder\n"


class SparseEncoderOutput(Fix):
    """Keep only the ones of a one-hot table, not the zeros.

    What it does: `pd.get_dummies(df)` makes a column for each value that occurs, and nearly all of its entries are
    zero: 100,000 rows with 20,000 names are 1.9 GiB. With `sparse=True` only the ones are kept. `OneHotEncoder` does so
    by itself, unless it is told `sparse_output=False`.

    When it is offered: Memory ran out on a line that calls `pd.get_dummies` without `sparse`, or runs such an encoder.

    What it costs: The columns have pandas' sparse type: most of scikit-learn takes `X.sparse.to_coo()`, plain
    arithmetic, and models where other columns are dense, make them dense again. Where the table is returned with a
    target, the snippet makes a sparse matrix of SciPy, as the encoder does.
    """

    id, title, causes = "sparse-encoder-output", "Keep only the ones of the one-hot table, sparse", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd",
            "X = pd.get_dummies(df, columns=['user'])",
            becomes="X = pd.get_dummies(df, columns=['user'], sparse=True)",
            says=("makes it dense again",),
        ),
        Case(
            _ENCODER + "import pandas as pd",
            "enc = OneHotEncoder(sparse_output=False)\nX = enc.fit_transform(df[['city']])\nX = pd.DataFrame(X)",
            line=2,
            says=("scipy.sparse.hstack",),
        ),
        Case(  # which takes no sparse matrix
            _ENCODER + "from sklearn.ensemble import HistGradientBoostingClassifier as Boosting",
            "enc = OneHotEncoder(sparse_output=False)\nX = enc.fit_transform(df)\nBoosting().fit(X, y)",
            line=2,
            says=("scipy.sparse.hstack",),
        ),
        Case("import pandas as pd", "X = pd.get_dummies(df)\nX.loc[0, 'a'] = 1", line=1, says=("sparse.hstack",)),
        Case("import pandas as pd", "X = pd.get_dummies(df)\nX = X.values", line=1, says=(".sparse.to_coo()",)),
        Case("import pandas as pd", "X = pd.get_dummies(df).astype('float32')", says=(".sparse.to_coo()",)),
        Case(
            "import pandas as pd",
            "X = pd.get_dummies(df, columns=['user'])\nmodel.fit(X, y)",
            line=1,
            says=("sparse.hstack([df.drop(",),
        ),
        Case(
            "import pandas as pd\ndef build(df):\n    X = pd.get_dummies(df, columns=['user'])\n    return X, df['y']",
            "X, y = build(table)",
            says=("sparse.hstack([df.drop(",),
        ),
        Case(
            "import pandas as pd, sklearn\ndef build(df):\n    X = pd.get_dummies(df, columns=['user'])\n"
            "    return X.drop(columns='y')",
            "X = build(table)",
            says=("sparse.hstack([df.drop(",),
        ),
        Case(
            _ENCODER + "enc = OneHotEncoder(sparse_output=False, handle_unknown='ignore')",
            "X = enc.fit_transform(df[['city']])",
            becomes={1: _ENCODER + "enc = OneHotEncoder(handle_unknown='ignore')"},
        ),
    ]
    SILENT = [
        Case("import pandas as pd", "X = pd.get_dummies(df, sparse=False)"),
        Case("import pandas as pd", "X = pd.get_dummies(df)\nbig = [0] * 10**10", line=2),
        Case("from mine import get_dummies", "X = get_dummies(df)"),
        Case(_ENCODER + "enc = OneHotEncoder()", "X = enc.fit_transform(df[['city']])"),
        Case(_ENCODER + "enc = OneHotEncoder(sparse_output=False)\nother = make()", "other.fit(df)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, "pandas.get_dummies"):
            if call.is_written_out and call.argument("sparse", 5) is None:
                why = f"{quote(call.text)} {_COLUMNS} With `sparse=True` only the ones take memory."
                edit, name = set_argument(call, "sparse", "True"), frame_name(call)
                table = call.scope.segment(call.node.args[0]) if call.node.args else "df"
                matrix = _MATRIX.format(table=table)
                if name is not None and _is_written_to(name, call):
                    yield Proposal((), why, death.memory.missing_bytes, snippet=matrix)
                elif _is_made_dense(name, call):
                    ones = f"{text_of(call, edit)}.sparse.to_coo().tocsr()"
                    snippet = f"{name or 'X'} = {ones}  # without .values and .astype, which keep all zeros"
                    yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
                elif call.argument("columns", 4) is None:
                    yield Proposal(edit, why, death.memory.missing_bytes)
                else:
                    why += " Beside dense columns a model makes it dense again: give it a sparse matrix of SciPy."
                    edit = () if name is not None and _is_for_a_model(name, call, death) else edit
                    yield Proposal(edit, why, death.memory.missing_bytes, snippet=matrix)
        for made, run in makers(death, "sklearn.preprocessing.OneHotEncoder"):
            for word in made.node.keywords:
                if word.arg in ("sparse_output", "sparse") and unparse(word.value) == "False":
                    why = f"{quote(made.text)} {_COLUMNS} Without `{word.arg}=False` only the ones take memory."
                    edits = drop_argument(made, word.arg) if _may_be_sparse(run, death) else ()
                    yield Proposal(edits, why, death.memory.missing_bytes, snippet=None if edits else _SPARSE)


def _may_be_sparse(run: Call, death: Death) -> bool:
    """Whether all that is done with an encoder's result a sparse matrix can do: models take it, tables do not."""
    name, statement = frame_name(run), run.statement
    if death.code.has_words(*_NEED_DENSE):
        return False
    if name is None:
        return isinstance(statement, ast.Expr) and statement.value is run.node
    if not run.scope.is_cell and any(isinstance(one, ast.Return) for one in run.scope.nodes):
        return False
    scopes = [run.scope] if not run.scope.is_cell else [one for one in death.code.running if one.named(name)]
    for scope in scopes:
        for use in (one for one in scope.named(name) if isinstance(one.ctx, ast.Load)):
            inside = scope.inside(scope.tree.statements[use])
            match next(one for one in inside if use in ast.iter_child_nodes(one)):
                case ast.Call(func=ast.Attribute(attr=method)) if method in _TAKE_SPARSE:
                    pass
                case ast.Call(func=ast.Name(id=called)) if called in _TAKE_SPARSE:
                    pass
                case ast.Attribute(attr="shape" | "nnz" | "dtype"):
                    pass
                case _:
                    return False
    return True


def _is_written_to(name: str, call: Call) -> bool:
    """Whether single entries of the table are changed, which a sparse one does not allow: `X.loc[0, "a"] = 1`."""
    for node in call.scope.nodes:
        match node:
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=table)), ctx=ast.Store()) if table == name:
                return True
    return False


def _is_for_a_model(name: str, call: Call, death: Death) -> bool:
    """Whether a model gets the table, or it is given back as features are: `return X, y`, `return X.drop("y")`."""
    has_models = death.code.imports("sklearn")
    for node in call.scope.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Name(id=table), *_]) if table == name:
                if method in _TAKE_SPARSE:
                    return True
            case ast.Return(value=ast.Tuple(elts=parts)) if len(parts) > 1:
                return any(isinstance(one, ast.Name) and one.id == name for one in parts)
            case ast.Return(value=ast.expr() as value) if has_models:
                return name in plain_names(value)
    return False


def _is_made_dense(name: str | None, call: Call) -> bool:
    """Whether the table becomes an array, or is given one type for all columns: both have all zeros again."""
    dense = (one.value for one in call.scope.nodes if isinstance(one, ast.Attribute) and one.attr in _DENSE)
    return any(one is call.node or (name is not None and getattr(one, "id", None) == name) for one in dense)
