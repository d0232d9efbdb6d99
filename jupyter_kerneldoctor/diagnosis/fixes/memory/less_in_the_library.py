from jupyter_kerneldoctor.recording.events import NamedObject

from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposals
from ...lesser_ways import LIBRARIES, counterexamples, examples, first_running


class LessInTheLibrary(Fix):
    """Let the library do it with less: a part at a time, in smaller types, on a sparse form.

    What it does: Says of the library whose function was running what it can do with less, with your names.

    When it is offered: Memory ran out in such a function, and no rule knows that very one.

    What it costs: Which part, and which type is enough, only you can tell.
    """

    id, title, causes, general = "less-in-the-library", "Let the library do it with less", (Family.MEMORY,), True
    unless_offered = frozenset(
        {
            *("ask-for-less", "do-it-with-less", "corrcoef-rowvar", "repeated-labels", "share-not-percent"),
            *("suppress-output-cache", "bound-dict-cache", "bound-function-cache", "add-up-weights"),
        }
    )

    FIRES = [
        *examples(LIBRARIES),
        Case(
            "import numpy as np\ndef spread(row): return row.max() - row.min()",
            "r = np.apply_along_axis(spread, 1, x)",
            says=("np.array_split(x, 100)", "np.apply_along_axis(spread, 1, part)"),
        ),
        Case("import numpy as np", "n = np.linalg.norm(x, axis=1)", says=("np.linalg.norm(part, axis=1)",)),
        Case(
            "import numpy as np\nimport pandas as pd\ndf = pd.read_csv('a.csv')",
            "n = np.linalg.norm(df, axis=1)",
            says=("np.array_split(df.to_numpy(), 100)",),
        ),
    ]
    SILENT = [
        *counterexamples(LIBRARIES),
        Case("import numpy as np\nx = np.ones(9)", "y = np.fliplr(x)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np", "np.random.seed(0)"),
        Case("from scipy.sparse.linalg import lsqr", "x = lsqr(A, b)"),  # its rows belong together
        Case("import numpy as np", "L = np.linalg.cholesky(A)"),
        Case("from scipy import linalg", "B = linalg.sqrtm(A)"),
        Case("from scipy.optimize import curve_fit\ndef f(t, a): return a * t", "fit, _ = curve_fit(f, t, x)"),
        Case(  # what is kept is too much, not what is worked on
            "import numpy as np\nrows = []",
            "while True:\n    rows.append(np.fliplr(x))",
            grew=NamedObject("rows", "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0),
        ),
        Case("import numpy as np", "y = np.fliplr(x)", cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        yield from first_running(LIBRARIES, death)
