from math import prod

from ...fix import Advice, Case, Death, Family, quote

_MANY = 2_000_000
_X = "import numpy as np\nimport matplotlib.pyplot as plt\nx = np.zeros(50_000_000)"
_DRAWS = ("matplotlib.pyplot.plot", "matplotlib.pyplot.scatter", "matplotlib.pyplot.fill_between")


class DecimatePlot(Advice):
    """Plot fewer points than a screen has, or count them.

    What it does: A screen has some two million points. A plot of more takes memory for each of them several times over,
    and shows nothing more. Every n-th point, or a histogram of counts in two dimensions, shows the same.

    When it is offered: Memory ran out on a line that plots millions of points.

    What it costs: Single points that stand out may be among those that are left out; `hist2d` and `hexbin` count all.
    """

    id, title, causes = "decimate-plot", "Plot fewer points", (Family.MEMORY,)
    functions = _DRAWS
    why = "{call} draws {points} points, more than any screen has. Plot every {step}th, or count them with `hist2d`."
    snippet = "{function}({array}[::{step}])\n# or count all of them: plt.hist2d(x, y, bins=500)"

    FIRES = [Case(_X, "plt.plot(x)", says=("50,000,000 points", "plt.plot(x[::500])"))]
    SILENT = [Case(_X, "plt.plot(x[:1000])"), Case(_X, "plt.plot(y)"), Case(_X, "plt.plot(x)", cause="segfault")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Count the points, where that is known."""
        for call in death.code.running.calls(*_DRAWS):
            for given in call.node.args:
                value = death.values.of(given, call.scope)
                points = prod(value.shape) if value is not None and value.shape else 0
                if points >= _MANY:
                    step, array = max(2, points // 100_000), call.scope.segment(given)
                    return {"points": f"{points:,}", "step": str(step), "array": array, "of": quote(array)}
        return None
