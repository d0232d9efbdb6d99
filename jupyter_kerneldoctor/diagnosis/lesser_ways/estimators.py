"""Models and encoders beside those of `models.py`: boosted trees, clusters, categories, time series, explanations."""

from collections.abc import Mapping

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import both, given, is_made_by, is_method_of, made, where_it_grew, without
from .way import LesserWay, Test

_BOOSTED = {
    "xgboost": "tree_method='hist', max_bin=64",
    "lightgbm": "max_bin=63",
    "catboost": "border_count=64, max_ctr_complexity=1",
}
"""What makes each of them keep a byte for a value, and little beside it."""
_COLUMNS_OF_CATEGORIES = ("OneHotEncoder", "SumEncoder", "HelmertEncoder", "PolynomialEncoder")
_OLD_SOLVER = "interior-point"
_OF_EACH = ("pred_contrib", "pred_contribs", "pred_leaf", "pred_interactions")


def _boosts(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name the package of boosted trees, and what makes it keep less."""
    found = (package for package in _BOOSTED if made(package)(call, death))
    package = next(found, None)
    return False if package is None else {"settings": _BOOSTED[package]}


def _of_each_column(call: Call, death: Death) -> bool | Mapping[str, str]:
    """Name what boosted trees are asked for: a number for each column, tree or pair of columns."""
    if not any(map(death.code.imports, _BOOSTED)):
        return False
    asked = next((one for one in _OF_EACH if given(True, one)(call, death)), None)
    return False if asked is None else {"asked": asked}


def _fit(package: str, names: tuple[str, ...], told: Test | None = None) -> Test:
    return made(package, *names, told=told, parts=True)


WAYS = (
    LesserWay(
        (".predict",),
        "Explain some rows at a time, and keep the mean of each column",
        "gives a number for each column, tree or pair of columns, of each row.",
        "total = 0\nfor part in np.array_split({a0}, 100):  # a hundredth of the rows at a time\n"
        "    total = total + abs({owner}.predict(part, {asked}=True)).sum(axis=0)\n"
        "mean = total / len({a0})  # of a sample of the rows it is nearly the same",
        Case("import lightgbm as lgb\nm = lgb.LGBMRegressor()", "v = m.predict(X, pred_contrib=True)"),
        _of_each_column,
        silent=("v = m.predict(X)",),
    ),
    LesserWay(
        (".fit",),
        "Give it float32, and bins in place of all values: max_bin",
        "copies the whole table in a form of its own, beside the table.",
        "X32 = {of0}.astype('float32')  # half of float64, where all columns are numbers; then: del {a0}\n"
        "params = dict({settings})  # fewer bins: a byte for a value; give them to the model\n"
        "model.fit(X32[::10], y[::10])  # or a tenth of the rows first, to see what it takes",
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
        "from sklearn.decomposition import PCA\n\nfew = PCA(n_components=50).fit_transform({a0}).astype('float32')\n"
        "model = umap.UMAP(init='random').fit(few[::10])  # with your own arguments\n"
        "{to} = np.concatenate([model.transform(part) for part in np.array_split(few, 20)])",
        Case("import umap\nm = umap.UMAP()", "Z = m.fit_transform(X)"),
        made("umap", "UMAP"),
    ),
    LesserWay(
        (".fit", ".fit_transform"),
        "Let it keep less: low_memory=True, no probabilities, rare words left out",
        "keeps a vector of each text, their neighbours, and a table of all words of all topics.",
        "from sklearn.feature_extraction.text import CountVectorizer\n\n"
        "model = BERTopic(low_memory=True, calculate_probabilities=False, min_topic_size=50,\n"
        "                 vectorizer_model=CountVectorizer(min_df=10))  # words that ten texts have\n"
        "model.fit({of0}[::10])  # a tenth of the texts; the others some at a time\n"
        "topics, _ = model.transform({of0}[:10_000])",
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
        "Ask for the first components only: n_components=50, svd_solver='randomized'",
        "works out as many components as there are columns or rows, whichever are fewer.",
        "from sklearn.decomposition import PCA\n\n"
        "{to} = PCA(n_components=50, svd_solver='randomized').fit_transform({of0}.astype('float32'))  # fifty\n"
        "# some rows at a time: IncrementalPCA(n_components=50).partial_fit(part)",
        Case("from sklearn.decomposition import PCA\np = PCA()", "Z = p.fit_transform(X)"),
        _fit("sklearn", ("PCA",), without("n_components", 0)),
        silent=(Case("from sklearn.decomposition import PCA\np = PCA(0.95)", "Z = p.fit_transform(X)"),),
    ),
    LesserWay(
        (".transform",),
        "Ask for the nearest centre only: predict",
        "gives the distance of each row to each centre.",
        "labels = {owner}.predict({a0})  # the number of the nearest centre: four bytes for each row\n"
        "for part in np.array_split({a0}, 100):  # or some rows at a time, and their least distance\n"
        "    nearest = {owner}.transform(part).min(axis=1)",
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
        _fit("sklearn", ("IterativeImputer",), without("n_nearest_features")),
    ),
    LesserWay(
        (".fit_transform", ".transform"),
        "Keep only the pieces that are not zero: sparse_output=True",
        "makes a column for each piece of each column, nearly all of them zero.",
        "{to} = SplineTransformer(n_knots=5, sparse_output=True).fit_transform({a0})  # Ridge and SGD take it",
        Case("from sklearn.preprocessing import SplineTransformer\ns = SplineTransformer()", "Z = s.fit_transform(X)"),
        _fit("sklearn", ("SplineTransformer",), without("sparse_output")),
    ),
    LesserWay(
        (".fit",),
        "Fit it without a second copy: copy_X=False, float32",
        "copies all rows, to take their mean away, or to lay them out column by column.",
        "X = np.asfortranarray({a0}, dtype='float32')  # column by column, half of float64; then: del {a0}\n"
        "model.set_params(copy_X=False).fit(X, y)  # X is changed by it\n"
        "# or some rows at a time: SGDRegressor(penalty='l1').partial_fit(part, y_part)",
        Case("from sklearn.linear_model import Lasso\nm = Lasso()", "m.fit(X, y)"),
        _fit("sklearn", ("Ridge", "Lasso", "ElasticNet", "LassoCV", "ElasticNetCV"), without("copy_X")),
    ),
    LesserWay(
        (".fit",),
        "Test on some parts of the rows: cv=5",
        "decomposes all rows at once, to leave each of them out in turn.",
        "from sklearn.linear_model import RidgeCV\n\n"
        "model = RidgeCV(alphas=[0.1, 1, 10], cv=5).fit({of0}.astype('float32'), {a1})  # with your alphas",
        Case("from sklearn.linear_model import RidgeCV\nm = RidgeCV()", "m.fit(X, y)"),
        _fit("sklearn", ("RidgeCV", "RidgeClassifierCV"), without("cv")),
        silent=(Case("from sklearn.linear_model import RidgeCV\nm = RidgeCV(cv=5)", "m.fit(X, y)"),),
    ),
    LesserWay(
        (".fit",),
        "Take the solver that keeps no zeros: solver='highs'",
        "makes a full matrix of all pairs of rows with `solver='interior-point'`, as all did before scikit-learn 1.4.",
        "from sklearn.linear_model import QuantileRegressor\n\n"
        "model = QuantileRegressor(quantile=0.5, solver='highs').fit({a0}, {a1})  # with your quantile\n"
        "# or trees: HistGradientBoostingRegressor(loss='quantile', quantile=0.5)",
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
        (".fit", ".fit_transform", ".transform"),
        "Keep one column for each: TargetEncoder, or a fixed number of columns: HashingEncoder",
        "makes a column for each different value, of eight bytes a number.",
        "X = category_encoders.TargetEncoder().fit_transform({a0}, y)  # the mean of y for each value\n"
        "X = category_encoders.HashingEncoder(n_components=32).fit_transform({a0})  # or 32 columns in all",
        Case("import category_encoders as ce\ne = ce.OneHotEncoder()", "Z = e.fit_transform(X)"),
        made("category_encoders", *_COLUMNS_OF_CATEGORIES, "BackwardDifferenceEncoder"),
    ),
    LesserWay(
        (".fit", ".transform", ".fit_transform"),
        "Take fewer kernels, some series at a time: num_kernels=1000",
        "makes 20,000 numbers of each series, or more.",
        "rocket = {maker}(num_kernels=1000).fit({of0}[:100])  # it looks at the length of the series only\n"
        "{to} = np.concatenate([np.asarray(rocket.transform({of0}[at : at + 500]), 'float32')\n"
        "                       for at in range(0, len({a0}), 500)])",
        Case(
            "from aeon.transformations.collection.convolution_based import Rocket\nr = Rocket()", "F = r.transform(X)"
        ),
        lambda call, death: next(
            (
                {"maker": name}
                for package in ("sktime", "aeon")
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
        "matrix, features = featuretools.dfs(..., agg_primitives=['mean', 'count'], trans_primitives=[],\n"
        "                                    max_depth=1, chunk_size=0.05)  # a twentieth of the rows at a time",
        Case("import featuretools as ft", "m, f = ft.dfs(entityset=es, target_dataframe_name='c')"),
        without("max_depth", "max_features"),
    ),
    LesserWay(
        tuple(f"pycaret.{name}.setup" for name in ("classification", "regression", "clustering")),
        "Leave out ids and texts, and give it a sample: ignore_features",
        "keeps the table before and after all steps, with columns for the different values of texts.",
        "few = {table}.sample(50_000, random_state=0)  # {table}: your table\n"
        "setup(data=few, ignore_features=['id', 'name'], n_jobs=1)  # ids, dates and texts; with your other arguments",
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
        "p = {a1}[np.arange(len({a0})), {a0}]  # where classes are the numbers 0, 1, 2 ...\n"
        "{to} = -np.log(np.clip(p, 1e-7, 1)).mean()",
        fits=where_it_grew(lambda call, _death: len(call.node.args) > 1),
        example=Case("from sklearn.metrics import log_loss", "loss = log_loss(y, p)", line=1),
        silent=("loss = log_loss(y, p)\nf(big)",),
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
        (".query_pairs", ".sparse_distance_matrix", ".query_ball_tree"),
        "Look around some points at a time, or only count: query_ball_point, count_neighbors",
        "keeps all pairs that are near enough: twice the radius has four times as many, or eight in space.",
        "for at in range(0, len(points), 1000):  # points: what the tree was made of\n"
        "    near = {owner}.query_ball_point(points[at : at + 1000], r)  # keep a count or a mean of each\n\n"
        "n = {owner}.count_neighbors({owner}, r)  # or how many pairs there are in all\n"
        "pairs = {owner}.query_pairs(r, output_type='ndarray')  # or 16 bytes for a pair, no Python objects",
        Case("from scipy.spatial import cKDTree\nt = cKDTree(X)", "n = t.query_pairs(5)"),
        both(is_method_of("scipy"), lambda call, _death: call.argument("output_type") is None),
    ),
    LesserWay(
        ("sklearn.datasets.load_svmlight_file", "sklearn.datasets.load_svmlight_files"),
        "Read a part of the file, as float32: offset, length",
        "reads all rows, each number as eight bytes.",
        "X, y = load_svmlight_file({a0}, dtype='float32', n_features=1000,  # with your number of features\n"
        "                          offset=0, length=200_000_000)  # these bytes of the file; then those that follow",
        Case("from sklearn.datasets import load_svmlight_file", "X, y = load_svmlight_file('a')"),
        lambda call, _death: call.argument("length") is None,
    ),
    LesserWay(
        ("sklearn.datasets.load_files",),
        "Read each file when it is asked for: load_content=False, input='filename'",
        "reads all files, and keeps their contents.",
        "from sklearn.feature_extraction.text import HashingVectorizer\n\n"
        "found = load_files({a0}, load_content=False)  # their names only\n"
        "X = HashingVectorizer(input='filename').transform(found.filenames)  # one file after the other",
        Case("from sklearn.datasets import load_files", "d = load_files('texts')"),
        lambda call, _death: call.argument("load_content") is None,
    ),
)
