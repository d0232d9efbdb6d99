"""Models that scikit-learn fits, and what explains them."""

import ast
from collections.abc import Iterator, Mapping

from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import unparse
from ..death import Death
from .conditions import is_made_by, is_method_of, made_by
from .way import LesserWay, names

_LARGER = ("toarray", "todense", "cosine_similarity", "linear_kernel", "pairwise_distances")
_SCALERS = (
    *("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "Normalizer", "SimpleImputer"),
    *("QuantileTransformer", "PowerTransformer"),
)


def _scales(call: Call, death: Death) -> bool | Mapping[str, str]:
    match call.node.func:
        case ast.Attribute(value=owner):
            found = (name.rpartition(".")[2] for name in made_by(owner, call, death))
            maker = next((name for name in found if name in _SCALERS), None)
            return False if maker is None else {"method": call.name.removeprefix(".")}
    return False


_PARTS = "for at in range(0, len({a0}), 10_000):\n    part, y_part = {of0}[at : at + 10_000], {of1}[at : at + 10_000]\n"
_BATCHES = {
    "KMeans": "from sklearn.cluster import MiniBatchKMeans\n\n"
    "{to} = MiniBatchKMeans(n_clusters=50).fit({a0})  # with your own number",
    "NMF": "from sklearn.decomposition import MiniBatchNMF\n\n"
    "{to} = MiniBatchNMF(n_components=20).fit({a0})  # with your own number",
    "LatentDirichletAllocation": "from sklearn.decomposition import LatentDirichletAllocation\n\n"
    "{to} = LatentDirichletAllocation(learning_method='online', batch_size=256).fit({a0})",
    "SVC": "from sklearn.kernel_approximation import Nystroem\nfrom sklearn.linear_model import SGDClassifier\n"
    "from sklearn.pipeline import make_pipeline\n\n"
    "{to} = make_pipeline(Nystroem(n_components=300), SGDClassifier()).fit({a0}, {a1})  # nearly the same kernel",
    "SVR": "from sklearn.svm import LinearSVR\n\n{to} = LinearSVR().fit({a0}, {a1})  # without a kernel",
    "LinearRegression": "XX, Xy = 0, 0  # the same weights, from sums over the rows\n"
    + _PARTS
    + "    part = np.column_stack([np.ones(len(part)), part])\n"
    "    XX, Xy = XX + part.T @ part, Xy + part.T @ np.asarray(y_part)\n"
    "intercept, *weights = np.linalg.lstsq(XX, Xy, rcond=None)[0]",
    "HuberRegressor": "from sklearn.linear_model import SGDRegressor\n\n"
    "{to} = SGDRegressor(loss='huber').fit({a0}, {a1})  # of scaled columns; partial_fit takes some rows at a time",
    "LogisticRegression": "from sklearn.linear_model import SGDClassifier\n\n"
    "{to} = SGDClassifier(loss='log_loss')  # of scaled columns\n"
    + _PARTS
    + "    {to}.partial_fit(part, y_part, classes=np.unique({a1}))",
    "GridSearchCV": "from sklearn.model_selection import GridSearchCV\n\n"
    "search = GridSearchCV(model, grid, n_jobs=2, pre_dispatch=2)  # fewer copies at a time\n"
    "search.fit({of0}[::10], {of1}[::10])  # search on a tenth, then fit the best to all",
    "GradientBoostingClassifier": "from sklearn.ensemble import HistGradientBoostingClassifier\n\n"
    "{to} = HistGradientBoostingClassifier().fit({a0}, {a1})",
    "GradientBoostingRegressor": "from sklearn.ensemble import HistGradientBoostingRegressor\n\n"
    "{to} = HistGradientBoostingRegressor().fit({a0}, {a1})",
}
"""For models that work on all rows at once: those that work on some rows at a time, or on less."""


def _of_sklearn(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether a model of scikit-learn predicts."""
    return {"method": call.name.removeprefix(".")} if is_method_of("sklearn")(call, death) else False


def _in_batches(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Say what to take in place of the model that is fitted."""
    match call.node.func:
        case ast.Attribute(value=owner):
            found = (name for name in made_by(owner, call, death) if name.startswith("sklearn."))
            maker = next((name.rpartition(".")[2] for name in found if name.rpartition(".")[2] in _BATCHES), None)
            return False if maker is None else {"instead": _BATCHES[maker].format(**{**names(call), "to": "model"})}
    return False


def _made(call: Call, death: Death, *words: str) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls of these classes that made what a method is called on."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else call.node
    for one, where in all_origins(owner, call.scope, death.code):
        if isinstance(one, ast.Call) and last_name(one.func) in words:
            yield one, where


def _makes_all_labels(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the encoder of labels that gives a column for each of them."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else call.node
    for one, where in all_origins(owner, call.scope, death.code):
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if isinstance(one, ast.Call) and (name or "").endswith((".MultiLabelBinarizer", ".LabelBinarizer")):
            is_sparse = any(word.arg == "sparse_output" for word in one.keywords)
            return False if is_sparse else {"method": call.name.removeprefix(".")}
    return False


_FEW_ROWS = dict.fromkeys(
    ("KernelExplainer", "SamplingExplainer"),
    "background = shap.kmeans(X_train, 50)  # 50 rows that stand for all; or shap.sample(X_train, 100)\n"
    "explainer = shap.KernelExplainer(predict, background)  # with your own function",
)
_FEW_TENSORS = "explainer = shap.%s(model, X_train[:100])  # with your own model; 100 rows, shuffled before"


def _samples_background(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the explainer that works each row out beside all rows that it was given."""
    for one, where in _made(call, death, "KernelExplainer", "SamplingExplainer", "DeepExplainer", "GradientExplainer"):
        kind = last_name(one.func)
        told = {"maker": " ".join(where.segment(one).split()), "few": _FEW_ROWS.get(kind, _FEW_TENSORS % kind)}
        return told if death.code.imports("shap") else False
    return False


def _is_exact(call: Call, death: Death) -> bool:
    """Whether t-SNE is told to compare all pairs of rows."""
    given = (word for one, _ in _made(call, death, "TSNE") for word in one.keywords)
    return any(one.arg == "method" and unparse(one.value) == "'exact'" for one in given)


def _leaves_one_out(call: Call, death: Death) -> bool:
    """Whether a search fits a model for each row."""
    for one, where in _made(call, death, "GridSearchCV", "RandomizedSearchCV"):
        for word in one.keywords:
            found = all_origins(word.value, where, death.code) if word.arg == "cv" else ()
            if any(isinstance(cv, ast.Call) and last_name(cv.func) == "LeaveOneOut" for cv, _ in found):
                return True
    return False


def _counts_words(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Whether texts are counted, and no table of all zeros or pairs is made of the counts as well."""
    called = (one.func for scope in death.code.running for one in scope.calls)
    if any(last_name(one) in _LARGER for one in called) or not isinstance(call.node.func, ast.Attribute):
        return False
    makers = [*made_by(call.node.func.value, call, death)]
    if any(one.endswith("text.TfidfVectorizer") for one in makers):
        line = "{to} = TfidfTransformer().fit_transform({to})  # and what TfidfVectorizer does with the counts"
        return {"weigh": line.format(**names(call)), "more": ", TfidfTransformer"}
    return {"weigh": "", "more": ""} if any(one.endswith("text.CountVectorizer") for one in makers) else False


WAYS = (
    LesserWay(
        (".fit_transform", ".fit"),
        "Count with a fixed number of columns: HashingVectorizer",
        "keeps every word and n-gram that occurs in a dict; `max_features` only helps afterwards.",
        "from sklearn.feature_extraction.text import HashingVectorizer{more}\n\n"
        "counter = HashingVectorizer(n_features=2**20, alternate_sign=False, norm=None)  # with your other arguments\n"
        "{to} = counter.transform({a0})  # counts, of which the columns have no names\n{weigh}",
        Case(
            "from sklearn.feature_extraction.text import TfidfVectorizer\nvec = TfidfVectorizer(ngram_range=(1, 5))",
            "X = vec.fit_transform(texts)",
            says=("X = counter.transform(texts)", "X = TfidfTransformer().fit_transform(X)"),
        ),
        _counts_words,
    ),
    LesserWay(
        ("sklearn.model_selection.train_test_split",),
        "Split the numbers of the rows, not the rows",
        "copies all rows into the two parts, beside the table itself.",
        "train, test = {function}(np.arange(len({a0})), random_state=0)  # with your other arguments\n"
        "model.fit({of0}[train], ...)  # of a table {of0}.iloc[train]; or delete what they were made of: del {a0}",
    ),
    LesserWay(
        (".fit_transform", ".transform", ".fit"),
        "Fill the gaps without comparing rows: SimpleImputer",
        "compares each row with all others.",
        "from sklearn.impute import SimpleImputer\n\n"
        "imputer = SimpleImputer(strategy='median')\n"
        "{to} = imputer.fit_transform({a0})  # other rows, as those of a test: imputer.transform",
        Case("from sklearn.impute import KNNImputer\ni = KNNImputer()", "Z = i.fit_transform(X)"),
        is_made_by("impute.KNNImputer"),
    ),
    LesserWay(
        (".fit_transform", ".transform", ".fit"),
        "Scale float32 in place: copy=False",
        "copies all numbers, as float64 where they were whole numbers.",
        "X32 = {of0}.astype('float32')  # then: del {a0}\n"
        "{to} = {owner}.set_params(copy=False).{method}(X32)  # in place",
        Case(
            "from sklearn.preprocessing import StandardScaler\ns = StandardScaler()",
            "Z = s.fit_transform(X)",
            says=("Z = s.set_params(copy=False).fit_transform(X32)",),
        ),
        _scales,
    ),
    LesserWay(
        (".fit_transform", ".fit"),
        "Let t-SNE look at the neighbours only: method='barnes_hut'",
        "holds several numbers for each pair of rows with `method='exact'`.",
        "from sklearn.manifold import TSNE\n\n# for two or three components; above these: some thousand rows\n"
        "{to} = TSNE(n_components=2, method='barnes_hut').fit_transform({a0})  # with your other arguments\n"
        "few = {of0}[::10]  # or of a sample: a tenth of the rows shows the same groups",
        Case(
            "from sklearn.manifold import TSNE\ndef plane(rows):\n    t = TSNE(method='exact', perplexity=9)\n"
            "    return t.fit_transform(rows)",
            "p = plane(X)",
        ),
        _is_exact,
    ),
    LesserWay(
        (".fit",),
        "Test on some parts of the rows, not on each row: cv=5",
        "fits a model for each row and each choice of the grid, and keeps the numbers of the rows of each.",
        "from sklearn.model_selection import KFold\n\n"
        "cv = KFold(5, shuffle=True, random_state=0)  # in place of LeaveOneOut\n"
        "# ridge regression alone has it in a closed form: RidgeCV(alphas=[0.1, 1, 10]).fit({a0}, {a1})",
        Case(
            "from sklearn.model_selection import RandomizedSearchCV, LeaveOneOut\n"
            "search = RandomizedSearchCV(model, space, cv=LeaveOneOut())",
            "search.fit(X, y)",
        ),
        _leaves_one_out,
    ),
    LesserWay(
        (".fit_transform", ".transform"),
        "Keep only the labels that are there: sparse_output=True",
        "makes a number for each row and each label, nearly all of them zero.",
        "{to} = {owner}.set_params(sparse_output=True).{method}({a0})  # most models of scikit-learn take it\n"
        "part = {to}[at : at + 256].toarray()  # for a network: the rows of a batch",
        Case("from sklearn.preprocessing import MultiLabelBinarizer as Labels", "Y = Labels().fit_transform(tags)"),
        _makes_all_labels,
        silent=("Y = Labels(sparse_output=True).fit_transform(tags)",),
    ),
    LesserWay(
        (".shap_values", ".()"),
        "Compare with few rows of background: shap.sample, shap.kmeans",
        "works out each row beside every row of the background that the explainer was given, many times.",
        "{few}\nvalues = explainer.shap_values({of0}[:200])  # and of some rows; {maker} takes all of them",
        Case("import shap\ne = shap.KernelExplainer(f, X)", "v = e.shap_values(X)"),
        _samples_background,
    ),
    LesserWay(
        (".shap_values", "sklearn.inspection.permutation_importance", "sklearn.manifold.TSNE", "umap.UMAP"),
        "Explain or draw a sample of the rows",
        "takes memory for each row, and a sample shows the same.",
        "from sklearn.utils import shuffle\n\nsample = shuffle({a0}, n_samples=2000, random_state=0)  # 2,000 rows",
        Case("import shap\ne = shap.TreeExplainer(m)", "v = e.shap_values(X)"),
    ),
    LesserWay(
        (".kneighbors", ".radius_neighbors", ".query_ball_point", ".query", ".query_radius"),
        "Ask for fewer neighbours, some rows at a time",
        "gives a list of all neighbours of each row.",
        "for at in range(0, len({a0}), {step}):\n"
        "    part = {function}({of0}[at : at + {step}], ...)  # with fewer neighbours, or a smaller radius\n"
        "    ...  # keep a count or a mean of each row",
        Case("from sklearn.neighbors import BallTree\nt = BallTree(X)", "n = t.query_radius(X, 2)"),
        is_method_of("sklearn", "scipy"),
    ),
    LesserWay(
        (".predict", ".predict_proba", ".decision_function", ".score_samples"),
        "Predict some rows at a time",
        "works on all rows at once, as float64.",
        "starts = range(0, len({a0}), {step})  # of a sparse matrix: {of0}.shape[0]\n"
        "{to} = np.concatenate([{owner}.{method}({of0}[at : at + {step}]) for at in starts])",
        Case(
            "from sklearn.neighbors import KNeighborsClassifier\nk = KNeighborsClassifier()",
            "p = k.predict(X)",
            says=("p = np.concatenate([k.predict(X[at : at + 1000])",),
        ),
        _of_sklearn,
    ),
    LesserWay(
        ("sklearn.metrics.silhouette_score",),
        "Score a sample: sample_size=5000",
        "compares each row with all others.",
        "from sklearn.metrics import silhouette_score\n\n"
        "{to} = silhouette_score({a0}, {a1}, sample_size=5000, random_state=0)",
    ),
    LesserWay(
        (".fit", ".fit_transform", ".fit_predict"),
        "Take the method that learns some rows at a time",
        "works on all rows at once, and on copies of them.",
        "{instead}\n\nX32 = {of0}.astype('float32')  # half of it, where the model keeps float32",
        Case(
            "from sklearn.cluster import KMeans\nk = KMeans(50)",
            "k.fit(X)",
            says=("MiniBatchKMeans(n_clusters=50).fit(X)", "X.astype('float32')"),
        ),
        _in_batches,
    ),
)
