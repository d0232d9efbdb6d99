import ast

from ...calls import is_of, nodes_at
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import grew_in

_FRAME = "import pandas as pd\ndf = pd.read_csv('counts.csv')"


class TransposeNumbersOnly(Fix):
    """Transpose numbers of one type only: the texts become the index.

    What it does: Where the columns of a table have different types, all values become Python objects when rows and
    columns change places: 50 bytes and more for each. With the texts as the index, numbers stay numbers.

    When it is offered: Memory ran out where a table of pandas was transposed.

    What it costs: The texts are the names of the columns then, no row among the numbers.
    """

    id, title = "transpose-numbers-only", "Transpose numbers of one type only: set_index, select_dtypes, float32"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(_FRAME, "t = df.T", says=("numbers = df.set_index('name').select_dtypes('number')", "t = numbers.T")),
        Case(_FRAME, "t = df.transpose().reset_index()", line=1),
    ]
    SILENT = [
        Case(_FRAME, "t = df.T\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nx = np.ones((9, 9))", "y = x.T"),
        Case("import pandas as pd\nimport numpy as np\nx = np.load('a.npy')", "y = x.T"),
        Case(_FRAME, "t = df.select_dtypes('number').T"),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.Attribute):
            table = scope.segment(node.value)
            is_it = node.attr in ("T", "transpose") and "select_dtypes" not in table and "\n" not in table
            if is_it and is_of(("pandas",), node.value, scope, death) and grew_in(death, node, scope) is not False:
                to = next(iter(scope.assigned_by(node)), "turned")
                snippet = (
                    f"numbers = {table}.set_index('name').select_dtypes('number').astype('float32')  # or int32\n"
                    f"{to} = numbers.T  # texts are names of columns now\n\n"
                    f"values = {table}['name'].value_counts()  # most questions need no other side: axis=1 in sum, mean"
                )
                why = f"{quote(f'{table}.{node.attr}')} makes a Python object of each value where types differ."
                yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
                return
