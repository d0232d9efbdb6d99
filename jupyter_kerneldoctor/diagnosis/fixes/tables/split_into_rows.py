import ast

from ...code.trees import unparse
from ...fix import Advice, Case, Death, Family, quote


class SplitIntoRows(Advice):
    """Split texts into rows, not into columns.

    What it does: `.str.split(expand=True)` makes as many columns as the longest text has parts, for all rows: one row
    with 60,000 tags among 9,000 makes 540 million cells, nearly all empty. `.explode()` makes a row of each part.

    When it is offered: Memory ran out in such a call that has no `n`.

    What it costs: The parts stand below one another, each with the index of its row. With `n=` only the first are
    split.
    """

    id, title, causes = "split-into-rows", "Split into rows with `explode`, not into columns", (Family.MEMORY,)
    why = (
        "{split} makes as many columns as the longest text has parts, for all rows: a single long row is enough. Make "
        "a row of each part, or split only the first few with `n=`."
    )
    snippet = "parts = {column}.str.{method}({given}).explode()  # one part in each row, as value_counts() needs it"

    FIRES = [
        Case(
            "import pandas as pd\ndef count(df):\n    return df['tags'].str.split(',', expand=True)",
            "wide = count(pd.DataFrame({'tags': load()}))",
            says=("parts = df['tags'].str.split(',').explode()", "n="),
        )
    ]
    SILENT = [
        Case("import pandas as pd\ndf = load()", "w = df.a.str.split(',', expand=True)\nb = [0] * 10**10", line=2),
        Case("import pandas as pd\ndf = load()", "w = df.a.str.split(',', n=3, expand=True)"),
        Case("import pandas as pd\ndf = load()", "w = df.a.str.split(',')"),
        Case("import numpy as np\ndf = load()", "w = df.a.str.split(',', expand=True)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the call, and the column that it splits."""
        if not death.is_of_this_cell or not any("pandas" in cell.source for cell in death.code.cells):
            return None
        for call, scope in death.code.running.nodes(ast.Call):
            match call:
                case ast.Call(func=ast.Attribute(attr="split" | "rsplit" as method, value=text), keywords=words):
                    is_text = isinstance(text, ast.Attribute) and text.attr == "str"
                    expands = any(w.arg == "expand" and unparse(w.value) == "True" for w in words)
                    bounded = len(call.args) > 1 or any(word.arg in ("n", None) for word in words)
                    if is_text and expands and not bounded and death.was_running(call, scope):
                        kept = [one for one in words if one.arg != "expand"]
                        given = ", ".join(
                            [scope.segment(one) for one in call.args]
                            + [f"{one.arg}={scope.segment(one.value)}" for one in kept]
                        )
                        column = scope.segment(text.value) if isinstance(text, ast.Attribute) else ""
                        split = quote(scope.segment(call))
                        return {"split": split, "column": column, "method": method, "given": given}
        return None
