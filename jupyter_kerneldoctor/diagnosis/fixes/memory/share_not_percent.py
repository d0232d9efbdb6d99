import ast

from ...calls import is_own, nodes_at
from ...code.calls import last_name
from ...edits import replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.picture_sizes import factors, written_numbers
from ...place import grew_in

_LEAST_FACTOR = 20  # no picture is enlarged so much that 400 times its memory would be in the way
_LEAST_SHARE = 5  # so many times the rows may be meant, to draw again and again
_PERCENT = 100
_MOST_PERCENT = 1000  # a picture ten times as wide
_ENLARGED = (
    "factor = {factor} / 100  # {number:g} percent: {share:g} times as wide and high, not {number:g} times\n"
    "print(round(width * factor), round(height * factor))  # the new size, before a picture of it is made"
)
_DRAWN = "{to} = {owner}.sample({argument}=0.8)  # 80 percent of the rows, each once; n=10_000 for so many"
_SPLIT = "def split(df, percent):\n    return df.sample(frac=percent, replace=True)"
_SCALE = "def scale(img, percent):\n    w, h = img.size\n    new = (int(w * percent), int(h * percent))\n"


class ShareNotPercent(Fix):
    """Give a share, not a percentage: 0.8 for 80 percent.

    What it does: `sample(frac=80)` draws eighty times as many rows as there are, and asks for `replace=True` before it
    does. A picture whose sides are multiplied by 140 is not 1.4 times as large, but takes 19,600 times the memory.
    Divided by 100, a percentage is the share that was meant.

    When it is offered: Memory ran out where rows are drawn by such a share, or a picture is enlarged by such a factor.

    What it costs: Nothing, if a percentage was meant.
    """

    id, title, causes = "share-not-percent", "Give a share, not a percentage: divide it by 100", (Family.MEMORY,)

    FIRES = [
        Case(
            "import pandas as pd\ndf = pd.DataFrame(a)",
            "train = df.sample(frac=80, replace=True, random_state=0)",
            becomes="train = df.sample(frac=0.8, replace=True, random_state=0)",
            says=("80 times as many rows",),
        ),
        Case("few = df.sample(frac=66.666667, replace=True)", becomes={"66.666667": "0.66666667"}),
        Case(_SPLIT, "a = split(df, percent=75)", becomes={"frac=percent": "frac=percent / 100"}),
        Case(
            "import polars as pl\nSHARE = 12.5",
            "few = df.sample(fraction=SHARE, with_replacement=True)",
            becomes="few = df.sample(fraction=SHARE / 100, with_replacement=True)",
        ),
        Case("more = df.sample(frac=3, replace=True)", says=("3 times as many rows", "frac=0.8")),
        Case(
            "import numpy as np, pandas as pd\ndf = pd.DataFrame(np.zeros((90_000, 9)))",
            "more = df.sample(n=len(df) * 80, replace=True)",
            says=("7,200,000 rows of 90,000",),
        ),
        Case(
            _SCALE + "    return img.resize(new)",
            "kept = {}\nfor percent in (75, 140):\n    kept[percent] = scale(logo, percent)",
            line=3,
            says=("140 percent: 1.4 times", "19,600 times", "factor = percent / 100"),
        ),
        Case("import cv2", "big = cv2.resize(img, None, fx=150, fy=150)", says=("22,500 times",)),
        Case("from scipy import ndimage\nZOOM = 120", "big = ndimage.zoom(x, (ZOOM, ZOOM, 1))", says=("ZOOM / 100",)),
        Case(
            "from skimage.transform import rescale",
            "for s in [50, 90]:\n    y = rescale(x, s)",
            line=2,
            says=("s / 100",),
        ),
        Case("p = 110", "new = tuple(int(n * p) for n in img.size)\nbig = img.resize(new)", line=2, says=("p / 100",)),
    ]
    SILENT = [
        Case("few = df.sample(frac=0.8)"),
        Case("few = df.sample(frac=1)"),
        Case("few = df.sample(n=80)"),
        Case("class Urn:\n    def sample(self, frac): return frac\nu = Urn()", "few = u.sample(frac=80)"),
        Case("few = df.sample(frac=80, replace=True)\nbig = [0] * 10**10", line=2),
        Case(_SCALE + "    return img.resize(new)", "small = scale(logo, 0.5)"),
        Case(_SCALE.replace(" * percent", " * percent / 100") + "    return img.resize(new)", "big = scale(logo, 140)"),
        Case("P = 140\nf = P / 100", "w, h = img.size\nbig = img.resize((int(w * f), int(h * f)))", line=2),
        Case("import cv2", "big = cv2.resize(img, None, fx=2, fy=2)"),
        Case("import cv2", "big = cv2.resize(img, (224, 224))"),
        Case("big = img.resize((cols * 32, rows * 32))"),
        Case("buffer.resize(size * 512)"),
        Case("import numpy as np", "a = np.resize(x, (w * 100, h * 100))"),
        Case("big = img.resize((w * 2048, h * 2048))"),
        Case("from sklearn.preprocessing import scale", "y = scale(x, 1)"),
        Case("import torch.nn.functional as F", "y = F.interpolate(x, scale_factor=4)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.Call):
            if grew_in(death, node, scope) is False or is_own(node.func, scope, death):
                continue
            call = Call(node, scope, death.code.qualified(node.func, scope) or "")
            found = _drawn(call, death) if last_name(node.func) == "sample" else _enlarged(call, death)
            if found is not None:
                yield found
                return


def _drawn(call: Call, death: Death) -> Proposal | None:
    """Tell of more rows that are drawn than there are."""
    words = {word.arg: word.value for word in call.node.keywords if word.arg in ("frac", "fraction")}
    for argument, share in words.items():
        numbers = set(written_numbers(share, call.scope, death.code))
        if not numbers or min(numbers) <= 1 or max(numbers) > _PERCENT or not isinstance(call.node.func, ast.Attribute):
            continue
        most, text = max(numbers), call.scope.operand(share)
        why = (
            f"{quote(call.text)} draws {most:g} times as many rows as there are: `{argument}` is a share, and 1 is all."
        )
        if min(numbers) >= _LEAST_SHARE:
            less = f"{most / _PERCENT:.12g}" if isinstance(share, ast.Constant) else f"{text} / 100"
            why += f" For {most:g} percent it is {most / _PERCENT:g}"
            why += ", which needs no `replace=True`." if "replace=True" in call.text else "."
            return Proposal(replace(call.scope, share, less), why, death.memory.missing_bytes)
        return _fewer(call, why, argument, death)
    owner = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    drawn, rows = death.values.number(call.argument("n"), call.scope), death.values.rows(owner, call.scope)
    if drawn and rows and drawn >= 2 * rows:
        return _fewer(call, f"{quote(call.text)} draws {drawn:,} rows of {rows:,}.", "frac", death)
    return None


def _fewer(call: Call, why: str, argument: str, death: Death) -> Proposal:
    owner = call.scope.segment(getattr(call.node.func, "value", call.node.func))
    snippet = _DRAWN.format(to=_target(call), owner=owner, argument=argument)
    return Proposal((), why, death.memory.missing_bytes, "Draw no more rows than there are", snippet)


def _target(call: Call) -> str:
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call.node:
            return name
    return "few"


def _enlarged(call: Call, death: Death) -> Proposal | None:
    """Tell of a picture that is enlarged by a percentage."""
    for factor, scope in factors(call, death.code):
        numbers = set(written_numbers(factor, scope, death.code))
        number = max(numbers, default=0)
        if _LEAST_FACTOR <= number <= _MOST_PERCENT:
            text, times = scope.operand(factor), f"{'up to ' * (len(numbers) > 1)}{number:g}"
            why = (
                f"{quote(call.text)} makes a picture {times} times as wide and high, which takes {number**2:,.0f} "
                f"times the memory. If {quote(text)} is a percentage, divide it by 100."
            )
            snippet = _ENLARGED.format(factor=text, number=number, share=number / _PERCENT)
            return Proposal((), why, death.memory.missing_bytes, snippet=snippet)
    return None
