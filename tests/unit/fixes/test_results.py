"""The edited code gives what the user's own code gave."""

import itertools
import subprocess
import sys

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.proposals import propose


@pytest.fixture(scope="module")
def sales(tmp_path_factory):
    pandas = pytest.importorskip("pandas")
    path = tmp_path_factory.mktemp("sales") / "sales.csv"
    rows = [{"day": i % 7, "shop": "ab"[i % 2], "n": i, "m": i * i % 13, "text": "é"} for i in range(500)]
    pandas.DataFrame(rows).to_csv(path, index=False)
    return pandas, path


METHODS, KEYS = ["sum", "min", "max", "count", "size"], ["'day'", "['day', 'shop']"]
GROUPS = [("path", *one) for one in itertools.product(KEYS, ["['n']", "[['n', 'm']]", ".n"], METHODS)]
ARGUMENTS = ["(path)", "path,", "path, usecols=['day', 'shop', 'n', 'm'],  # all\n"]


@pytest.mark.parametrize(
    ("arguments", "keys", "columns", "method"), [*GROUPS, *((one, *GROUPS[0][1:]) for one in ARGUMENTS)]
)
def test_grouped_read(sales, arguments, keys, columns, method):
    pandas, path = sales
    source = f"out = pd.read_csv({arguments}).groupby({keys}){columns}.{method}()"
    proposal, *_ = propose(Case("import pandas as pd", source).death())
    (edit,) = proposal.edits
    results = []
    for code in (source, edit.new_source.replace("chunksize=50_000", "chunksize=30")):
        names = {"pd": pandas, "path": path}
        exec(compile(code, "<cell>", "exec"), names)
        results.append(names["out"])
    assert results[0].equals(results[1])


def test_lower_limit_turns_the_crash_into_an_error():
    cells = (
        "import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __bool__(self): return bool(a)\na = A()",
        "bool(a)",
    )
    proposal, *_ = propose(Case(*cells, cause="stack-overflow").death())
    (edit,) = proposal.edits
    done = subprocess.run(
        [sys.executable, "-c", edit.new_source + "\nbool(a)"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "RecursionError" in done.stderr


SHOPS = "a, b = pd.DataFrame({'day': A, 'n': N}), pd.DataFrame({'day': B, 'page': P, 'm': M})"
COUNTED = [
    *("m.groupby('page').size()", "m.groupby('day').size()", "m.groupby('page')['n'].sum()", "len(m)"),
    *("m.groupby('page')['m'].mean()", "m.groupby('page').n.mean()", "m.groupby('page')['m'].count()", "m['n'].sum()"),
]


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
@pytest.mark.parametrize("counted", COUNTED)
def test_numbers_of_a_merge_without_its_rows(counted, how):
    pandas = pytest.importorskip("pandas")
    source = f"m = a.merge(b, on='day', how={how!r})\nresult = {counted}"
    (proposal,) = [
        one
        for one in propose(Case(f"import pandas as pd\n{SHOPS}", source, line=1).death())
        if one.id == "many-to-many-merge"
    ]
    left, right = (
        {"A": [1, 1, 2, 3, None, None], "N": [1, 2, 3, 4, None, 6]},
        {"B": [1, 1, 2, 3, 9, None], "P": list("xyxxzy")},
    )
    if proposal.snippet is None:
        assert how == "outer"
        assert "page" not in counted
        return
    results = []
    for code in (source, proposal.snippet):
        names = {"pd": pandas, **left, **right, "M": [5, 6, None, 8, 9, 3]}
        exec(SHOPS, names)
        exec(code, names)
        results.append(names["result"])
    if isinstance(results[0], pandas.Series):
        pandas.testing.assert_series_equal(*results, check_names=False, check_dtype=False)
    else:
        assert results[0] == results[1]
