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
            return False if maker is None else {"maker": maker}
    return False


_BATCHES = {
    "KMeans": "from sklearn.cluster import MiniBatchKMeans\n\n{to} = MiniBatchKMeans(n_clusters=50).fit({a0})",
    "NMF": "from sklearn.decomposition import MiniBatchNMF\n\n{to} = MiniBatchNMF(n_components=20).fit({a0})",
    "LatentDirichletAllocation": "from sklearn.decomposition import LatentDirichletAllocation\n\n"
    "{to} = LatentDirichletAllocation(learning_method='online', batch_size=256).fit({a0})",
    "SVC": "from sklearn.kernel_approximation import Nystroem\nfrom sklearn.linear_model import SGDClassifier\n\n"
    "Z = Nystroem(n_components=300).fit_transform({a0})\n{to} = SGDClassifier().fit(Z, {a1})",
    "SVR": "from sklearn.svm import LinearSVR\n\n{to} = LinearSVR().fit({a0}, {a1})",
    "LinearRegression": "from sklearn.linear_model import SGDRegressor\n\n{to} = SGDRegressor()\n"
    "for at in range(0, len({a0}), 10_000):\n    {to}.partial_fit({of0}[at : at + 10_000], {of1}[at : at + 10_000])",
    "HuberRegressor": "from sklearn.linear_model import SGDRegressor\n\n"
    "{to} = SGDRegressor(loss='huber').fit({a0}, {a1})  # of scaled columns; partial_fit takes some rows at a time",
    "LogisticRegression": "from sklearn.linear_model import SGDClassifier\n\n{to} = SGDClassifier(loss='log_loss')\n"
    "for at in range(0, len({a0}), 10_000):\n    "
    "{to}.partial_fit({of0}[at : at + 10_000], {of1}[at : at + 10_000], classes=[0, 1])",
    "GridSearchCV": "{to} = GridSearchCV(model, grid, n_jobs=2, pre_dispatch=2)  # fewer copies at a time\n"
    "{to}.fit({of0}[::10], {of1}[::10])  # search on a tenth, then fit the best to all",
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
            return False if is_sparse else {"maker": where.segment(one.func)}
    return False


def _samples_background(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the explainer that works each row out beside all rows that it was given."""
    for one, where in _made(call, death, "KernelExplainer", "SamplingExplainer", "DeepExplainer", "GradientExplainer"):
        return {"maker": " ".join(where.segment(one).split())} if death.code.imports("shap") else False
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


def _counts_words(call: Call, death: Death) -> bool:
    """Whether texts are counted, and no table of all zeros or pairs is made of the counts as well."""
    called = (one.func for scope in death.code.running for one in scope.calls)
    large = any(last_name(one) in _LARGER for one in called)
    return not large and bool(is_made_by("text.CountVectorizer", "text.TfidfVectorizer")(call, death))


WAYS = (
    LesserWay(
        (".fit_transform", ".fit"),
        "Count with a fixed number of columns: HashingVectorizer",
        "keeps every word and n-gram that occurs in a dict; `max_features` only helps afterwards.",
        "from sklearn.feature_extraction.text import HashingVectorizer\n"
        "X = HashingVectorizer(n_features=2**20).transform({a0})  # with your other arguments",
        Case(
            "from sklearn.feature_extraction.text import TfidfVectorizer\nvec = TfidfVectorizer(ngram_range=(1, 5))",
            "X = vec.fit_transform(texts)",
        ),
        _counts_words,
    ),
    LesserWay(
        ("sklearn.model_selection.train_test_split",),
        "Split the numbers of the rows, not the rows",
        "copies all rows into the two parts, beside the table itself.",
        "train, test = train_test_split(np.arange(len({a0})), random_state=0)\n"
        "model.fit({of0}[train], ...)  # or delete what they were made of: del {a0}",
    ),
    LesserWay(
        (".fit_transform", ".transform", ".fit"),
        "Fill the gaps without comparing rows: SimpleImputer",
        "compares each row with all others.",
        "from sklearn.impute import SimpleImputer\n\n{to} = SimpleImputer(strategy='median').fit_transform({a0})",
        Case("from sklearn.impute import KNNImputer\ni = KNNImputer()", "Z = i.fit_transform(X)"),
        is_made_by("impute.KNNImputer"),
    ),
    LesserWay(
        (".fit_transform", ".transform", ".fit"),
        "Scale float32 in place: copy=False",
        "copies all numbers, as float64 where they were whole numbers.",
        "X = {of0}.astype('float32')\nX = {maker}(copy=False).fit_transform(X)  # in place",
        Case(
            "from sklearn.preprocessing import StandardScaler\ns = StandardScaler()",
            "Z = s.fit_transform(X)",
            says=("StandardScaler(copy=False)",),
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
        "{to} = {maker}(sparse_output=True).fit_transform({a0})  # most models of scikit-learn take it\n"
        "part = {to}[at : at + 256].toarray()  # for a network: the rows of a batch",
        Case("from sklearn.preprocessing import MultiLabelBinarizer as Labels", "Y = Labels().fit_transform(tags)"),
        _makes_all_labels,
        silent=("Y = Labels(sparse_output=True).fit_transform(tags)",),
    ),
    LesserWay(
        (".shap_values", ".()"),
        "Compare with few rows of background: shap.sample, shap.kmeans",
        "works out each row beside every row of the background that the explainer was given, many times.",
        "background = shap.kmeans(X_train, 50)  # 50 rows that stand for all; or shap.sample(X_train, 100)\n"
        "explainer = shap.KernelExplainer(predict, background)  # with your own function\n"
        "values = explainer.shap_values({of0}[:200], nsamples=200)  # and of some rows; {maker} takes all of them",
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
        "    part = {function}({of0}[at : at + {step}])  # with a smaller radius\n"
        "    ...  # keep a count or a mean of each row",
        Case("from sklearn.neighbors import BallTree\nt = BallTree(X)", "n = t.radius_neighbors(X)"),
        is_method_of("sklearn", "scipy"),
    ),
    LesserWay(
        (".predict", ".predict_proba", ".decision_function", ".score_samples"),
        "Predict some rows at a time",
        "works on all rows at once, as float64.",
        "parts = np.array_split({a0}, 100)  # a hundredth at a time\n"
        "{to} = np.concatenate([{owner}.{method}(part) for part in parts])",
        Case(
            "from sklearn.neighbors import KNeighborsClassifier\nk = KNeighborsClassifier()",
            "p = k.predict(X)",
            says=("p = np.concatenate([k.predict(part)",),
        ),
        _of_sklearn,
    ),
    LesserWay(
        ("sklearn.metrics.silhouette_score", "sklearn.metrics.silhouette_samples", "sklearn.metrics.roc_auc_score"),
        "Score a sample: sample_size=5000",
        "compares each row with all others.",
        "from sklearn.metrics import silhouette_score\n\n"
        "{to} = silhouette_score({a0}, {a1}, sample_size=5000, random_state=0)",
    ),
    LesserWay(
        (".fit", ".fit_transform", ".fit_predict"),
        "Take the method that learns some rows at a time",
        "works on all rows at once, and on copies of them.",
        "{instead}\n\nX = {of0}.astype('float32')  # half of it, where the model keeps float32",
        Case(
            "from sklearn.cluster import KMeans\nk = KMeans(50)",
            "k.fit(X)",
            says=("MiniBatchKMeans(n_clusters=50).fit(X)", "X.astype('float32')"),
        ),
        _in_batches,
    ),
)
