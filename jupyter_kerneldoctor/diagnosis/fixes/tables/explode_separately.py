import ast

from ...calls import calls_at
from ...fix import Advice, Call, Case, Death, Family, quote

_FUNCTION = "pandas.DataFrame.explode"
_CHAIN = (
    "import pandas as pd\ndef tidy(df):\n    return (\n        df.explode('tags')\n        .explode('authors')\n    )"
)


class ExplodeSeparately(Advice):
    """Explode one column at a time, with only the columns that are needed.

    What it does: `explode` makes a row of each item of a list, and repeats all other columns in each. Two columns one
    after the other give a row for each pair: 60 tags and 40 authors make 2,400 rows of one. Exploded separately they
    make 100.

    When it is offered: Memory ran out in such a call.

    What it costs: Two tables in place of one. What is asked of the pairs is counted by a `merge` of the few that
    matter.
    """

    id, title, causes = "explode-separately", "Explode only the columns that you need", (Family.MEMORY,)
    headline, why, snippet = "{title_}", "{why_}", "{code_}"

    FIRES = [
        Case(
            _CHAIN,
            "tidy(pd.DataFrame(rows))",
            says=("Explode each column separately", "tags = df[['id', 'tags']].explode('tags')", "each pair"),
        ),
        Case(
            "import pandas as pd\ndf = pd.read_json('x.json', lines=True)",
            "long = df.explode(column='words')",
            says=("repeats all other columns", "df[['id', 'words']].explode('words')"),
        ),
        Case(
            "import pandas as pd\ndef flat(df, names):\n    for name in names:\n        df = df.explode(name)",
            "flat(pd.DataFrame(rows), ['a', 'b'])",
            says=("Explode each column separately", "df[['id', name]].explode(name) for name in names"),
        ),
    ]
    SILENT = [
        Case("import pandas as pd\ndf = pd.DataFrame(x)", "df.explode('tags')\nbig = [0] * 10**10", line=2),
        Case("from shop import df", "df.explode('tags')"),
        Case("import pandas as pd\ndf = pd.DataFrame(x)", "df[['id', 'tags']].explode('tags')"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the columns, and the table that they belong to."""
        calls = list(calls_at(death, _FUNCTION))
        names = list(dict.fromkeys(one for call in calls if (one := _column(call)) is not None))
        if not names:
            return _in_a_loop(calls)
        table = _table(calls[0])
        if len(names) == 1 and table.endswith("]"):
            return None
        parts = "\n".join(
            f"{name if name.isidentifier() else 'part'} = {table}[['id', {name!r}]].explode({name!r})" for name in names
        )
        if len(names) > 1:
            why = f"{quote(calls[0].text)} explodes {len(names)} columns one after the other: a row for each pair of "
            return {
                "title_": "Explode each column separately",
                "why_": f"{why}their items. Explode each by itself, with the id of its row.",
                "code_": f"{parts}  # with your own id; merge only the rows that you ask about",
            }
        return {
            "title_": self.title,
            "why_": f"{quote(calls[0].text)} repeats all other columns for each item of {quote(names[0])}. Take the "
            "columns that you need first.",
            "code_": parts,
        }


def _in_a_loop(calls: list[Call]) -> dict[str, str] | None:
    """Say it of columns that a loop explodes one after the other: `for column in columns: df = df.explode(column)`."""
    for call in calls:
        for loop in call.scope.loops_around(call.node):
            match loop, call.argument("column", 0), call.statement:
                case ast.For(target=ast.Name(id=at)), ast.Name(id=column), ast.Assign(targets=[ast.Name(id=to)]):
                    if at == column and to == _table(call):
                        columns = call.scope.segment(loop.iter)
                        why = f"{quote(call.text)} explodes the result of the round before: a row for each pair of "
                        return {
                            "title_": "Explode each column separately",
                            "why_": f"{why}their items. Explode each column by itself, with the id of its row.",
                            "code_": f"parts = {{{at}: {to}[['id', {at}]].explode({at}) for {at} in {columns}}}"
                            "  # with your own id; merge only the rows that you ask about",
                        }
    return None


def _column(call: Call) -> str | None:
    given = call.argument("column", 0)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _table(call: Call) -> str:
    """Return the code that stands for the table, before all that is chained to it."""
    node = call.node.func
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return call.scope.segment(node)
