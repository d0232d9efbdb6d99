import ast
from collections.abc import Iterator

from ...calls import is_of, nodes_at
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import grew_in

_FRAME = "import pandas as pd\ndf = pd.read_csv('a.csv')"


class KeysWithoutTexts(Fix):
    """Use several columns as a key, not one text made of them.

    What it does: Texts put together of columns take 60 bytes and more for each row. `groupby`, `merge` and `duplicated`
    take several columns, and `ngroup()` gives each combination a number of eight bytes.

    When it is offered: Memory ran out where columns of texts were added to one another.

    What it costs: The key is a number or several columns, no text to read.
    """

    id, title = "keys-without-texts", "Use the columns themselves as key, or a number for each: ngroup, category"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _FRAME,
            "df['key'] = df['card'] + '_' + df['day']",
            says=("df.groupby(['card', 'day'], observed=True).ngroup()",),
        ),
    ]
    SILENT = [
        Case(_FRAME, "df['sum'] = df['a'] + df['b']"),
        Case(_FRAME, "df['key'] = df['card'] + '_' + df['day']\nbig = [0] * 10**10", line=2),
        Case("key = row['card'] + '_' + row['day']"),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.BinOp):
            parts = list(_added(node))
            columns = [one for one in parts if isinstance(one, ast.Subscript)]
            if not any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in parts):
                continue
            tables = {scope.segment(one.value) for one in columns}
            if len(columns) < 2 or len(tables) != 1 or not is_of(("pandas",), columns[0].value, scope, death):
                continue
            if grew_in(death, node, scope) is not False:
                table, names = tables.pop(), ", ".join(scope.segment(one.slice) for one in columns)
                first = f"{table}[{scope.segment(columns[0].slice)}]"
                snippet = (
                    f"key = {table}.groupby([{names}], observed=True).ngroup()  # a number for each combination\n"
                    f"again = {table}.duplicated([{names}])  # merge takes several columns, too\n\n"
                    f"{first} = {first}.astype('category')  # each different text is held once"
                )
                why = f"{quote(scope.segment(node))} makes a text of 60 bytes and more for each row."
                yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
                return


def _added(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what is added up in an expression."""
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            yield from (*_added(left), *_added(right))
        case _:
            yield node
