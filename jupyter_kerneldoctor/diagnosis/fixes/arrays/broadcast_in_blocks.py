import ast
from math import prod

from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import import_as, remove, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.broadcasting import is_by_row, spread, written_out
from ...frameworks.distances import distances_in

_PARTS = 100
_OTHERS = ("torch", "jax", "tensorflow", "cupy", "pandas")


class BroadcastInBlocks(Fix):
    """Work out what is broadcast for a hundredth of the rows at a time.

    What it does: `np.abs(a[:, None] - b).mean(axis=-1)` makes a number for each pair of rows, or more, of which a mean
    for each row is left. The edit does the same for a hundredth of the rows of `a` after the other, and joins the
    results, which are equal.

    When it is offered: Memory ran out in such an expression, and it sums up, or picks the least of, each row by itself.

    What it costs: A loop of a hundred rounds.
    """

    id, title, causes = "broadcast-in-blocks", "Do it for a hundredth of the rows at a time", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\ndef apart(a, b):\n    return np.abs(a[:, None, :] - b[None]).mean(axis=-1)",
            "d = apart(x, y)",
            becomes={
                1: "import numpy as np\ndef apart(a, b):\n    return np.concatenate([np.abs(part[:, None, :] - "
                "b[None]).mean(axis=-1) for part in np.array_split(a, 100)])"
            },
        ),
        Case(
            "import numpy as np\n",
            "gap = t[:, None] - s\nnear = np.min(np.abs(gap), axis=1)",
            becomes="near = np.concatenate([np.min(np.abs(part[:, None] - s), axis=1) "
            "for part in np.array_split(t, 100)])",
            line=1,
        ),
        Case(
            "import numpy as np",
            "d = (rows[:, None] - rows[None]).max(2)",
            becomes="d = np.concatenate([(part[:, None] - rows[None]).max(2) for part in np.array_split(rows, 100)])",
        ),
    ]
    SILENT = [
        Case("import numpy as np", "d = np.abs(a[:, None] - b).mean(axis=0)"),
        Case("import numpy as np", "d = (a[:, None] * w[:, None] - b).sum(axis=1)"),
        Case("import numpy as np", "d = ((a[:, None] - b) / a.max()).sum(axis=1)"),
        Case("import numpy as np", "d = np.abs(a[:, None] - b).mean()"),
        Case("import numpy as np", "d = (np.abs(a[:, None] - a[None]) + np.eye(n) * 9).min(axis=1)"),
        Case("import numpy as np", "d = np.where(same, 9, np.abs(a[:, None] - b)).min(axis=1)"),
        Case("import numpy as np", "gap = a[:, None] - b\nd = gap.min(axis=1)\nplot(gap)", line=1),
        Case("import numpy as np", "d = np.abs(a[:, None] - b).sum(axis=1)\nbig = [0] * 10**10", line=2),
        Case(  # the means of all pairs are too many
            "import numpy as np\na = np.ones((30_000, 9))",
            "d = np.abs(a[:, None, :] - a[None]).mean(axis=-1)",
        ),
        Case("import torch, numpy as np\na = torch.ones(9)", "d = (a[:, None] - b).abs().sum(axis=1)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for scope in death.code.running if death.is_of_this_cell and death.code.imports("numpy") else ():
            known = {node for node, _ in distances_in(scope)}
            for node in scope.calls:
                if node in known or not is_by_row(node) or "part" in scope.bindings:
                    continue
                whole, named = written_out(node, scope)
                places = spread(whole)
                statements = [one for one in (node, named) if one is not None]
                if not places or not any(death.was_running(one, scope) for one in statements):
                    continue
                base = unparse(places[0].value)
                if _is_of_others(base, scope, death) or not _fits(node if named is None else named, scope, death):
                    continue
                numpy, imported = import_as(scope, death.code, "numpy", "np")
                for one in places:
                    one.value = ast.Name("part")
                loop = f"{numpy}.concatenate([{unparse(whole)} for part in {numpy}.array_split({base}, {_PARTS})])"
                edits = imported + replace(scope, node, loop) + (remove(scope, named) if named is not None else ())
                why = f"{quote(unparse(node))} needs a number for each pair of rows, and keeps one for each row. "
                why += f"A hundredth of `{base}` at a time needs a hundredth of that; the results are the same."
                yield Proposal(edits, why, death.memory.missing_bytes)


def _fits(node: ast.expr | ast.stmt, scope: Scope, death: Death) -> bool:
    """Whether there is room for the result, and for the parts that are joined to it, as far as its size is known."""
    sums = (death.values.of(one, scope) for one in walk(node) if isinstance(one, ast.BinOp))
    needs = max((8 * prod(one.shape[:-1]) for one in sums if one is not None and one.shape), default=0)
    return death.safe_headroom_bytes is None or 2 * needs <= death.safe_headroom_bytes


def _is_of_others(name: str, scope: Scope, death: Death) -> bool:
    """Whether the array may be another library's than NumPy's."""
    uses = scope.named(name)
    origins = [found for use in uses for found in all_origins(use, scope, death.code)]
    made = [death.code.qualified(one.func, where) or "" for one, where in origins if isinstance(one, ast.Call)]
    return any(name.startswith(_OTHERS) for name in made) or (not made and any(map(death.code.imports, _OTHERS[:4])))
