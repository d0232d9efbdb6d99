"""Numbers with all their digits, and formulas with all their terms."""

import ast

from ..case import Case
from ..code.notebook import Call
from ..death import Death
from .conditions import given
from .way import LesserWay


def _is_single(call: Call, _death: Death) -> bool:
    """Whether one number is worked out, not one for each item of a list."""
    around = call.scope.inside(call.statement)
    return not call.scope.loops_around(call.node) and not any(isinstance(one, ast.comprehension) for one in around)


WAYS = (
    LesserWay(
        ("math.factorial", "math.comb", "math.perm", "scipy.special.factorial", "scipy.special.comb"),
        "Calculate with logarithms: math.lgamma",
        "makes a number with all of its digits.",
        "import math\n\nlog_n = math.lgamma(n + 1)  # the logarithm of n!; those of products are sums\n"
        "digits = int(log_n / math.log(10)) + 1  # how many it would have",
        Case("import math", "n = math.factorial(10**9)"),
        lambda call, death: (
            _is_single(call, death) and (call.name.startswith("math.") or given(True, "exact")(call, death))
        ),
        silent=(Case("from scipy import special", "n = special.comb(a, b)"),),
    ),
    LesserWay(
        ("sympy.expand", "sympy.simplify", "sympy.factor"),
        "Put numbers in: lambdify, or keep it factored",
        "makes an object of each term of the formula.",
        "import numpy as np\nimport sympy\n\n"
        "f = sympy.lambdify((x, y), {a0}, 'numpy')  # numbers in place of terms; no expand before\n"
        "values = f(np.linspace(0, 1, 1000), 2.0)",
        Case("import sympy", "e = sympy.expand((x + y) ** 900)"),
    ),
)
