"""Statistics: models with a state for each season, draws, itemsets, and samples without replacement."""

import ast
from collections.abc import Mapping

from ..case import Case
from ..code.calls import last_name
from ..code.literals import number
from ..code.notebook import Call
from ..death import Death
from .conditions import given, not_seen
from .way import LesserWay, names

_FEW = 20


def _without_putting_back(call: Call, death: Death) -> bool:
    """Whether a few are drawn, each at most once, also as the beginning of them all in another order."""
    if not call.name.endswith("permutation"):
        return given(False, "replace", 2)(call, death) is True
    shuffled = call.scope.assigned_by(call.node)
    parts = [one for one in call.scope.nodes if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice)]
    return any(one.value is call.node or getattr(one.value, "id", None) in shuffled for one in parts)


def _has_a_season(call: Call, _death: Death) -> bool:
    return call.argument(*(("m",) if call.name.startswith("pmdarima.") else ("seasonal_order", 3))) is not None


def _asks_for_many(call: Call, _death: Death) -> bool:
    """Whether more vectors may be asked for than are proposed; 6 where no number is given."""
    many = call.argument("k", 1)
    return many is not None and (number(many) or _FEW + 1) > _FEW


def _from_a_list(call: Call, _death: Death) -> bool | Mapping[str, str]:
    match call.argument("population", 0):
        case ast.Call(func=ast.Name(id="list"), args=[ast.Call() as numbers]) if last_name(numbers.func) == "range":
            return {"numbers": call.scope.segment(numbers)}
    return False


WAYS = (
    LesserWay(
        ("mlxtend.frequent_patterns.apriori",),
        "Ask for what is frequent: fpgrowth, a higher min_support, max_len",
        "tries all sets of items that are frequent enough: the lower the bound, the more by far.",
        "from mlxtend.frequent_patterns import fpgrowth\n\n"
        "{to} = fpgrowth({a0}, min_support=0.01, max_len=3, use_colnames=True)  # a sparse table of bool will do",
    ),
    LesserWay(
        (
            "statsmodels.tsa.statespace.sarimax.SARIMAX",
            "statsmodels.api.tsa.SARIMAX",
            "statsmodels.tsa.api.SARIMAX",
            "statsmodels.tsa.arima.model.ARIMA",
            "pmdarima.auto_arima",
        ),
        "Take a shorter season: sums of hours or days, or Fourier terms",
        "keeps a matrix of states for each time, whose sides are as long as the season.",
        "daily = {of0}.resample('D').mean()  # a season of 7 in place of 24 * 7 or 365 * 24\n"
        "model = SARIMAX(daily, order=(1, 0, 1), seasonal_order=(1, 0, 1, 7))\n"
        "result = model.fit(low_memory=True)  # or a short ARIMA with sines of the year as exog",
        Case(
            "from statsmodels.tsa.statespace.sarimax import SARIMAX",
            "m = SARIMAX(y, seasonal_order=(1, 1, 1, 8760)).fit()",
        ),
        _has_a_season,
        silent=(Case("from statsmodels.tsa.arima.model import ARIMA", "m = ARIMA(y, order=(1, 0, 1)).fit()"),),
    ),
    LesserWay(
        ("pymc.sample", "pymc3.sample", "pymc.sample_posterior_predictive"),
        "Keep fewer draws, and fewer variables",
        "keeps each draw of each variable, and of all that is derived from them.",
        "trace = {sample}(1000, chains=2)  # a thousand draws are enough for most\n"
        "# no pm.Deterministic for large arrays: they are kept for each draw; var_names=[...] when predicting",
        fits=lambda call, _death: {"sample": names(call)["function"].removesuffix("_posterior_predictive")},
    ),
    LesserWay(
        ("scipy.integrate.solve_ivp",),
        "Keep fewer times: t_eval, a larger max_step",
        "keeps the state at each step, and a step is at most `max_step`.",
        "{to} = {function}({a0}, span, y0, t_eval=np.linspace(*span, 1000))  # your arguments; no dense_output",
        fits=not_seen("t_eval", 4),
    ),
    LesserWay(
        ("numpy.random.choice", "numpy.random.permutation"),
        "Draw without a list of all: default_rng().choice, random.sample(range(n), k)",
        "shuffles all of them to give a few.",
        "{to} = np.random.default_rng().choice({a0}, k, replace=False)  # memory for k numbers only\n\n"
        "import random\n\nsome = random.sample(range(10**10), k)  # or without NumPy: a range takes no memory",
        Case("import numpy as np", "i = np.random.choice(10**9, 10, replace=False)"),
        _without_putting_back,
        silent=(Case("import numpy as np", "order = np.random.permutation(n)\nx = x[order]", line=1),),
    ),
    LesserWay(
        ("random.sample", "random.choices"),
        "Draw from the range itself: random.sample(range(n), k)",
        "is given a list of all that can be drawn.",
        "{to} = {function}({numbers}, k=k)  # a range takes no memory",
        Case("import random", "s = random.sample(list(range(n)), 10)", says=("random.sample(range(n), k=k)",)),
        _from_a_list,
        silent=("s = random.sample(list(words), 10)",),
    ),
    LesserWay(
        ("scipy.sparse.linalg.inv",),
        "Solve the equations: the inverse of a sparse matrix is full",
        "makes a matrix in which hardly anything is zero.",
        "from scipy.sparse.linalg import splu\n\nsolve = splu({of0}.tocsc()).solve  # once\nx = solve(b)  # for each b",
    ),
    LesserWay(
        ("scipy.sparse.linalg.eigsh", "scipy.sparse.linalg.eigs", "scipy.sparse.linalg.svds"),
        "Ask for fewer vectors: k, and a smaller ncv",
        "keeps `ncv` vectors as long as the matrix, by default twice as many as `k`.",
        "found = {function}({a0}, k=20, ncv=41)  # the largest twenty",
        Case("from scipy.sparse.linalg import eigsh", "v = eigsh(A, k=5000)"),
        _asks_for_many,
        silent=("v = eigsh(A, k=6)",),
    ),
)
