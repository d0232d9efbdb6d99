from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...calls import calls_at
from ...edits import append
from ...examples import MIB
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.pandas import (
    MERGES,
    Merge,
    compared_later,
    has_one_value,
    has_parts_of_texts,
    is_added_up,
    is_limited_later,
    may_hold_nulls,
    merge_of,
)
from ...frameworks.sums_of_pairs import reduction_of, without_the_pairs
from ...joined_tables import has_outgrown

_LARGE = Namespace(-11.0, 1, (NamedObject("a", "pandas.DataFrame", 900 * MIB),))


class ManyToManyMerge(Fix):
    """Merge with one row for each key.

    What it does: A merge pairs each row of one table with every row of the other that has the same key. Where a key
    stands 6,000 times in both, it alone gives 36,000,000 rows. `drop_duplicates` keeps one row for each key of the
    right table, so that the result has no more rows than the left one.

    When it is offered: Memory ran out in a merge by named columns, and the result was at least three times as large as
    both tables.

    What it costs: The other rows of the same key are not in the result. Where they matter, make one row of each key
    with `groupby` before the merge. What only counts, sums or averages the rows is worked out without them: how often
    each key stands in the other table is enough. With `validate="many_to_one"` the merge raises a `MergeError` where a
    key repeats. A table that is merged with itself needs them: there the fix is advice, and so it is where a range of
    values, or another column, picks the pairs afterwards.
    """

    id, title = "many-to-many-merge", "Merge with one row for each key, and leave the others out: drop_duplicates"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd",
            "orders = load('orders')\nvisits = load('visits')",
            "both = pd.merge(orders, visits, on='user')  # all",
            becomes="both = pd.merge(orders, visits.drop_duplicates('user'), on='user')  # all",
            says=("one row of `visits` for each `'user'`", 'validate="many_to_one"'),
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(trades, quotes, on='day', suffixes=('', '_q'))\nm = m[m['firm'] == m['firm_q']]",
            line=1,
            says=("Join by `firm`", "on=['day', 'firm']", "needed more than 1.8 GiB"),
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(trades, quotes, on='day', suffixes=('', '_q'))\nm['own'] = m['firm'] == m['firm_q']",
            line=1,
            becomes={"quotes": "quotes.drop_duplicates('day')"},
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(trades, quotes, on='day')\nm = m[(m.time >= m.start) & (m.time < m.end)]",
            line=1,
            says=("merge_asof", "trades.groupby('day')", "some.merge(quotes, on='day')"),
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(orders, visits, on='user')\ntotal = m.groupby('city')['paid'].sum()",
            line=1,
            says=(
                "few = orders.groupby('user', dropna=False).size()",
                "counted = visits.merge(few, on='user', validate=\"many_to_one\")",
                "total = counted.groupby('city')[\"sum\"].sum()",
            ),
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(orders, visits, on='user')\nseen = m.groupby('user')['minutes'].mean()",
            line=1,
            says=("seen = counted.groupby('user')[\"sum\"].sum() / counted.groupby('user')[\"count\"].sum()",),
        ),
        Case(  # of which table a column is, its own code tells
            "import pandas as pd\nclicks, views = pd.DataFrame(a), pd.DataFrame({'day': days, 'page': pages})",
            "top = clicks.merge(views, on='day').groupby('page').size().head()",
            says=(
                "few = clicks.groupby('day', dropna=False).size()",
                "counted = views.merge(few, on='day'",
                "counted.groupby('page')[\"rows\"].sum()",
            ),
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(clicks, views, on='day')\nout = m.groupby('page').agg(list)",
            line=1,
            says=("make one row of each key of one table before the merge",),
        ),
        Case(
            "import pandas as pd\nKEYS = ['year', 'city']",
            "def enrich(sales, rates):\n    return (\n        sales\n        .assign(x=1)\n"
            "        .merge(rates[['year', 'city', 'rate']], how='left', left_on=KEYS, right_on=KEYS)\n    )",
            "out = enrich(pd.DataFrame(a), pd.DataFrame(b))",
            becomes={"[['year', 'city', 'rate']]": "[['year', 'city', 'rate']].drop_duplicates(KEYS)"},
        ),
        Case(
            "import pandas as pd\nusers = pd.DataFrame(a)",
            "full = (\n    users\n    .merge(orders, on='id')\n    .merge(visits, on='id')\n)",
            before_mib=1000,  # of libraries: the tables are small
            namespaces=[Namespace(-11.0, 1, ())],
            becomes="full = (\n    users\n    .merge(orders.drop_duplicates('id'), on='id')\n"
            "    .merge(visits.drop_duplicates('id'), on='id')\n)",
        ),
        Case(
            "import pandas as pd\nev = pd.DataFrame(a)",
            "pairs = ev.merge(ev, on='session', suffixes=('_a', '_b'))",
            says=("Filter before", "merge_asof"),
        ),
        Case(
            "import pandas as pd\ndef words(t):\n    return t.assign(w=t['name'].str.split()).explode('w')",
            "pairs = words(pd.DataFrame(a)).merge(words(pd.DataFrame(b)), on='w')\nn = pairs.groupby('id').size()",
            line=1,
            says=("right['w'].value_counts()", "counts < 100", "16,000,000"),
        ),
    ]
    SILENT = [
        Case("import pandas as pd", "out = pd.merge(a, b, on='k', validate='one_to_one')"),
        Case("import pandas as pd", "out = pd.merge(a, b, how='cross')"),
        Case("import pandas as pd", "a['k'], n = 1, 2\nb['k'] = 1\nout = pd.merge(a, b, on='k')", line=3),
        Case("import pandas as pd", "out = a.assign(k=1).merge(b.assign(k=1), on='k')"),
        Case("import pandas as pd", "out = pd.merge(a, b.drop_duplicates('k'), on='k')"),
        Case("import pandas as pd", "out = pd.merge(a, b, on='k')\nbig = [0] * 10**10", line=2),
        Case("import pandas as pd", "out = pd.merge(a, b, on='k')", before_mib=1000, namespaces=[_LARGE]),
        Case("import pandas as pd", "out = pd.merge(a, b, on='k')", before_mib=1000),  # about as large as what it joins
        Case("import polars as pd", "out = pd.DataFrame(a).merge(b, on='k')"),
        Case("def merge(a, b, on): pass", "out = merge(a, b, on='k')"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, *MERGES):
            merge, missing = merge_of(call, death.code), death.wanted_bytes
            if merge is None or call.argument("validate") is not None or "duplicates" in call.text:
                continue
            if has_one_value(merge, call.scope, death.code):
                continue  # each row is meant to meet each: `cross-join-in-parts`
            if not has_outgrown((merge.left, merge.right), call.scope, death):
                continue
            is_refused = (death.refused_bytes or 0) == missing
            did = "needed more than" if death.memory.ran_out else "took"  # a kill cut it off
            took = f"asked for {size(missing)} at once" if is_refused else f"{did} {size(missing)}"
            right = call.scope.segment(merge.right)
            if right == call.scope.segment(merge.left):
                yield _of_one_table(call, right, missing, took)
                continue
            if has_parts_of_texts(merge, call.scope, death.code):
                yield _without_common_keys(call, merge, missing, took)
                continue
            if (other := compared_later(call)) is not None:
                yield _joined_by_both(call, merge.key, other, missing, took)
                continue
            if is_limited_later(call):
                yield _within_limits(call, merge, missing, took)
                continue
            if is_added_up(call):
                yield _one_row_first(call, merge, death, missing, took)
                continue
            edits = () if merge.keeps_right else append(call.scope, merge.right, f".drop_duplicates({merge.key})")
            table, keys = (
                right if right.isidentifier() else f"({right})",
                merge.key if merge.is_list else f"[{merge.key}]",
            )
            nulls = all(may_hold_nulls(side, call.scope, death.code) for side in (merge.left, merge.right))
            yield Proposal(
                edits,
                f"{quote(call.text)} pairs each row with every row of the same key. The result {took}, "
                f"far more than both tables, so keys must repeat in both. The edit keeps one row of {quote(right)} for "
                f"each {quote(merge.key)}. Where the others matter, sum them up before the merge. "
                'With `validate="many_to_one"` the merge stops with an error in place of a dead kernel.',
                missing // 2 if nulls else missing,  # missing keys match each other, too
                snippet=f"# how often does a key repeat?\nprint({table}[{keys}].value_counts().head())",
            )


def _without_common_keys(call: Call, merge: Merge, missing: int, took: str) -> Proposal:
    """Say how the keys are left out that stand in most rows, where these are words of a text or items of a list."""
    why = (
        f"{quote(call.text)} pairs each row with every row of the same key; the result {took}. Its keys come out of "
        "`explode`: a few common ones stand in most rows and make nearly all of the pairs. A word in 4,000 rows of "
        "both tables makes 16,000,000. The rare ones say more of what belongs together."
    )
    left, right = call.scope.segment(merge.left), call.scope.segment(merge.right)
    snippet = (
        f"left, right = {left}, {right}\ncounts = right[{merge.key}].value_counts()\n"
        "print(counts.head(10))  # the keys that most rows share\nrare = counts[counts < 100].index\n"
        f"left, right = left[left[{merge.key}].isin(rare)], right[right[{merge.key}].isin(rare)]\n"
        f"pairs = left.merge(right, on={merge.key})"
    )
    return Proposal((), why, missing, "Leave out the most frequent keys before the merge", snippet)


def _joined_by_both(call: Call, key: str, other: str, missing: int, took: str) -> Proposal:
    """Say how the rows are joined that are kept afterwards, and no others."""
    why = (
        f"{quote(call.text)} pairs each row with every row of the same key; the result {took}. Of these "
        f"only the rows with equal {quote(other)} are kept. Joined by both, no others are made."
    )
    keys = f"[{key.strip('[]')}, {other!r}]"
    return Proposal(
        (), why, missing, f"Join by {quote(other)}, too", f"on={keys}  # and without the comparison afterwards"
    )


def _within_limits(call: Call, merge: Merge, missing: int, took: str) -> Proposal:
    """Say how pairs are found of which one value lies before, or between, the other's."""
    why = (
        f"{quote(call.text)} pairs each row with every row of the same key; the result {took}. Only the "
        "pairs are kept whose values lie in a range. Take one key, or some rows, at a time, and filter them at once."
    )
    left, right, key = call.scope.segment(merge.left), call.scope.segment(merge.right), merge.key
    snippet = (
        f"parts = []\nfor _, some in {left}.groupby({key}):  # one key at a time\n"
        f"    pairs = some.merge({right}, on={key})\n    parts.append(pairs[...])  # your own condition, at once\n"
        "result = pd.concat(parts)\n\n"
        f"# or only the nearest of each, with no pairs at all:\n# pd.merge_asof(left, right, on='time', by={key})"
    )
    return Proposal((), why, missing, "Join one key at a time, and keep the pairs in the range", snippet)


def _one_row_first(call: Call, merge: Merge, death: Death, missing: int, took: str) -> Proposal:
    """Say how the rows are counted or summed up without them, where what follows does no more with them."""
    reduction = reduction_of(call)
    snippet = None if reduction is None else without_the_pairs(call, merge, reduction, death.code)
    why = f"{quote(call.text)} pairs each row with every row of the same key. The result {took}. "
    if snippet is None:
        why += (
            "What follows counts, sums or averages its rows: make one row of each key of one table before the merge, "
            "with what the result needs of it. Compare both results on a few keys: a row that was there many times "
            "counts once then."
        )
        return Proposal((), why, missing, "Make one row of each key before the merge, and check the numbers")
    why += (
        "What follows only counts, sums or averages its rows. With how often each key stands in the other table, "
        "worked out before the merge, the numbers are the same, and no row is made twice."
    )
    return Proposal((), why, missing, "Aggregate before the merge: the same numbers without its rows", snippet)


def _of_one_table(call: Call, table: str, missing: int, took: str) -> Proposal:
    """Say how pairs of rows of the same table are found without all of them: no row of it can be left out."""
    why = (
        f"{quote(call.text)} pairs each row of {quote(table)} with every other of the same key: 1,000 rows of a key "
        f"give 1,000,000. The result {took}. Keep on each side only the rows and columns that can match."
    )
    snippet = (
        f"first, then = {table}[{table}['kind'] == 'a'], {table}[{table}['kind'] == 'b']  # filter before the merge\n"
        f"pairs = pd.merge_asof(first.sort_values('time'), then.sort_values('time'), on='time', by='key',\n"
        "                      direction='forward')  # or only the next one of each\n"
        f"gap = {table}.groupby('key')['time'].diff()  # or neighbours: diff and shift"
    )
    return Proposal((), why, missing, "Filter before the table is merged with itself", snippet)
