from ...fix import Call, Case, Death, Family, SetArgument
from ...frameworks.svd import needs_full_matrices

_FLOAT_BYTES = 8
_TALL = "import numpy as np\nX = np.random.rand(50_000, 20)"


class SvdFullMatrices(SetArgument):
    """Ask the singular value decomposition only for the columns you need.

    What it does: `np.linalg.svd(X)` completes U to a square: for 50,000 rows and 20 columns U alone is 50,000 by
    50,000, 18.6 GiB. With `full_matrices=False` U has as many columns as there are singular values, here 20.

    When it is offered: Memory ran out on a line that calls `svd` of NumPy or SciPy without `full_matrices`, and the
    square is a good part of what was missing, where the shape of the matrix was recorded. It is silent where the code
    uses the columns of U or rows of Vt that would be left out, `Vt[rank:]`, or multiplies the whole square.

    What it costs: Nothing that most programs use: the columns left out belong to no singular value.
    """

    id, title, causes = "svd-full-matrices", "Ask the SVD only for the columns you need", (Family.MEMORY,)
    functions, argument, position, value = ("numpy.linalg.svd", "scipy.linalg.svd"), "full_matrices", 1, "False"
    why = "makes U a square of as many columns as rows. With `full_matrices=False` it has one for each singular value."

    FIRES = [
        Case(
            _TALL,
            "U, s, Vt = np.linalg.svd(X)\nnormal = Vt[-1]\nY = U[:, :3] * s[:3] @ Vt[:3]",
            becomes={"(X)": "(X, full_matrices=False)"},
            says=("saves 18.6 GiB",),
        ),
        Case(
            "from scipy.linalg import svd",
            "%%time\ns = svd(\n    load('größe'),  # viel\n)[1]",
            becomes="%%time\ns = svd(\n    load('größe'), full_matrices=False,  # viel\n)[1]",
        ),
    ]
    SILENT = [
        Case("import numpy as np", "np.linalg.svd(X, full_matrices=False)"),
        Case("import numpy as np", "np.linalg.svd(X, True)"),
        Case("import numpy as np\nX = np.ones((2000, 1999))", "np.linalg.svd(X)"),  # one column more is no matter
        Case("import numpy as np", "np.linalg.svd(X, **options)"),
        Case("import numpy as np", "np.linalg.svd(*given)"),
        Case(_TALL, "U, s, Vt = np.linalg.svd(X)\nrest = U[:, 20:]"),
        Case(_TALL, "U, s, Vt = np.linalg.svd(X)\nS = np.zeros(X.shape)\nY = U @ S @ Vt"),
        Case("import numpy as np", "null = np.linalg.svd(A)[2]\nnull[-1]"),
        Case("import numpy as np", "np.linalg.svd(X)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np", "np.linalg.svd(X)", cause="segfault"),
        Case("def svd(X): pass", "svd(X)"),
    ]

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the square, or all that was missing where the shape is not known; nothing where all of it is used."""
        value = death.values.of(call.argument(0), call.scope)
        shape = value.shape if value is not None and len(value.shape or ()) == 2 else None
        if needs_full_matrices(call, death.code, shape):
            return 0
        return death.memory.missing_bytes if shape is None else (max(shape) - min(shape)) * max(shape) * _FLOAT_BYTES
