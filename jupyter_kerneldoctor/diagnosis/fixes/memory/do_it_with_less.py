from ...fix import Case, Death, Family, Fix, Proposals
from ...lesser_ways import GENERAL, counterexamples, examples, first_running


class DoItWithLess(Fix):
    """Do the same with less: fewer columns, smaller types, one item at a time.

    What it does: Says of the call that was running what it makes beside what there is, and shows a call on less: on the
    columns that are needed, in half the width, or item by item.

    When it is offered: Memory ran out in such a call. It comes after fixes that know what is special about the code.

    What it costs: Which columns, which width, and what is kept of each item only you can tell.
    """

    id, title, causes, general = "do-it-with-less", "Do the same with less", (Family.MEMORY,), True

    unless_offered = frozenset(
        {
            "texts-as-objects",
            "concat-once",
            "keep-images-as-bytes",
            "lazy-product",
            "stream-dataset",
            "many-to-many-merge",
        }
    )

    FIRES = examples(GENERAL)
    SILENT = [
        *counterexamples(GENERAL),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "s = df.sort_values('a')\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nx = np.ones(9)", "s = np.sort(x)"),
        Case("s = sorted(numbers)"),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "df['t'] = df.apply(lambda r: ', '.join(r))"),
        Case("import numpy as np", "d = np.sqrt((a - b) ** 2)"),
        Case("import pandas as pd\ndf = pd.DataFrame(a)", "d = (df['a'] - df['b']).abs()"),
        Case("s = list(range(9))", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        yield from first_running(GENERAL, death)
