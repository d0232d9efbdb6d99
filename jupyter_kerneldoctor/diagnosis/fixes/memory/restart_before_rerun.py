import ast
from itertools import chain

from jupyter_kerneldoctor.recording.model import Cell

from ...case import Ran
from ...code.stores import stores
from ...code.trees import walk
from ...fix import Advice, Case, Death, Family, Scope, size
from ...units import cell_name

_SMALL = 0.1  # of the limit
_FIT = "model = build(data)\nmodel.fit(x, y)"


class RestartBeforeRerun(Advice):
    """Restart before the cell is run again: what its earlier runs made is still there.

    What it does: When a cell runs again, what it made the last time stays until the new one is there, and longer where
    something else refers to it: the output cache, a traceback, a list. A restart begins with an empty kernel; `del` at
    the top of the cell gives back what has a name.

    When it is offered: Memory ran out in a cell that had run before, and much more was in use when it began this time.

    What it costs: The cells above have to run again.
    """

    id, title, causes = "restart-before-rerun", "Restart before you run it again", (Family.MEMORY,)
    headline = "{title_}"
    why = (
        "{own}The cell ran before, as {before_}, with {first} in use when it began. This time it was {now}: {more} of "
        "earlier runs was still there. Restart the kernel, or delete what the cell makes before it makes it anew."
    )
    unless_offered = frozenset({"suppress-output-cache"})
    snippet = "{code_}"

    FIRES = [
        Case(Ran(_FIT, 200, 900), _FIT, before_mib=800, says=("cell [1]", "200 MiB in use", "600 MiB", "model = None")),
        Case(Ran("kept.append(read())", 200, 900), "kept.append(read())", before_mib=800, says=("kept.clear()",)),
        Case(
            Ran("t = t.merge(u, on='k')", 200, 900),
            "t = t.merge(u, on='k')",
            before_mib=800,
            says=("builds on its own result", "t_new = t.merge(u, on='k')"),
        ),
    ]
    SILENT = [Case(Ran(_FIT, 200, 900), _FIT, before_mib=220), Case(Ran("other()", 200, 900), _FIT, before_mib=800)]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Compare what was in use at the first run and at the last."""
        runs = _runs(death)
        if not runs or _left(death) < _SMALL * (death.memory.limit_bytes or 0):
            return None
        module = death.code.module(death.code.last)
        bound = module.bindings.items() if module is not None else ()
        made = (f"{name} = None" for name, one in bound if one[-1].value is not None)
        kept = (one for one in stores(death.code.running) if isinstance(one.statement, ast.Expr))
        filled = (f"{one.container}.clear()" for one in kept)
        free = next(chain(made, filled, ("%reset -f out",)))
        code = f"{free}  # at the top of the cell: gives back the old one first\nimport gc\ngc.collect()"
        told = {"title_": self.title, "own": "", "code_": code}
        if module is not None and (again := _of_itself(module)) is not None:
            name, value = again
            told = {
                "title_": "Give the result a name of its own: the cell builds on its own result",
                "own": f"`{name} = ...` takes what the last run made of `{name}`, so that each run adds to it. ",
                "code_": f"{name}_new = {value}  # and `{name}_new` below: running it again gives the same",
            }
        return {
            **told,
            "before_": cell_name(runs[0].execution_count),
            "first": size(runs[0].rss_before_bytes or 0),
            "now": size(death.memory.before_bytes or 0),
            "more": size(_left(death)),
            "free": next(chain(made, filled), "%reset -f out"),
        }

    def saves(self, death: Death) -> int | None:
        """Count what the earlier runs left; all where this one builds on it."""
        module = death.code.module(death.code.last)
        grows = module is not None and _of_itself(module) is not None
        return (death.memory.missing_bytes if grows and _left(death) else _left(death)) or None


def _of_itself(module: Scope) -> tuple[str, str] | None:
    """Return the name that the cell gives a value made of itself, `t = t.merge(u)`, and that value as code."""
    made: set[str] = set()
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
                if name not in made and any(getattr(one, "id", None) == name for one in walk(value)):
                    return name, " ".join(module.segment(value).split())
                made.add(name)
    return None


def _runs(death: Death) -> list[Cell]:
    text = "" if death.cell is None else death.cell.source.strip()
    return [
        one
        for one in death.recording.cells
        if one is not death.cell and one.finished and one.source.strip() == text and one.rss_before_bytes is not None
    ]


def _left(death: Death) -> int:
    runs, now = _runs(death), death.memory.before_bytes
    return max(0, now - (runs[0].rss_before_bytes or now)) if runs and now is not None else 0
