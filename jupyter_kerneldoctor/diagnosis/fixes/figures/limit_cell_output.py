import ast

from ...fix import Advice, Call, Case, Death, Family, quote

_OPTIONS = ("pandas.set_option", "pandas.option_context")
_ALL = "import pandas as pd\npd.set_option('display.max_rows', None)"
_WHOLE = frozenset({"to_string", "to_html", "to_markdown"})


class LimitCellOutput(Advice):
    """Show the first rows, not all of them.

    What it does: A table that is shown is made into HTML in the kernel, kept in the notebook, and drawn by the browser:
    each row takes a hundred times what it takes in memory. `df.head(50)` or `df.sample(50)` show what one can read.

    When it is offered: Memory ran out in a cell that shows all rows of a table: pandas was told to, or the whole table
    is made into text.

    What it costs: Nothing that anybody would read.
    """

    id, title, causes = "limit-cell-output", "Show the first rows, not all of them", (Family.MEMORY,)
    why = (
        "{shows} makes all rows into text or HTML, which takes far more memory than the table. Show some of them, or "
        "write them to a file."
    )
    snippet = "pd.reset_option('display.max_rows')\ndf.head(50)  # or df.sample(50), df.to_csv('all.csv')"

    FIRES = [
        Case(_ALL, "df[df.x > 1]", says=("pd.set_option('display.max_rows', None)", "head(50)")),
        Case("import pandas as pd\ndf = pd.read_csv(p)", "print(df.to_string())", says=("`df.to_string()`",)),
    ]
    SILENT = [
        Case(_ALL, "x = df.merge(other)"),
        Case("import pandas as pd\npd.set_option('display.max_rows', 100)", "df"),
        Case(_ALL + "\npd.set_option('display.max_rows', 60)", "df"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the option, where the cell ends with something shown, or the table that is made into text."""
        code = death.code
        for node, scope in code.running.nodes(ast.Call):
            match node.func:
                case ast.Attribute(attr=attr) if attr in _WHOLE and code.imports("pandas") and not node.args:
                    if code.is_at_line(node, scope):
                        return {"shows": quote(scope.segment(node))}
        module = code.running_module
        shows = bool(module and module.body and isinstance(module.body[-1], ast.Expr))
        newest = next((call for call in _options(death) if shows), None)
        given = newest.node.args[1] if newest is not None and len(newest.node.args) > 1 else None
        if newest is None or not isinstance(given, ast.Constant) or given.value is not None:
            return None
        return {"shows": quote(newest.text)}


def _options(death: Death) -> list[Call]:
    """Return the calls that say how many rows are shown, the last that ran first."""
    found = [one for one in death.code.calls(*_OPTIONS) if "max_rows" in one.text]
    return sorted(found, key=lambda one: (one.cell, one.node.lineno), reverse=True)
