import math

from ...calls import makers
from ...edits import set_argument
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size

_DATA = "import numpy as np\nfrom sklearn.preprocessing import PolynomialFeatures\nX = np.random.rand(5_000, 100)"

_MOST_COUNTED = 32
"""Degrees above that are counted as this one: the number is beyond all memory, and takes long to work out."""


class PolynomialDegree(Fix):
    """Take polynomials of a lower degree.

    What it does: `PolynomialFeatures(degree=d)` makes a column for each product of up to d columns: of 100 columns
    5,151 for degree 2, and 176,851 for degree 3.

    When it is offered: Memory ran out while it ran with a degree above 2, and degree 2 fits below the limit, where the
    shape is known.

    What it costs: A simpler model. Select the columns that matter first, or take `interaction_only=True`, if degree 3
    is needed.
    """

    id, title, causes = "polynomial-degree", "Take polynomials of degree 2", (Family.MEMORY,)

    FIRES = [
        Case(
            _DATA,
            "Xp = PolynomialFeatures(degree=3).fit_transform(X)",
            becomes="Xp = PolynomialFeatures(degree=2).fit_transform(X)",
            says=("176,851 columns", "6.6 GiB", "5,151"),
        ),
        Case(
            "from sklearn import pipeline, preprocessing as pre\nD = 4",
            "pipeline.make_pipeline(pre.PolynomialFeatures(D), model).fit(X, y)",
            becomes={"(D)": "(2)"},
        ),
        Case(
            _DATA,
            "class Model:\n    def __init__(self, degree=3): self.expand = PolynomialFeatures(degree)\n"
            "    def fit(self, X): return self.expand.fit_transform(X)",
            "Model().fit(X)",
            becomes={"(degree)": "(2)"},
        ),
    ]
    SILENT = [
        Case(_DATA, "Xp = PolynomialFeatures(degree=2).fit_transform(X)"),
        Case(_DATA, "P = PolynomialFeatures(3)\nbig = [0] * 10**10"),
        Case(_DATA.replace("5_000, 100", "50, 4"), "PolynomialFeatures(3).fit_transform(X)"),
        Case(_DATA, "Xp = PolynomialFeatures(3).fit_transform(X)\nbig = [0] * 10**10", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        for made, used in makers(death, "sklearn.preprocessing.PolynomialFeatures"):
            given, data = made.argument("degree", 0), used.argument("X", 0)
            degree = death.values.number(given, made.scope)
            if degree is None or degree <= 2:
                continue
            value = death.values.of(data, used.scope)
            why, saved = f"{quote(made.text)} makes a column for each product of up to {degree} columns.", 0
            if value is not None and len(value.shape) == 2:
                rows, columns = value.shape
                degree = min(degree, _MOST_COUNTED)  # it makes no fewer columns
                before, after = (math.comb(columns + one, one) for one in (degree, 2))
                saved = (before - after) * rows * 8
                why += f" That is {before:,} columns and {size(before * rows * 8)}; degree 2 makes {after:,}."
                if death.safe_headroom_bytes is not None and after * rows * 8 > death.safe_headroom_bytes:
                    continue
            yield Proposal(set_argument(made, "degree", "2", 0), why, saved or death.memory.missing_bytes)
