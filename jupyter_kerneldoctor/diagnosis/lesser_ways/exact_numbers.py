"""Numbers with all their digits, formulas with all their terms, and lines of a file that are sorted."""

import ast

from ..case import Case
from ..code.calls import last_name
from ..code.notebook import Call
from ..death import Death
from .conditions import given
from .way import LesserWay


def _is_single(call: Call, _death: Death) -> bool:
    """Whether one number is worked out, not one for each item of a list."""
    around = call.scope.inside(call.statement)
    return not call.scope.loops_around(call.node) and not any(isinstance(one, ast.comprehension) for one in around)


_LARGE_RANGE = 10_000_000


def _of_a_range(call: Call, death: Death) -> bool | dict[str, str]:
    """Whether a list or a set is made of nothing but a range, and of a large one where that is known."""
    if not isinstance(call.statement, ast.Assign) or call.statement.value is not call.node:
        return False
    match call.argument(0):
        case ast.Call(func=ast.Name(id="range"), args=[*_, _] as given) as made:
            value = death.values.of(made, call.scope)
            if value is None or value.rows is None or value.rows > _LARGE_RANGE:
                return {"count": call.scope.segment(given[min(1, len(given) - 1)])}
    return False


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
    ),
    LesserWay(
        ("builtins.list", "builtins.set", "builtins.tuple", "builtins.frozenset"),
        "Use the range itself: it has a length, indices and `in`",
        "makes an object of each number of a range.",
        "{to} = {a0}  # takes no memory; np.arange where you calculate with all of them\n"
        "left = np.ones({count}, dtype=bool)  # numbers that are taken out: left[n] = False, a byte for each",
        Case("s = set(range(10**9))", says=("s = range(10**9)", "np.ones(10**9, dtype=bool)")),
        _of_a_range,
        silent=("s = list(range(9))",),
    ),
    LesserWay(
        ("builtins.sum",),
        "Go through the lists one after the other: chain.from_iterable",
        "copies all that was joined before with each list.",
        "from itertools import chain\n\nfor one in chain.from_iterable({a0}):\n"
        "    ...  # one after the other; list(chain.from_iterable({a0})) copies each once",
        Case("flat = sum(lists, [])"),
        lambda call, _death: isinstance(call.argument("start", 1), ast.List),
        silent=("n = sum(numbers, 0)",),
    ),
    LesserWay(
        ("builtins.sorted",),
        "Let the sort program do it: it sorts in pieces, on the disk",
        "makes a text of each line of the file, and keeps all of them.",
        "import subprocess\n\n"
        "sort = ['env', 'LC_ALL=C', 'sort', '-S', '500M', '-T', '.']  # in the order of Python\n"
        "subprocess.run([*sort, '-o', 'sorted.txt', 'lines.txt'], check=True)  # your file, pieces beside it\n"
        "with open('sorted.txt') as file:\n    for line in file:  # in order, one after the other\n        ...",
        Case("lines = sorted(open('lines.txt'))"),
        lambda call, _death: any(
            isinstance(one, ast.Call) and last_name(one.func) == "open" for one in call.node.args[:1]
        ),
        silent=("lines = sorted(names)\nf(big)",),
    ),
)
