import ast

from ...calls import calls_at
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import replace, text_of
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size

_OUTGROWN = 3
_SERIES = "import pandas as pd\ns = pd.read_csv('a.csv', index_col=0, parse_dates=True)['v']"


class ResampleOutlierRange(Fix):
    """Leave out timestamps far from all others before resampling.

    What it does: `resample('1s')` makes a row for each second between the first and the last timestamp. One that was
    read as 1970 makes 1.7 billion. The snippet drops what lies further from the middle 98 % of the timestamps than
    those span.

    When it is offered: Memory ran out in a `resample` or `asfreq` of pandas, and the result was at least three times as
    large as the data.

    What it costs: The dropped rows. Look at `index.min()` and `index.max()` first; where all timestamps are right, take
    a longer step.
    """

    id, causes = "resample-outlier-range", (Family.MEMORY,)
    title = "Leave out timestamps far from all others, or resample to a longer step"

    FIRES = [
        Case(
            _SERIES,
            "r = s.resample('1s').mean()\nr.plot()",
            says=("s.index.to_series().min()", "quantile([0.01, 0.99])", "s.resample('1min')"),
        ),
        Case(
            _SERIES,
            "def smooth(t):\n    return t['temp'].asfreq('100ms').ffill()",
            "smooth(s)",
            says=("t.index.to_series().max()",),
        ),
        Case(_SERIES, "r = s.resample('1s', on='time').mean()", says=("s['time'].min()", "s.resample('1min', on")),
        Case(
            "import pandas as pd\nclass Meter:\n    def __init__(self):\n        self.s = pd.read_csv('a.csv')\n"
            "    def regular(self):\n        return self.s.resample(rule).mean()",
            "m = Meter()",
            "m.regular()",
            says=("self.s.index.to_series().min()", "self.s.resample('1min')"),
        ),
        Case(
            "import pandas as pd\ndef regular(t, rate='1s'):\n    return (\n        t\n        .set_index('at')\n"
            "        .groupby('meter')['kwh']\n        .resample(rate)\n        .ffill()\n    )",
            "regular(pd.read_csv('a.csv'))",
            says=("step of 1s", "of each group", "coarser", ".resample('1h')", "table.groupby('meter')"),
        ),
    ]
    SILENT = [
        Case(_SERIES, "r = s.resample('1s').mean()", before_mib=1500),
        Case(_SERIES, "r = s.resample('1s').mean()\nbig = [0] * 10**10", line=2),
        Case("import xarray as xr\ns = xr.open_dataset('a.nc')", "r = s.resample(time='1s').mean()"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, "pandas.DataFrame.resample", "pandas.DataFrame.asfreq"):
            missing, before = death.wanted_bytes, death.memory.before_bytes or 0
            name = _name(call)
            if name is None and missing >= before:
                yield _of_a_chain(call, missing, death)
                continue
            if name is None or missing < _OUTGROWN * before or f"{name}.index >=" in death.code.source(call.cell):
                continue
            on, index = call.argument("on"), f"{name}.index"
            times = f"{index}.to_series()" if on is None else f"{name}[{call.scope.segment(on)}]"
            longer = call.text if (rule := call.argument("rule", 0)) is None else _with(call, rule, "'1min'")
            yield Proposal(
                (),
                f"{quote(call.text)} makes a row for each step between the first and the last timestamp. They need "
                f"{size(missing)} at least: one timestamp may be far from all others, such as 1970. Look at "
                f"`{times}.min()` and `.max()`; if both are right, take a longer step.",
                missing,
                snippet=f"print({times}.min(), {times}.max())  # is one of them wrong?\n\n"
                f"low, high = {times}.quantile([0.01, 0.99])  # then leave out what is far from all others\n"
                f"{name} = {name}[{times}.between(low - (high - low), high + (high - low))]\n\n"
                f"{longer}  # if not: a longer step, a sixtieth of what '1s' makes",
            )


def _of_a_chain(call: Call, missing: int, death: Death) -> Proposal:
    """Say how a chain makes fewer rows: `df.groupby("meter")["kwh"].resample("1s").ffill()`."""
    rule = call.argument("rule", 0)
    found = [] if rule is None else [one.node for one in all_origins(rule, call.scope, death.code)]
    step = next((one.value for one in found if isinstance(one, ast.Constant) and isinstance(one.value, str)), "")
    each = f" of {step}" if step else ""
    groups = [one for one in walk(call.node) if getattr(getattr(one, "func", None), "attr", "") == "groupby"]
    of_each = " of each group" if groups else ""
    by = next((call.scope.segment(one.args[0]) for one in groups if isinstance(one, ast.Call) and one.args), "'key'")
    method = getattr(call.node.func, "attr", "resample")
    why = (
        f"`.{method}(...)` makes a row for each step{each} between the first and the last timestamp{of_each}: "
        f"{size(missing)} at least. A coarser step makes fewer, and so does one group at a time."
    )
    snippet = f"table.{method}('1h')  # a coarser step; '1min' is a sixtieth of what '1s' makes"
    if groups:
        snippet += (
            f"\n\nfor key, part in table.groupby({by}):  # or one group at a time: keep only what you need of it\n"
        )
        snippet += f"    part = part.{method}({call.scope.segment(rule) if rule is not None else repr('1min')})"
    return Proposal((), why, missing, "Resample to a coarser step", snippet)


def _with(call: Call, argument: ast.expr, text: str) -> str:
    """Return a call as it is written, on one line, with another text for an argument."""
    return " ".join(text_of(call, replace(call.scope, argument, text)).split())


def _name(call: Call) -> str | None:
    """Return the name of the table: `t` of `t['temp'].resample(…)`, `self.t`."""
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    return unparse(owner) if isinstance(owner, ast.Name | ast.Attribute) else None
