"""Zeros that are written out: sparse columns of a table, labels; and files that are read whole, of rows or texts."""

import ast
from collections.abc import Mapping

from ..calls import ran_in, ran_in_function
from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..death import Death
from .conditions import is_written, without
from .way import LesserWay, called_object, names

_BESIDE = ("concat", "join", "merge", "assign", "hstack", "column_stack", "insert")
"""What puts columns beside others."""
_WRITES_OUT = ("_interleave", "as_array", "to_dense")
_JOINED = ("asarray", "array", "hstack", "column_stack", "concatenate")
_LONGEST = 30
_RUNS = ("fit", "fit_transform", "fit_predict", "partial_fit", "transform", "predict", "predict_proba", "score")
_WORDS = "import pandas as pd\nwords = pd.DataFrame.sparse.from_spmatrix(X, index=df.index)\n"
_TABLE = _WORDS + "full = pd.concat([df[['km', 'age']], words], axis=1)"


def _beside_others(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Give the sparse matrix, where what a call is given was put together of one and plain columns."""
    given = call.node.args[:1] or ([called_object(call)] if isinstance(call.node.func, ast.Attribute) else [])
    found = [one for node in given for one in all_origins(node, call.scope, death.code, parts=True)]
    made = [(one, where) for one, where in found if isinstance(one, ast.Call)]
    is_written_out = ran_in(death, "/pandas/core/arrays/sparse/") or ran_in_function(death, *_WRITES_OUT)
    if not is_written_out and not any(last_name(one.func) in _BESIDE for one in (call.node, *(one for one, _ in made))):
        return False
    for one, where in made:
        sparse = Call(one, where, "")
        if last_name(one.func) == "from_spmatrix" and (matrix := sparse.argument("data", 0)) is not None:
            text = where.operand(matrix)
            return {"matrix": text if len(text) <= _LONGEST else "matrix"}
        if last_name(one.func) == "get_dummies" and is_written(sparse.argument("sparse"), value=True):
            return {"matrix": "dummies.sparse.to_coo()"}
    return False


WAYS = (
    LesserWay(
        (*(f".{name}" for name in _RUNS), ".to_numpy", *(f"numpy.{name}" for name in _JOINED)),
        "Keep it sparse beside the other columns: scipy.sparse.hstack, ColumnTransformer",
        "writes out all zeros: a sparse column stays sparse in a table only as long as nobody makes one array of it "
        "and plain columns.",
        "from scipy import sparse\n\n"
        "numbers = sparse.csr_matrix(table[['the other columns']].to_numpy('float32'))  # scaled before, where needed\n"
        "both = sparse.hstack([numbers, {matrix}]).tocsr()  # to learn from; StandardScaler(with_mean=False)\n\n"
        "from sklearn.compose import ColumnTransformer  # or all in one model, which does the same\n"
        "from sklearn.feature_extraction.text import TfidfVectorizer\n"
        "from sklearn.preprocessing import StandardScaler\n\n"
        "columns = ColumnTransformer([\n"
        "    ('words', TfidfVectorizer(max_features=20_000, min_df=5), 'the text'),\n"
        "    ('numbers', StandardScaler(), ['the other columns']),\n])\n"
        "# or TruncatedSVD(100) of {matrix}: a hundred plain columns",
        Case(_TABLE, "model.fit(full, df['price'])", says=("sparse.hstack([numbers, X])",)),
        _beside_others,
        silent=(
            "model.fit(df[['km', 'age']], df['price'])",
            "model.fit(sparse.hstack([csr_matrix(df[['km', 'age']]), X]).tocsr(), df['price'])",
            Case(_WORDS + "full = words", "model.fit(full, df['price'])"),  # scikit-learn keeps it sparse
        ),
    ),
    LesserWay(
        ("sklearn.preprocessing.label_binarize",),
        "Keep only the labels that are there: sparse_output=True",
        "makes a number for each row and each label, nearly all of them zero.",
        "{to} = {function}({a0}, classes=classes, sparse_output=True)  # with your classes",
        Case("from sklearn.preprocessing import label_binarize", "Y = label_binarize(y, classes=c)"),
        without("sparse_output"),
        silent=("Y = label_binarize(y, classes=c, sparse_output=True)",),
    ),
    LesserWay(
        ("sklearn.datasets.load_svmlight_file", "sklearn.datasets.load_svmlight_files"),
        "Read a part of the file, as float32: offset, length",
        "reads all rows, each number as eight bytes.",
        "from sklearn.datasets import load_svmlight_file\n\n"
        "X, y = load_svmlight_file({path}, dtype='float32', n_features=1000,  # with your number of features\n"
        "                          offset=0, length=200_000_000)  # these bytes of the file; then those that follow",
        Case("from sklearn.datasets import load_svmlight_file", "X, y = load_svmlight_file('a')"),
        lambda call, _death: (
            {"path": "path" if call.name.endswith("files") else names(call)["a0"]}
            if call.argument("length") is None
            else False
        ),
    ),
    LesserWay(
        ("sklearn.datasets.load_files",),
        "Read each file when it is asked for: load_content=False, input='filename'",
        "reads all files, and keeps their contents.",
        "from sklearn.feature_extraction.text import HashingVectorizer\n\n"
        "found = {function}({a0}, load_content=False)  # their names only\n"
        "X = HashingVectorizer(input='filename').transform(found.filenames)  # one file after the other",
        Case("from sklearn.datasets import load_files", "d = load_files('texts')"),
        lambda call, _death: call.argument("load_content") is None,
    ),
)
