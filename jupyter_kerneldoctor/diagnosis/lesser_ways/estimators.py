"""Models and encoders beside those of `models.py`: boosted trees, clusters, categories, time series, explanations."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import given, is_made_by, made, maker, to_rows, where_it_grew, without
from .way import LesserWay, Test, names

_BOOSTED = {
    "xgboost": "tree_method='hist', max_bin=64",
    "lightgbm": "max_bin=63",
    "catboost": "border_count=64, max_ctr_complexity=1",
}
"""What makes each of them keep a byte for a value, and little beside it."""
_COLUMNS_OF_CATEGORIES = ("OneHotEncoder", "SumEncoder", "HelmertEncoder", "PolynomialEncoder")
_OLD_SOLVER = "interior-point"
_OF_EACH = ("pred_contrib", "pred_contribs", "pred_interactions")
_MANY_KNOTS = 20


def _boosts(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the package of boosted trees, and what makes it keep less."""
    found = (package for package in _BOOSTED if made(package)(call, death))
    package = next(found, None)
    return False if package is None else {"settings": _BOOSTED[package]}


def _of_each_column(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name what boosted trees are asked for, a number for each column or pair of columns, and how rows are taken."""
    if not any(map(death.code.imports, _BOOSTED)):
        return False
    asked = next((one for one in _OF_EACH if given(True, one)(call, death)), None)
    if asked is None or not call.node.args:
        return False
    of_matrix, data = asked != "pred_contrib", names(call)["of0"]  # XGBoost, a DMatrix
    return {
        "asked": asked,
        "n": f"{data}.num_row()" if of_matrix else f"{data}.shape[0]",
        "part": f"{data}.slice(range(at, min(at + 1000, n)))" if of_matrix else f"{data}[at : at + 1000]",
    }


def _has_many_knots(call: Call, _death: Death) -> bool:
    knots = call.argument("n_knots", 0)
    few = isinstance(knots, ast.Constant) and isinstance(knots.value, int) and knots.value < _MANY_KNOTS
    return call.is_written_out and knots is not None and not few and call.argument("sparse_output") is None


def _fit(package: str, names: tuple[str, ...], told: Test | None = None) -> Test:
    return made(package, *names, told=told, parts=True)


WAYS = (
    LesserWay(
        (".predict",),
        "Explain some rows at a time, and keep the mean of each column",
        "gives a number for each column or pair of columns, of each row.",
        "total, n = 0, {n}\nfor at in range(0, n, 1000):  # a thousand rows at a time\n"
        "    total = total + abs({owner}.predict({part}, {asked}=True)).sum(axis=0)\n"
        "mean = total / n  # of a sample of the rows it is nearly the same",
        Case("import lightgbm as lgb\nm = lgb.LGBMRegressor()", "v = m.predict(X, pred_contrib=True)"),
        _of_each_column,
        silent=("v = m.predict(X)", "v = m.predict(X, pred_leaf=True)"),
    ),
    LesserWay(
        (".fit",),
        "Give it float32, and bins in place of all values: max_bin",
        "copies the whole table in a form of its own, beside the table.",
        "X32 = {of0}.astype('float32')  # half of float64, where all columns are numbers; then: del {a0}\n"
        "{owner}.set_params({settings})  # fewer bins: a byte for a value\n"
        "{owner}.fit(X32[::10], {of1}[::10])  # a tenth of the rows first, to see what it takes",
        Case("import xgboost as xgb\nm = xgb.XGBClassifier()", "m.fit(X, y)", says=("tree_method='hist'",)),
        _boosts,
        silent=(Case("import xgboost\nm = build()", "m.fit(X, y)"),),
    ),
    LesserWay(
        (".fit", ".fit_predict"),
        "Take fewer columns, and fit to a tenth of the rows: approximate_predict",
        "keeps trees of all rows, and the distances to the neighbours of each.",
        "from sklearn.decomposition import PCA\n\nfew = PCA(n_components=10).fit_transform({a0})  # of many columns\n"
        "model = hdbscan.HDBSCAN(min_cluster_size=50, core_dist_n_jobs=1, prediction_data=True).fit(few[::10])\n"
        "labels, strengths = hdbscan.approximate_predict(model, few)  # the cluster of each row",
        Case("import hdbscan\nm = hdbscan.HDBSCAN()", "m.fit(X)"),
        made("hdbscan", "HDBSCAN"),
    ),
    LesserWay(
        (".fit", ".fit_transform"),
        "Learn from a tenth of the rows and fewer columns, then transform the others",
        "keeps a graph of the nearest neighbours of all rows, and copies of the rows.",
        "from sklearn.decomposition import PCA\n\nfew = PCA(n_components=50).fit_transform({a0})  # of many columns\n"
        "model = umap.UMAP(init='random').fit(few[::10])  # with your own arguments\n"
        "parts = [model.transform(few[at : at + 10_000]) for at in range(0, len(few), 10_000)]\n"
        "points = np.concatenate(parts)",
        Case("import umap\nm = umap.UMAP()", "Z = m.fit_transform(X)"),
        made("umap", "UMAP"),
    ),
    LesserWay(
        (".fit", ".fit_transform"),
        "Let it keep less: low_memory=True, no probabilities, the most frequent words",
        "keeps a vector of each text, their neighbours, and a table of all words of all topics.",
        "from sklearn.feature_extraction.text import CountVectorizer\n\n"
        "model = BERTopic(low_memory=True, calculate_probabilities=False, min_topic_size=50,\n"
        "                 vectorizer_model=CountVectorizer(max_features=20_000))  # words that occur most\n"
        "model.fit({of0}[::10])  # a tenth of the texts; then all, some at a time\n"
        "numbers = []  # of the topic of each text\nfor at in range(0, len({a0}), 10_000):\n"
        "    numbers.extend(model.transform({of0}[at : at + 10_000])[0])",
        Case("from bertopic import BERTopic\nt = BERTopic()", "topics, p = t.fit_transform(docs)"),
        made("bertopic", "BERTopic"),
    ),
    LesserWay(
        (".fit", ".fit_predict"),
        "Start from a grid, not from each row: bin_seeding=True",
        "starts a search at each row, and keeps the neighbours that it finds.",
        "from sklearn.cluster import MeanShift, estimate_bandwidth\n\n"
        "width = estimate_bandwidth({a0}, quantile=0.1, n_samples=500)  # from 500 of the rows\n"
        "model = MeanShift(bandwidth=width, bin_seeding=True).fit({a0})",
        Case("from sklearn.cluster import MeanShift\nm = MeanShift()", "m.fit(X)"),
        _fit("sklearn", ("MeanShift",), without("bin_seeding", 2)),
        silent=(Case("from sklearn.cluster import MeanShift\nm = MeanShift(bin_seeding=True)", "m.fit(X)"),),
    ),
    LesserWay(
        (".fit", ".fit_transform"),
        "Ask for the first components only: n_components=50, copy=False, of float32",
        "works out as many components as there are columns or rows, whichever are fewer.",
        "from sklearn.decomposition import PCA\n\n"
        "pca = PCA(n_components=50, copy=False)  # fifty, of more columns than that\n"
        "{to} = pca.fit_transform({of0}.astype('float32'))\n"
        "# some rows at a time: IncrementalPCA(n_components=50).partial_fit(part)",
        Case("from sklearn.decomposition import PCA\np = PCA()", "Z = p.fit_transform(X)"),
        to_rows(_fit("sklearn", ("PCA",), without("n_components", 0))),
        silent=(Case("from sklearn.decomposition import PCA\np = PCA(0.95)", "Z = p.fit_transform(X)"),),
    ),
    LesserWay(
        (".transform",),
        "Ask for the nearest centre only: predict",
        "gives the distance of each row to each centre.",
        "labels = {owner}.predict({a0})  # the number of the nearest centre: four bytes for each row\n"
        "for at in range(0, len(labels), 1000):  # or some rows at a time, and their least distance\n"
        "    nearest = {owner}.transform({of0}[at : at + 1000]).min(axis=1)",
        Case("from sklearn.cluster import KMeans\nk = KMeans(500)", "d = k.transform(X)"),
        is_made_by("cluster.KMeans", "cluster.MiniBatchKMeans"),
    ),
    LesserWay(
        (".fit", ".fit_transform", ".transform"),
        "Let each column look at a few others: n_nearest_features=10",
        "fits a model of all other columns for each column with gaps, in each round.",
        "{to} = IterativeImputer(n_nearest_features=10, max_iter=3).fit({of0}[::10]).transform({a0})\n"
        "# or the middle value of each column: SimpleImputer(strategy='median', copy=False)",
        Case(
            "from sklearn.experimental import enable_iterative_imputer\nfrom sklearn.impute import IterativeImputer\n"
            "m = IterativeImputer()",
            "Z = m.fit_transform(X)",
        ),
        to_rows(_fit("sklearn", ("IterativeImputer",), without("n_nearest_features"))),
    ),
    LesserWay(
        (".fit_transform", ".transform"),
        "Keep only the pieces that are not zero: sparse_output=True",
        "makes a column for each knot of each column; but four of them are zero in each row.",
        "splines = SplineTransformer(n_knots=50, sparse_output=True)  # with your own arguments\n"
        "{to} = splines.fit_transform({a0})  # Ridge and SGD take it",
        Case(
            "from sklearn.preprocessing import SplineTransformer\ns = SplineTransformer(99)", "Z = s.fit_transform(X)"
        ),
        _fit("sklearn", ("SplineTransformer",), _has_many_knots),
        silent=(
            Case(
                "from sklearn.preprocessing import SplineTransformer\ns = SplineTransformer()", "Z = s.fit_transform(X)"
            ),
        ),
    ),
    LesserWay(
        (".fit",),
        "Fit it without a second copy: copy_X=False, float32",
        "copies all rows, to take their mean away, or to lay them out column by column.",
        "X32 = np.asfortranarray({a0}, dtype='float32')  # column by column, half of float64; then: del {a0}\n"
        "model.set_params(copy_X=False).fit(X32, {a1})  # model: the {maker} itself; X32 is changed by it\n"
        "# or some rows at a time: SGDRegressor(penalty='l1').partial_fit(part, y_part)",
        Case("from sklearn.linear_model import Lasso\nm = Lasso()", "m.fit(X, y)"),
        maker("sklearn", "Ridge", "Lasso", "ElasticNet", "LassoCV", "ElasticNetCV", told=without("copy_X")),
    ),
    LesserWay(
        (".fit",),
        "Test on some parts of the rows: cv=5",
        "decomposes all rows at once, to leave each of them out in turn.",
        "from sklearn.linear_model import {maker}\n\n"
        "model = {maker}(alphas=[0.1, 1, 10], cv=5).fit({of0}.astype('float32'), {a1})  # with your alphas",
        Case("from sklearn.linear_model import RidgeCV\nm = RidgeCV()", "m.fit(X, y)"),
        maker("sklearn", "RidgeCV", "RidgeClassifierCV", told=without("cv")),
        silent=(Case("from sklearn.linear_model import RidgeCV\nm = RidgeCV(cv=5)", "m.fit(X, y)"),),
    ),
    LesserWay(
        (".fit",),
        "Take trees, or the solver that keeps no zeros: HistGradientBoostingRegressor, solver='highs'",
        "has two variables for each row; before scikit-learn 1.4 it made a full matrix of all pairs of rows.",
        "from sklearn.ensemble import HistGradientBoostingRegressor\n"
        "from sklearn.linear_model import QuantileRegressor\n\n"
        "trees = HistGradientBoostingRegressor(loss='quantile', quantile=0.5).fit({a0}, {a1})  # with your quantile\n"
        "line = QuantileRegressor(quantile=0.5, solver='highs').fit({of0}[::10], {of1}[::10])  # a tenth",
        Case("from sklearn.linear_model import QuantileRegressor\nm = QuantileRegressor()", "m.fit(X, y)"),
        _fit(
            "sklearn",
            ("QuantileRegressor",),
            lambda call, _death: getattr(call.argument("solver"), "value", _OLD_SOLVER) == _OLD_SOLVER,
        ),
        silent=(
            Case(
                "from sklearn.linear_model import QuantileRegressor\nm = QuantileRegressor(solver='highs')",
                "m.fit(X, y)",
            ),
        ),
    ),
    LesserWay(
        (".fit", ".fit_transform"),
        "Keep one column for each: TargetEncoder, or a fixed number of columns: HashingEncoder",
        "makes a column for each different value, of eight bytes a number.",
        "encoder = category_encoders.TargetEncoder()  # the mean of y for each value\n"
        "numbers = encoder.fit_transform({a0}, y)  # y: yours; then encoder.transform of other rows\n"
        "# or 32 columns in all: category_encoders.HashingEncoder(n_components=32)",
        Case("import category_encoders as ce\ne = ce.OneHotEncoder()", "Z = e.fit_transform(X)"),
        made("category_encoders", *_COLUMNS_OF_CATEGORIES, "BackwardDifferenceEncoder"),
    ),
    LesserWay(
        (".transform", ".fit_transform"),
        "Take a tenth of the kernels, some series at a time",
        "makes 20,000 numbers of each series, or more.",
        "rocket = {maker}({number}=1000).fit({of0}[:100])  # it looks at the length of the series only\n"
        "parts = [np.asarray(rocket.transform({of0}[at : at + 500]), 'float32') for at in range(0, len({a0}), 500)]\n"
        "{to} = np.concatenate(parts)",
        Case(
            "from aeon.transformations.collection.convolution_based import Rocket\nr = Rocket()", "F = r.transform(X)"
        ),
        lambda call, death: next(
            (
                {"maker": name, "number": number}
                for package, number in (("sktime", "num_kernels"), ("aeon", "n_kernels"))
                for name in ("Rocket", "MultiRocket")
                if made(package, name)(call, death)
            ),
            False,
        ),
    ),
    LesserWay(
        ("featuretools.dfs",),
        "Ask for fewer functions, one table deep: agg_primitives, max_depth=1",
        "makes a column for each function of each column of each table, and of those again.",
        "less = dict(agg_primitives=['mean', 'count'], trans_primitives=[], max_depth=1)\n"
        "matrix, features = {function}(..., **less, chunk_size=0.05)  # a twentieth of the rows at a time",
        Case("import featuretools as ft", "m, f = ft.dfs(entityset=es, target_dataframe_name='c')"),
        without("max_depth", "max_features"),
    ),
    LesserWay(
        tuple(f"pycaret.{name}.setup" for name in ("classification", "regression", "clustering")),
        "Leave out ids and texts, and give it a sample: ignore_features",
        "keeps the table before and after all steps, with columns for the different values of texts.",
        "few = {table}.sample(50_000, random_state=0)  # {table}: your table\n"
        "{function}(data=few, ignore_features=['id', 'name'], n_jobs=1)  # ids, texts; with your other arguments",
        Case("from pycaret.classification import setup", "s = setup(data=df, target='y')"),
        lambda call, _death: {
            "table": text
            if (text := call.scope.operand(call.argument("data", 0) or call.node)).isidentifier()
            else "data"
        },
    ),
    LesserWay(
        (".shap_interaction_values",),
        "Ask for some hundred rows: a number for each pair of columns",
        "gives a number for each pair of columns, of each row.",
        "few = shap.utils.sample({a0}, 500)  # 500 rows\nvalues = {owner}.shap_interaction_values(few)\n"
        "mean = abs(values).mean(axis=0)  # a number for each pair; or shap_values: one for each column",
        Case("import shap\ne = shap.TreeExplainer(m)", "v = e.shap_interaction_values(X)"),
        lambda _call, death: death.code.imports("shap"),
    ),
    LesserWay(
        ("sklearn.metrics.log_loss",),
        "Take the probability of the right class only",
        "makes a number for each row and each class, several times.",
        "right = {of1}[np.arange(len({a0})), {a0}]  # where classes are the numbers 0, 1, 2 ...\n"
        "{to} = -np.log(np.clip(right, 1e-7, 1)).mean()",
        fits=where_it_grew(lambda call, _death: len(call.node.args) > 1),
        example=Case("from sklearn.metrics import log_loss", "loss = log_loss(y, p)", line=1),
        silent=("loss = log_loss(y, p)\nf(big)",),
    ),
)
