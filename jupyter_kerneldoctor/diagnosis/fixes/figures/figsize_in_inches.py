import ast

from ...code.origins import all_origins
from ...edits import Changes, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size

_DPI = 100
_LARGEST_INCHES = 60  # a poster
_PIXEL_BYTES = 4
_METRES = 0.0254  # to the inch
_FIGURES = ("matplotlib.pyplot.figure", "matplotlib.pyplot.subplots", "matplotlib.figure.Figure")
_SHEET = "import matplotlib.pyplot as plt\nplt.figure(figsize=({}))\nplt.savefig('x.png', dpi=100)"
_CHART = "def chart(values, size=({})):\n    f, axis = plt.subplots(figsize=size)\n    axis.plot(values)"


class FigsizeInInches(Fix):
    """Give the size of a figure in inches, not in pixels.

    What it does: `figsize=(300, 400)` is a sheet of 7.6 by 10 metres. At 100 dots to the inch it has 1.2 billion
    pixels, 4.5 GiB. For 300 by 400 pixels it is `figsize=(3, 4)`.

    When it is offered: Memory ran out in a cell that makes or draws such a figure, larger than 60 inches in one
    direction.

    What it costs: Nothing, if pixels were meant.
    """

    id, title, causes = "figsize-in-inches", "Give figsize in inches, not in pixels", (Family.MEMORY,)

    FIRES = [
        Case(_SHEET.format("300, 400"), becomes=_SHEET.format("3.0, 4.0"), says=("4.5 GiB", "7.6 m")),
        Case(
            "from matplotlib import pyplot\nW, H = 640, 480",
            "fig, axes = pyplot.subplots(2, 2, figsize=(W, H), dpi=50)",
            "fig.savefig('a.png')",
            becomes={"(W, H)": "(W / 50, H / 50)"},
        ),
        Case(
            "from matplotlib import pyplot as plt",
            _CHART.format("800, 600"),
            "chart([3, 1])",
            becomes={2: _CHART.format("8.0, 6.0")},
        ),
    ]
    SILENT = [
        Case("import matplotlib.pyplot as plt", "fig = plt.figure(figsize=(20, 40))"),
        Case("import matplotlib.pyplot as plt", "fig = plt.figure(figsize=size)"),
        Case("import matplotlib.pyplot as plt", "plt.figure(figsize=(300, 400))", "x = [0] * 10**10"),
    ]

    def propose(self, death: Death) -> Proposals:
        running = {scope.tree.source for scope in death.code.running} if death.is_of_this_cell else set()
        draws = any(word in source for word in ("plt", "fig", "plot", "savefig") for source in running)
        for call in death.code.calls(*_FIGURES) if draws else ():
            place = () if "subplots" in call.name else (0, 1)
            given = call.argument("dpi", *place[1:])
            dpi = death.values.number(given, call.scope) or _DPI
            sides = call.argument("figsize", *place[:1])
            found, scope = (None, call.scope) if sides is None else all_origins(sides, call.scope, death.code)[-1]
            match found:
                case ast.Tuple(elts=[wide, high]) | ast.List(elts=[wide, high]):
                    width, height = (death.values.number(side, scope) or 0 for side in (wide, high))
                    takes = width * height * dpi * dpi * _PIXEL_BYTES
                    if max(width, height) > _LARGEST_INCHES:
                        yield Proposal(
                            _in_inches(wide, dpi, scope) + _in_inches(high, dpi, scope),
                            f"{quote(call.text)} is a sheet of {width * _METRES:.1f} m by {height * _METRES:.1f} m, as "
                            f"figsize is in inches. At {dpi} dots to the inch its picture takes {size(takes)}.",
                            takes,
                        )


def _in_inches(side: ast.expr, dpi: int, scope: Scope) -> Changes:
    text = f"{ast.literal_eval(side) / dpi}" if isinstance(side, ast.Constant) else f"{scope.segment(side)} / {dpi}"
    return replace(scope, side, text)
