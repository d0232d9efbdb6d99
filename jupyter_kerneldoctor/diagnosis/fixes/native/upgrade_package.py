from ...examples import crash_in
from ...facts import packages
from ...fix import Advice, Case, Death
from ...pasted_commands import distribution

_CELL = "import pyarrow.compute as pc\na = pc.and_(x, y)\na.true_count"


class UpgradePackage(Advice):
    """Upgrade the library that crashed: the fault may be repaired in a newer version.

    What it does: A library that ends the process where it should raise an error has a fault. The command installs its
    newest version for this kernel's Python. If that crashes as well, the line that the report names belongs into an
    issue of the library's own tracker.

    When it is offered: Native code of a library crashed or gave up, and no reason for it was found in the cells.

    What it costs: A newer version may behave differently. Restart the kernel afterwards.
    """

    id, title, general = "upgrade-package", "Upgrade the library that crashed", True
    causes = ("segfault", "abort", "heap-corruption")
    why = (
        "{package} was at work {where}, and a library should not end the process. Upgrade {package}: the fault may "
        "be repaired in a newer version. If it still crashes, report this line to its makers."
    )
    snippet = "{command}"
    unless_offered = frozenset(
        {"bound-what-c-writes", "boundscheck-numba", "ctypes-signatures", "keep-buffer-alive", "sliding-window-view"}
    )

    FIRES = [
        Case(_CELL, line=3, says=("--upgrade pyarrow", "`a.true_count`")),
        Case(
            "import lxml.etree as e\ne.parse(f)",
            crash=crash_in("import lxml.etree as e\ne.parse(f)", ("/v/site-packages/lxml/x.py", 3, "parse"), line=2),
            says=("--upgrade lxml",),
        ),
        Case(
            "from sklearn.svm import SVC\nSVC().fit(x, y)",
            line=2,
            says=("--upgrade scikit-learn", "Upgrade sklearn"),
        ),
        Case("import ours\nours.f()", line=2, says=("Upgrade ours",)),
    ]
    SILENT = [
        Case("import ctypes\nctypes.string_at(0)", line=2),
        Case("f()", line=1),
        Case(_CELL, cause="stack-overflow", line=3),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Keep silent where memory is touched by hand: then the library is innocent."""
        by_hand = any(death.code.imports(one) for one in ("ctypes", "cffi", "numba"))
        names = packages(death)
        if by_hand or not names:
            return None
        name = distribution(names[0])
        command = "" if name is None else f"%pip install --upgrade {name}\n# then restart the kernel"
        return {"command": command}
