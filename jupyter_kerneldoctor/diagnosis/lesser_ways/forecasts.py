"""Forecasts, risks and series: what is kept of each state, draw, window or time."""

import ast

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import both, given, made, without
from .way import LesserWay


def _has_categories(call: Call, _death: Death) -> bool:
    """Whether a formula makes a column for each category: `y ~ C(shop)`."""
    formula = call.argument("formula", "formula_like", 0)
    return isinstance(formula, ast.Constant) and isinstance(formula.value, str) and "C(" in formula.value


WAYS = (
    LesserWay(
        ("statsmodels.formula.api.ols", "patsy.dmatrix", "patsy.dmatrices", "formulaic.model_matrix"),
        "Take the means of the groups out, no column for each group: y - y.groupby(shop).mean()",
        "makes a column of eight bytes for each category of `C(...)`, nearly all zeros.",
        "numbers = ['y', 'x']  # yours; shop: what stands in C(...)\n"
        "flat = df[numbers] - df.groupby('shop')[numbers].transform('mean')\n"
        "result = smf.ols('y ~ x - 1', flat).fit()  # the same slopes; their errors are a little too small\n"
        "# for several groups at once: linearmodels' AbsorbingLS",
        Case("import statsmodels.formula.api as smf", "m = smf.ols('y ~ x + C(shop)', df)"),
        _has_categories,
        silent=("m = smf.ols('y ~ x', df)",),
    ),
    LesserWay(
        tuple(
            f"statsmodels.formula.api.{name}"
            for name in ("glm", "logit", "probit", "poisson", "negativebinomial", "gee", "mixedlm", "quantreg")
        ),
        "Put rare categories together, or absorb the groups: pyfixest",
        "makes a column of eight bytes for each category of `C(...)`, nearly all zeros.",
        "rare = df['shop'].map(df['shop'].value_counts()) < 1000  # shop: what stands in C(...)\n"
        "few = df.assign(shop=df['shop'].where(~rare, 'other'))  # far fewer categories\n\n"
        "import pyfixest\n\nfit = pyfixest.fepois('y ~ x | shop', df)  # of counts: no column for a group",
        Case("import statsmodels.formula.api as smf", "m = smf.logit('y ~ x + C(shop)', df)"),
        _has_categories,
        silent=("m = smf.logit('y ~ x', df)",),
    ),
    LesserWay(
        (".fit",),
        "Work two effects out without a column for each: low_memory=True",
        "makes a column for each entity or each time, where both have effects and these columns are thought to fit.",
        "{to} = {owner}.fit(low_memory=True)  # with your other arguments: round after round, no such columns",
        Case(
            "from linearmodels import PanelOLS\nm = PanelOLS(y, X, entity_effects=True, time_effects=True)", "m.fit()"
        ),
        both(made("linearmodels", "PanelOLS"), without("low_memory")),
        silent=("m.fit(low_memory=True)",),
    ),
    LesserWay(
        (".fit",),
        "Add up the products of the columns, some rows at a time: np.linalg.solve",
        "copies all rows, decomposes them, and keeps residuals and weights of each.",
        "XX, Xy = 0, 0\nfor at in range(0, len(X), 10_000):  # your X, y\n"
        "    part = np.asarray(X[at : at + 10_000])\n"
        "    XX, Xy = XX + part.T @ part, Xy + part.T @ np.asarray(y[at : at + 10_000])  # columns x columns only\n"
        "slopes = np.linalg.solve(XX, Xy)  # some digits less exact; a sample of the rows gives errors as well",
        Case("import statsmodels.api as sm\nm = sm.OLS(y, X)", "r = m.fit()"),
        made("statsmodels", "OLS", "WLS"),
    ),
    LesserWay(
        ("statsmodels.api.GLS", "statsmodels.regression.linear_model.GLS"),
        "Give a weight for each row: WLS, GLSAR; no matrix of all pairs",
        "takes a number for each pair of rows as `sigma`, and decomposes that matrix.",
        "import statsmodels.api as sm\n\nmodel = sm.WLS({a0}, {a1}, weights=1 / variances)  # a number for each row\n"
        "model = sm.GLSAR({a0}, {a1}, rho=1)  # or where a row depends on the one before",
        Case("import statsmodels.api as sm", "m = sm.GLS(y, X, sigma=S)"),
        lambda call, _death: len(call.node.args) > 1 and call.argument("sigma", 2) is not None,
        silent=("m = sm.GLS(y, X)",),
    ),
    LesserWay(
        (".predict",),
        "Forecast without samples of the uncertainty: uncertainty_samples=0",
        "draws a thousand courses of each time, `uncertainty_samples`, to say how sure it is.",
        "model = Prophet(uncertainty_samples=0)  # with your other arguments; or 100, for rough bounds\n"
        "forecast = model.fit(history).predict({a0})",
        Case("from prophet import Prophet\nm = Prophet()", "f = m.predict(future)"),
        lambda call, death: any(
            made(one, "Prophet", told=without("uncertainty_samples"))(call, death) for one in ("prophet", "fbprophet")
        ),
        silent=(Case("from prophet import Prophet\nm = Prophet(uncertainty_samples=0)", "f = m.predict(future)"),),
    ),
    LesserWay(
        (".run_mcmc",),
        "Keep every tenth step, in a file: thin_by, HDFBackend",
        "keeps each step of each walker.",
        "backend = emcee.backends.HDFBackend('chain.h5')\n"
        "sampler = emcee.EnsembleSampler(n_walkers, n_dim, log_prob, backend=backend)\n"
        "sampler.run_mcmc({a0}, n_steps, thin_by=10)  # n_steps are kept: a tenth of what you ask for now",
        Case("import emcee\ns = emcee.EnsembleSampler(9, 3, f)", "s.run_mcmc(p0, 10**6)"),
        both(made("emcee"), without("thin_by")),
    ),
    LesserWay(
        (".predict_survival_function", ".predict_cumulative_hazard", ".predict_cumulative_hazard_function"),
        "Ask for some times, of some rows at a time: times=[30, 90, 365]",
        "gives a number for each row at each time that occurs.",
        "# lifelines: at these times only\n{to} = {function}({a0}, times=[30, 90, 365])\n\n"
        "# scikit-survival: some rows at a time, a few numbers of each\nfor at in range(0, len({a0}), 1000):\n"
        "    part = {function}({of0}[at : at + 1000], return_array=True)[:, ::50]",
        Case("from lifelines import CoxPHFitter\nc = CoxPHFitter()", "s = c.predict_survival_function(df)"),
        lambda call, death: (
            call.argument("times", 1) is None and any(made(one)(call, death) for one in ("lifelines", "sksurv"))
        ),
        silent=("c.predict_survival_function(df, times=[1, 2])",),
    ),
    LesserWay(
        (".fit_transform", ".transform"),
        "Make the table sparse: sparse=True",
        "makes a column for each item that occurs, nearly all of it False.",
        "from mlxtend.frequent_patterns import fpgrowth\n\nencoder = TransactionEncoder().fit(baskets)\n"
        "table = pd.DataFrame.sparse.from_spmatrix(encoder.transform(baskets, sparse=True), columns=encoder.columns_)\n"
        "frequent = fpgrowth(table, min_support=0.02, use_colnames=True)",
        Case(
            "from mlxtend.preprocessing import TransactionEncoder\nte = TransactionEncoder()",
            "t = te.fit_transform(baskets)",
        ),
        both(made("mlxtend", "TransactionEncoder"), without("sparse", 1)),
    ),
    LesserWay(
        ("tsfresh.extract_features", "tsfresh.extract_relevant_features"),
        "Ask for fewer features, of some ids at a time: MinimalFCParameters",
        "works out some 800 features of each series, and hands copies of the rows to its processes.",
        "from tsfresh.feature_extraction import MinimalFCParameters\n\n"
        "{to} = {function}({a0}, default_fc_parameters=MinimalFCParameters(), n_jobs=2)  # and your column_id, y",
        Case("from tsfresh import extract_features", "X = extract_features(df)"),
        without("default_fc_parameters", "kind_to_fc_parameters"),
        silent=("X = extract_features(df, default_fc_parameters=p)",),
    ),
    LesserWay(
        ("tsfresh.utilities.dataframe_functions.roll_time_series",),
        "Roll shorter windows, further apart: max_timeshift, rolling_direction",
        "writes each row once for each window that it is in.",
        "{to} = {function}({a0}, column_id='id', column_sort='time', max_timeshift=50, rolling_direction=10)",
        fits=without("max_timeshift"),
    ),
    LesserWay(
        (".fit_transform", ".transform"),
        "Make the pictures smaller: image_size=64",
        "makes a picture of n x n numbers for each series of n.",
        "from pyts.image import GramianAngularField  # or MarkovTransitionField\n\n"
        "{to} = GramianAngularField(image_size=64).fit_transform({a0})  # 64 x 64 for each; or some series at a time",
        Case("from pyts.image import GramianAngularField\ng = GramianAngularField()", "P = g.fit_transform(X)"),
        made("pyts", "GramianAngularField", "MarkovTransitionField", told=without("image_size", 0)),
    ),
    LesserWay(
        ("scanpy.pp.scale", "scanpy.pp.regress_out"),
        "Take the genes that vary most first, and scale without a mean: zero_center=False",
        "writes all zeros of a sparse matrix, too.",
        "sc.pp.highly_variable_genes({a0}, n_top_genes=2000)\nfew = {of0}[:, {of0}.var.highly_variable].copy()\n"
        "sc.pp.scale(few, zero_center=False, max_value=10)  # stays sparse",
        Case("import scanpy as sc", "sc.pp.scale(adata)"),
        lambda call, death: not given(False, "zero_center", 1)(call, death),
    ),
)
