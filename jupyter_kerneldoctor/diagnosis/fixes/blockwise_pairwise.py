"""The fix `blockwise-pairwise`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..calls import calls_at
from ..case import Case
from ..edits import import_as, replace
from ..family import Family
from ..fix import Fix, Proposal
from ..units import quote, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..code.scopes import Scope
    from ..death import Death

_PAIRS = "sklearn.metrics.pairwise"
_METRICS = {
    f"{_PAIRS}.cosine_similarity": "cosine",
    f"{_PAIRS}.cosine_distances": "cosine",
    f"{_PAIRS}.linear_kernel": "cosine",
    f"{_PAIRS}.rbf_kernel": "euclidean",
    f"{_PAIRS}.euclidean_distances": "euclidean",
    f"{_PAIRS}.pairwise_distances": "euclidean",
    "sklearn.metrics.pairwise_distances": "euclidean",
    "scipy.spatial.distance.cdist": "euclidean",
    "scipy.spatial.distance.pdist": "euclidean",
    "scipy.spatial.distance_matrix": "euclidean",
}
"""What makes a number for each pair of rows, and how near it calls them."""


class BlockwisePairwise(Fix):
    """Compare rows without a table of all differences.

    What it does
    ------------
    `X[:, None] - X[None]` holds each difference of each pair of rows: 4,000 rows of 50 numbers are 6.0 GiB. `cdist`
    gives the distances without that. Where the table of distances itself is too large, ask for the nearest rows only,
    or work on blocks of rows.

    When it is offered
    ------------------
    Memory ran out on a line that compares all pairs in one of these ways.

    What it costs
    -------------
    Distances may differ in their last digits. Of the nearest rows only the nearest are known.
    """

    id, title, causes = "blockwise-pairwise", "Compare rows without a table of all pairs", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\nfrom scipy.spatial.distance import cdist\nX = np.random.rand(4000, 50)",
            "D = np.linalg.norm(X[:, None, :] - X[None, :, :], axis=2)",
            becomes="D = cdist(X, X)",
            says=("6.0 GiB",),
        ),
        Case(
            "import numpy as np\nfrom scipy.spatial.distance import cdist",
            "def near(a, b):\n    d = ((a[:, None] - b[None]) ** 2).sum(axis=-1)\n    return d.argmin(1)",
            "near(np.ones((20_000, 64)), np.ones((500, 64)))",
            becomes={2: "def near(a, b):\n    d = cdist(a, b, 'sqeuclidean')\n    return d.argmin(1)"},
        ),
        Case(
            "import numpy as np\nfrom sklearn.metrics.pairwise import cosine_similarity\nX = np.ones((30_000, 50))",
            "S = cosine_similarity(X)",
            says=("6.7 GiB", "NearestNeighbors(n_neighbors=10, metric='cosine').fit(X)"),
        ),
    ]
    SILENT = [
        Case("import numpy as np\nX = np.ones((100, 5))", "D = np.linalg.norm(X[:, None] - X[None], axis=2)\nload()"),
        Case("from sklearn.metrics.pairwise import cosine_similarity as c", "c(X)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nfrom scipy.spatial.distance import cdist\nX = np.ones((300, 50))", "D = cdist(X, X)"),
        Case("import numpy as np", "D = np.linalg.norm(X[:, None] - X[:, :, None], axis=2)"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Put `cdist` in the place of a norm or sum of all differences; else ask for the nearest rows."""
        missing = death.memory.missing_bytes or 0
        for scope in death.code.running if death.is_of_this_cell else ():
            for node in scope.nodes:
                if (
                    not isinstance(node, ast.expr)
                    or (found := _distance(node)) is None
                    or not death.was_running(node, scope)
                ):
                    continue
                left, right, metric = found
                sides = [death.values.of(one, scope) for one in (left, right)]
                shapes = [one.shape for one in sides if one is not None and len(one.shape) == 2]
                takes = shapes[0][0] * shapes[1][0] * shapes[0][1] * 8 if len(shapes) == 2 else None
                if takes is not None and takes < missing // 4:
                    continue
                fits = (
                    not shapes or death.room_bytes is None or takes is None or takes // shapes[0][1] < death.room_bytes
                )
                name, imported = import_as(scope, death.code, "scipy.spatial.distance.cdist", "cdist")
                words = [scope.segment(left), scope.segment(right), *([f"'{metric}'"] if metric else [])]
                new = imported + replace(scope, node, f"{name}({', '.join(words)})") if fits else ()
                how = "" if takes is None else f": {size(takes)}"
                yield Proposal(
                    new,
                    f"{quote(scope.segment(node))} holds all differences of all pairs of rows{how}. `cdist` gives the "
                    "distances without them, or take blocks of rows.",
                    takes or missing,
                )
        for call in calls_at(death, *_METRICS):
            given = call.node.args[:2]
            values = [death.values.of(one, call.scope) for one in given]
            rows = [one.shape[0] for one in values if one is not None and one.shape]
            takes = rows[0] * rows[-1] * 8 if len(rows) == len(given) and rows else None
            if not given or (takes is not None and takes < missing // 4):
                continue
            how = "" if takes is None else f": {size(takes)}"
            yield Proposal(
                (),
                f"{quote(call.text)} gives a number for each pair of rows{how}. Mostly only the nearest of each row "
                "are wanted, or the pairs can be worked on in chunks of rows.",
                takes or missing,
                title="Ask for the nearest rows only, or work in chunks",
                snippet=_nearest(call.scope, given, _METRICS[call.name]),
            )


def _distance(node: ast.AST) -> tuple[ast.expr, ast.expr, str] | None:
    """Return what `norm(X[:, None] - Y[None], axis=2)` and the like compare, and the name of the distance."""
    match node:
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[inner]):
            found = _distance(inner)
            return None if found is None or found[2] != "sqeuclidean" else (*found[:2], "")
        case ast.Call(func=ast.Attribute(attr="norm"), args=[inner], keywords=[ast.keyword(arg="axis")]):
            return None if (pair := _pair(inner)) is None else (*pair, "")
        case ast.Call(func=ast.Attribute(attr="sum", value=inner), keywords=words, args=given) if words or given:
            inner = given[0] if given and not isinstance(inner, ast.BinOp | ast.Call) else inner
            match inner:
                case ast.BinOp(op=ast.Pow(), left=differences, right=ast.Constant(value=2)):
                    return None if (pair := _pair(differences)) is None else (*pair, "sqeuclidean")
                case ast.Call(func=ast.Name(id="abs") | ast.Attribute(attr="abs"), args=[differences]):
                    return None if (pair := _pair(differences)) is None else (*pair, "cityblock")
    return None


def _pair(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return `X` and `Y` of `X[:, None] - Y[None]`, with or without colons behind."""
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Subscript(value=left, slice=one), right=right):
            if ast.unparse(one).strip("()") not in (":, None", ":, None, :", ":, np.newaxis", ":, np.newaxis, :"):
                return None
            match right:
                case ast.Subscript(value=inner, slice=other):
                    if ast.unparse(other).strip("()") in (
                        "None",
                        "None, :",
                        "None, :, :",
                        "np.newaxis",
                        "np.newaxis, :, :",
                    ):
                        return left, inner
                    return None
            return left, right
    return None


def _nearest(scope: Scope, given: list[ast.expr], metric: str) -> str:
    table, asked = scope.segment(given[-1]), scope.segment(given[0])
    return (
        f"from sklearn.neighbors import NearestNeighbors\n\n"
        f"nearest = NearestNeighbors(n_neighbors=10, metric='{metric}').fit({table})\n"
        f"distances, rows = nearest.kneighbors({asked})  # works in chunks by itself"
    )
