from collections.abc import Iterator

from ...calls import calls_at
from ...code.notebook import Call
from ...edits import append
from ...fix import Case, Death, Family, Fix, Proposal
from ...frameworks.pandas import MERGES, compared_later, is_added_up, may_hold_nulls, merge_of
from ...units import quote, size

_OUTGROWN = 3
"""A result this much larger than both tables is no plain join."""


class ManyToManyMerge(Fix):
    """Merge with one row for each key.

    What it does: A merge pairs each row of one table with every row of the other that has the same key. Where a key
    stands 6,000 times in both, it alone gives 36,000,000 rows. `drop_duplicates` keeps one row for each key of the
    right table, so that the result has no more rows than the left one.

    When it is offered: Memory ran out in a merge by named columns, and the result was at least three times as large as
    both tables.

    What it costs: The other rows of the same key are not in the result. Where they matter, sum them up with `groupby`
    before the merge. With `validate="many_to_one"` the merge raises a `MergeError` where a key repeats. A table that is
    merged with itself needs them: there the fix is advice.
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
            says=("Join by `firm`", "on=['day', 'firm']"),
        ),
        Case(
            "import pandas as pd",
            "m = pd.merge(orders, visits, on='user')\ntotal = m.groupby('city')['paid'].sum()",
            line=1,
            says=("visits.groupby('user', as_index=False).sum(", "leave rows out"),
        ),
        Case(
            "import pandas as pd\nKEYS = ['year', 'city']",
            "def enrich(sales, rates):\n    return (\n        sales\n        .assign(x=1)\n"
            "        .merge(rates[['year', 'city', 'rate']], how='left', left_on=KEYS, right_on=KEYS)\n    )",
            "out = enrich(pd.DataFrame(a), pd.DataFrame(b))",
            becomes={
                2: "def enrich(sales, rates):\n    return (\n        sales\n        .assign(x=1)\n"
                "        .merge(rates[['year', 'city', 'rate']].drop_duplicates(KEYS), "
                "how='left', left_on=KEYS, right_on=KEYS)\n    )"
            },
        ),
        Case(
            "import pandas as pd\nev = pd.DataFrame(a)",
            "pairs = ev.merge(ev, on='session', suffixes=('_a', '_b'))",
            says=("Filter before", "merge_asof"),
        ),
    ]
    SILENT = [
        Case("import pandas as pd", "out = pd.merge(a, b, on='k', validate='one_to_one')"),
        Case("import pandas as pd", "out = pd.merge(a, b, how='cross')"),
        Case("import pandas as pd", "out = pd.merge(a, b.drop_duplicates('k'), on='k')"),
        Case("import pandas as pd", "out = pd.merge(a, b, on='k')\nbig = [0] * 10**10", line=2),
        Case("import pandas as pd", "out = pd.merge(a, b, on='k')", before_mib=1000),  # about as large as what it joins
        Case("import polars as pd", "out = pd.DataFrame(a).merge(b, on='k')"),
        Case("def merge(a, b, on): pass", "out = merge(a, b, on='k')"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Let the right table have one row for each key."""
        for call in calls_at(death, *MERGES):
            merge, missing = merge_of(call, death.code), death.wanted_bytes
            if merge is None or call.argument("validate") is not None or "duplicates" in call.text:
                continue
            if missing < _OUTGROWN * _tables_bytes(call, death):
                continue
            right = call.scope.segment(merge.right)
            if right == call.scope.segment(merge.left):
                yield _of_one_table(call, right, missing)
                continue
            if (other := compared_later(call)) is not None:
                yield _joined_by_both(call, merge.key, other, missing)
                continue
            if is_added_up(call):
                yield _summed_first(call, right, merge.key, missing)
                continue
            edits = () if merge.keeps_right else append(call.scope, merge.right, f".drop_duplicates({merge.key})")
            table, keys = (
                right if right.isidentifier() else f"({right})",
                merge.key if merge.is_list else f"[{merge.key}]",
            )
            nulls = all(may_hold_nulls(side, call.scope, death.code) for side in (merge.left, merge.right))
            yield Proposal(
                edits,
                f"{quote(call.text)} pairs each row with every row of the same key. The result took {size(missing)}, "
                f"far more than both tables, so keys must repeat in both. The edit keeps one row of {quote(right)} for "
                f"each {quote(merge.key)}. Where the others matter, sum them up before the merge. "
                'With `validate="many_to_one"` the merge stops with an error in place of a dead kernel.',
                missing // 2 if nulls else missing,  # missing keys match each other, too
                snippet=f"# how often does a key repeat?\nprint({table}[{keys}].value_counts().head())",
            )


def _joined_by_both(call: Call, key: str, other: str, missing: int) -> Proposal:
    """Say how the rows are joined that are kept afterwards, and no others."""
    why = (
        f"{quote(call.text)} pairs each row with every row of the same key; the result took {size(missing)}. Of these "
        f"only the rows with equal {quote(other)} are kept. Joined by both, no others are made."
    )
    keys = f"[{key.strip('[]')}, {other!r}]"
    return Proposal(
        (), why, missing, f"Join by {quote(other)}, too", f"on={keys}  # and without the comparison afterwards"
    )


def _summed_first(call: Call, right: str, key: str, missing: int) -> Proposal:
    """Say how the rows of a key are summed up before the merge, where what follows sums them up anyway."""
    why = (
        f"{quote(call.text)} pairs each row with every row of the same key. The result took {size(missing)}. What "
        "follows counts or sums its rows, so that nothing may leave rows out: sum them up first, one row for each key."
    )
    few = f"{right}.groupby({key}, as_index=False).sum(numeric_only=True)  # or .size(), as you need it"
    return Proposal(
        (), why, missing, "Sum up the rows of each key before the merge", f"few = {few}\n# merge with `few`"
    )


def _of_one_table(call: Call, table: str, missing: int) -> Proposal:
    """Say how pairs of rows of the same table are found without all of them: no row of it can be left out."""
    why = (
        f"{quote(call.text)} pairs each row of {quote(table)} with every other of the same key: 1,000 rows of a key "
        f"give 1,000,000. The result took {size(missing)}. Keep on each side only the rows and columns that can match."
    )
    snippet = (
        f"first, then = {table}[{table}['kind'] == 'a'], {table}[{table}['kind'] == 'b']  # filter before the merge\n"
        f"pairs = pd.merge_asof(first.sort_values('time'), then.sort_values('time'), on='time', by='key',\n"
        "                      direction='forward')  # or only the next one of each\n"
        f"gap = {table}.groupby('key')['time'].diff()  # or neighbours: diff and shift"
    )
    return Proposal((), why, missing, "Filter before the table is merged with itself", snippet)


def _tables_bytes(call: Call, death: Death) -> int:
    """Return what the tables take; where that is not known, no more than what was in use before."""
    merge = merge_of(call, death.code)
    sides = [] if merge is None else [death.values.of(one, call.scope) for one in (merge.left, merge.right)]
    known = [one.bytes for one in sides if one is not None and one.bytes is not None]
    return sum(known) if len(known) == 2 else (death.memory.before_bytes or 0)
