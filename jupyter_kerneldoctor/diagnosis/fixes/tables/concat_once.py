import ast
from functools import partial

from ...calls import calls_at, is_of, nodes_at
from ...code.origins import Origins, all_origins
from ...code.trees import unparse
from ...edits import replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.growing import growing
from ...frameworks.pandas import put_below

_ROWS = ("pandas.DataFrame", "pandas.json_normalize", "pandas.Series")


class ConcatOnce(Fix):
    """Make one data frame of all rows, not one of each.

    What it does: `df = pd.concat([df, part])` in a loop copies all rows in each round; a data frame for each row holds
    names and indexes thousands of times. Pieces in a list are put together once, and a list of records becomes one data
    frame.

    When it is offered: Memory ran out in such a loop that uses the frame for nothing else, in a `pd.concat` of frames
    of one record, or where `df.loc[len(df)] = row` puts one row below the others.

    What it costs: Nothing, but that the index of records made at once counts from 0.
    """

    id, title, causes = "concat-once", "Make one DataFrame of all rows, after the loop", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd",
            "df = pd.DataFrame()\nfor day in days:\n    df = pd.concat([df, load(day)], ignore_index=True)",
            says=("df_parts.append(load(day))", "df = pd.concat(df_parts, ignore_index=True)"),
        ),
        Case(
            "import pandas as pd\nclass Log:\n    def __init__(self): self.df = pd.DataFrame()\n"
            "    def add(self, row):\n        self.df = pd.concat([self.df, row])",
            "log = Log()\nfor row in rows: log.add(row)",
            says=("self.df_parts.append(row)", "self.df = pd.concat([self.df, *self.df_parts])"),
        ),
        Case(
            "import pandas as pd\ndf = pd.DataFrame(columns=['i', 'x'])",
            "for i in range(10**6):\n    df.loc[len(df)] = [i, f(i)]",
            line=2,
            says=("rows.append([i, f(i)])", "df = pd.DataFrame(rows, columns=df.columns)"),
        ),
        Case(
            "import pandas as pd",
            "rows = [pd.json_normalize({'id': i, 'user': {'n': i}}) for i in range(9000)]\ndata = pd.concat(rows)",
            becomes="rows = [{'id': i, 'user': {'n': i}} for i in range(9000)]\ndata = pd.json_normalize(rows)",
        ),
    ]
    SILENT = [
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "for i in xs:\n    df.loc[i, 'x'] = f(i)", line=2),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df.loc[len(df)] = row"),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "for c in xs:\n    m = df[c] > 3\n    df.loc[m] = 0", line=3),
        Case("import pandas as pd", "df = pd.concat([pd.read_csv(p) for p in paths])"),
        Case("import pandas as pd", "for d in days:\n    df = pd.concat([df, load(d)])\n    show(df)"),
        Case("import pandas as pd", "rows = [pd.DataFrame(r) for r in rs]\nx = pd.concat(rows)\nrows[0].plot()"),
        Case("import pandas as pd", "for d in days:\n    df = pd.concat([df, f(d)])\nbig = [0] * 10**10", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes or 0
        for one in growing(death.code, "pandas.concat") if death.is_of_this_cell else ():
            if death.was_running(one.loop, one.around):
                why = f"{quote(one.call.text)} copies all of {quote(one.name)} in each round, and for a moment both "
                more = "copies are there. Put the pieces together once; or write each to a file, if that is too much."
                yield Proposal((), why + more, missing // 4, snippet=one.gathered)
        yield from _row_by_row(death)
        for call in calls_at(death, "pandas.concat", *_ROWS):
            if (made := _of_records(call, death)) is not None:
                whole, inner, record = made
                edits = replace(call.scope, inner, call.scope.segment(record))
                edits += replace(whole.scope, whole.node, whole.text.replace("concat", inner_name(inner), 1))
                why = (
                    f"{quote(call.scope.segment(inner))} makes a data frame for each record: thousands of indexes and "
                )
                yield Proposal(
                    edits,
                    f"{why}columns, which are then joined. One of all records is enough; its index counts from 0.",
                    missing,
                )


def _row_by_row(death: Death) -> Proposals:
    """Tell of rows that are put below a table one by one."""
    for statement, scope in nodes_at(death, ast.Assign):
        table, row = put_below(statement, partial(_is_made_empty, scope=scope, death=death)) or (None, None)
        loops = [*scope.loops_around(statement), *([] if scope.is_cell else Origins(death.code).calls_of(scope))]
        if table is None or row is None or not loops or not is_of(("pandas",), table, scope, death):
            continue
        name = scope.segment(table)
        why = f"{quote(scope.segment(statement))} makes the table anew with one row more, in each round. Keep the rows "
        why += "in a list, and make one table of them; or write them to a file, if that is too much."
        snippet = f"rows = []  # before the loop\n\nrows.append({scope.segment(row)})  # in it\n\n"
        made = f"pd.DataFrame(rows, columns={name}.columns)"
        if not _is_made_empty(table, scope, death):
            made = f"pd.concat([{name}, {made}], ignore_index=True)"
        snippet += f"{name} = {made}  # once, after it"
        yield Proposal((), why, (death.memory.missing_bytes or 0) // 2, snippet=snippet)
        return


def _is_made_empty(table: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a table began without rows: `pd.DataFrame(columns=["a", "b"])`."""
    for one, where in all_origins(table, scope, death.code):
        match one:
            case ast.Call(func=made, args=[], keywords=words) if all(
                word.arg in ("columns", "dtype") for word in words
            ):
                return death.code.qualified(made, where) == "pandas.DataFrame"
    return False


def inner_name(call: ast.Call) -> str:
    """Return the last part of what is called."""
    return getattr(call.func, "attr", "")


def _of_records(call: Call, death: Death) -> tuple[Call, ast.Call, ast.expr] | None:
    """Return the concat, the call that makes a frame of each record, and the record."""
    for whole in death.code.running.calls("pandas.concat"):
        if len(whole.node.args) != 1 or whole.node.keywords or not isinstance(whole.node.func, ast.Attribute):
            continue
        listed = all_origins(whole.node.args[0], whole.scope, death.code)[-1]
        match listed.node:
            case ast.ListComp(elt=ast.Call(args=[ast.Dict() as record], keywords=[], func=ast.Attribute()) as made):
                name = death.code.qualified(made.func, listed.scope)
                uses = [one for one in whole.scope.names if unparse(one) == unparse(whole.node.args[0])]
                here = listed.scope is call.scope and listed.scope is whole.scope
                if name == "pandas.json_normalize" and here and len(uses) <= 2:
                    return whole, made, record
    return None
