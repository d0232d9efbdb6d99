import ast

from ...calls import calls_at
from ...code.combinations import PAIRWISE
from ...code.origins import Origins, all_origins
from ...edits import Changes, import_as, remove, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.distances import Distance, distances_in, pairs_in


class BlockwisePairwise(Fix):
    """Compare rows without a table of all differences.

    What it does: `X[:, None] - X[None]` holds each difference of each pair of rows: 4,000 rows of 50 numbers are 6.0
    GiB. `cdist` gives the distances without that. Where the table of distances itself is too large, ask for the nearest
    rows only, or work on blocks of rows.

    When it is offered: Memory ran out on a line that compares all pairs in one of these ways.

    What it costs: Distances may differ in their last digits. Of the nearest rows only the nearest are known.
    """

    id, title, causes = "blockwise-pairwise", "Compare rows without a table of all pairs", (Family.MEMORY,)
    words_stay = True  # of `cdist`, too, only the nearest may be wanted

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
            "import numpy as np\nclass Near:\n    def __init__(self, c): self.c = c\n    def predict(self, p):\n"
            "        gap = p[:, None, :] - self.c[None, :, :]\n        return (gap ** 2).sum(axis=-1).argmin(1)",
            "Near(np.ones((500, 64))).predict(np.ones((20_000, 64)))",
            becomes={
                1: "from scipy.spatial.distance import cdist\nimport numpy as np\nclass Near:\n"
                "    def __init__(self, c): self.c = c\n    def predict(self, p):\n"
                "        return cdist(p, self.c, 'sqeuclidean').argmin(1)"
            },
        ),
        Case(
            "import numpy as np\nfrom scipy.spatial.distance import cdist\ndef near(a, b):\n"
            "    gap = a[:, None, :] - b[None, :, :]\n    d = np.sqrt((gap ** 2).sum(axis=-1))\n    return d.argmin(1)",
            "near(load('a'), load('b'))",
            becomes={
                1: "import numpy as np\nfrom scipy.spatial.distance import cdist\ndef near(a, b):\n"
                "    d = cdist(a, b)\n    return d.argmin(1)"
            },
        ),
        Case(
            "import numpy as np\nfrom sklearn.metrics.pairwise import cosine_similarity\nX = np.ones((30_000, 50))",
            "S = cosine_similarity(X)",
            says=("6.7 GiB", "NearestNeighbors(n_neighbors=10, metric='cosine').fit(X)"),
        ),
        Case(
            "import numpy as np\nemb = np.random.rand(60_000, 128)",
            "sim = emb @ emb.T",
            says=("26.8 GiB", "part = emb[at : at + 1000] @ emb.T"),
        ),
        Case(
            "import numpy as np\ndef gaps(t):\n    gap = t[:, None] - t[None, :]\n    return abs(gap).min(1)",
            "near = gaps(np.ones(40_000))",
            says=("for each pair", "part = t[at : at + 1000, None] - t[None, :]"),
        ),
        Case(  # JAX is behind the line that Python is at
            "import jax.numpy as jnp\ndef kernel(x, y):\n    d = x[:, None, :] - y[None, :, :]\n"
            "    return jnp.exp(-(d ** 2).sum(-1))\nX = jnp.ones((9000, 16))",
            "K = kernel(X, X)",
            says=("Multiply", "2 * x @ y.T"),
        ),
        Case(  # a product of weights, of which some pairs are used
            "import torch\ndef scores(P, Q):\n    return P @ Q.T",
            "out = scores(model.users, model.items)[u, i]",
            growth="jump",
            says=("(P[rows] * Q[columns]).sum(-1)", "P.split(1000)"),
        ),
    ]
    SILENT = [
        Case("import torch\ndef f(q, k): return q @ k.T", "f(a, b)\nload()", line=2),
        Case("import jax.numpy as jnp\nX = jnp.ones((90, 9))", "k = 2\nload()", line=2),
        Case("import numpy as np\nt = np.ones(50)", "gap = t[:, None] - t[None, :]\nload()"),
        Case("import numpy as np\nX = load()", "out = X[:, None] - X[:, :, None]"),
        Case("import numpy as np\nX = np.random.rand(60_000, 12)", "S = X.T @ X\nload()"),
        Case("import numpy as np\nX = np.ones((100, 5))", "D = np.linalg.norm(X[:, None] - X[None], axis=2)\nload()"),
        Case("from sklearn.metrics.pairwise import cosine_similarity as c", "c(X)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\nfrom scipy.spatial.distance import cdist\nX = np.ones((300, 50))", "D = cdist(X, X)"),
        Case("import numpy as np", "D = np.linalg.norm(X[:, None] - X[:, :, None], axis=2)"),
        Case("import numpy as np", "s = ((X[:, None, :] - Y[None]) ** 2).sum(axis=0)"),  # another sum
        Case("import numpy as np\na = np.ones(40_000)", "s = ((a[:, None] - a[None]) ** 2).sum(axis=-1)"),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes or 0
        for scope in death.code.running if death.is_of_this_cell else ():
            for node, found in distances_in(scope):
                of_tensors = _are_tensors(found, scope, death)
                pieces: list[ast.expr | ast.stmt] = [one for one in (node, found.named) if one is not None]
                if of_tensors == "jax" and isinstance(scope.node, ast.stmt):
                    pieces = [scope.node]  # JAX works behind the line that Python is at
                if not any(death.was_running(one, scope) for one in pieces):
                    continue
                if of_tensors:
                    yield _multiplied_out(node, found, scope, missing)
                    continue
                values = [death.values.of(one, scope) for one in (found.left, found.right)]
                shapes = [one.shape for one in values if one is not None]
                known = [one for one in shapes if len(one) == 2]
                takes = known[0][0] * known[1][0] * known[0][1] * 8 if len(known) == 2 else None
                if len(known) != len(shapes) or (takes is not None and takes < missing // 4):
                    continue
                fits = (
                    takes is None
                    or death.safe_headroom_bytes is None
                    or 2 * takes // known[0][1] < death.safe_headroom_bytes  # what follows makes one more of it
                )
                is_sure = takes is not None or found.is_sure
                how = "" if takes is None else f": {size(takes)}"
                yield Proposal(
                    _with_cdist(node, found, scope, death) if fits and is_sure else (),
                    f"{quote(scope.segment(node))} holds all differences of all pairs of rows{how}. `cdist` gives the "
                    "distances without them, or take blocks of rows.",
                    takes or missing,
                    snippet=None if fits and is_sure else _nearest(scope, [found.left, found.right], "euclidean"),
                )
        yield from _products(death, missing)
        yield from _broadcast(death, missing)
        for call in calls_at(death, *PAIRWISE):
            given = call.node.args[:2]
            values = [death.values.of(one, call.scope) for one in given]
            rows = [one.shape[0] for one in values if one is not None and one.shape]
            takes = rows[0] * rows[-1] * 8 if len(rows) == len(given) and rows else None
            if not given or (takes is not None and takes < max(missing // 4, death.safe_headroom_bytes or 0)):
                continue
            how = "" if takes is None else f": {size(takes)}"
            yield Proposal(
                (),
                f"{quote(call.text)} gives a number for each pair of rows{how}. Mostly only the nearest of each row "
                "are wanted, or the pairs can be worked on in chunks of rows.",
                takes or missing,
                title="Ask for the nearest rows only, or work in chunks",
                snippet=_nearest(call.scope, given, PAIRWISE[call.name]),
            )


def _are_tensors(found: Distance, scope: Scope, death: Death) -> str:
    """Return "torch" or "jax" where what is compared was made by that; SciPy would cut it off from its gradients."""
    for side in (found.left, found.right):
        for one, where in all_origins(side, scope, death.code):
            name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
            if (package := (name or "").partition(".")[0]) in ("torch", "jax"):
                return package
    return ""


def _multiplied_out(node: ast.expr, found: Distance, scope: Scope, missing: int) -> Proposal:
    x, y = scope.segment(found.left), scope.segment(found.right)
    why = (
        f"{quote(scope.segment(node))} holds all differences of all pairs of rows. Multiplied out, |x - y|² is "
        "|x|² + |y|² - 2xy, which needs one number for each pair."
    )
    snippet = f"squared = ({x}**2).sum(-1)[:, None] + ({y}**2).sum(-1)[None, :] - 2 * {x} @ {y}.T  # clip below at 0"
    return Proposal((), why, missing, "Multiply the squared distance out, or compare a block at a time", snippet)


def _is_trained(death: Death, scope: Scope) -> bool:
    """Whether PyTorch or JAX multiplies in a network, or a function, and memory did not grow step by step."""
    in_use = any(death.code.imports(package) for package in ("torch", "jax"))
    if not in_use or scope.is_cell or death.growth.is_steady:
        return False
    return bool(death.user_frames) or any(death.code.is_at_line(*call) for call in Origins(death.code).calls_of(scope))


def _of_weights(scope: Scope, left: ast.expr, right: ast.expr, missing: int) -> Proposal:
    x, y = scope.segment(left), scope.segment(right).removesuffix(".T")
    why = (
        f"{quote(f'{x} @ {y}.T')} makes a number for each pair of rows. Where only some pairs are used, as those that "
        "were rated, multiply these; else take some rows at a time."
    )
    snippet = (
        f"({x}[rows] * {y}[columns]).sum(-1)  # only the pairs that are used\n\n"
        f"for part in {x}.split(1000):  # or some rows at a time; keep a sum or the nearest of each\n"
        f"    pairs = part @ {y}.T"
    )
    return Proposal((), why, missing, "Multiply only the pairs that are used, or some rows at a time", snippet)


def _products(death: Death, missing: int) -> Proposals:
    """Yield what to do in place of `X @ X.T`, and of an outer difference: a block of rows at a time."""
    for node, scope in death.code.running.nodes(ast.AST) if death.is_of_this_cell else ():
        match node:
            case ast.BinOp(op=ast.MatMult(), left=left, right=ast.Attribute(attr="T") as right) as whole:
                form = "{left}[at : at + 1000] @ {right}"
            case ast.BinOp(op=ast.MatMult(), left=ast.Attribute(attr="T") as left, right=right) as whole:
                form = "{left}[at : at + 1000] @ {right}"
            case ast.Call(func=ast.Attribute(attr="outer") as function, args=[left, right], keywords=[]) as whole:
                form = scope.segment(function) + "({left}[at : at + 1000], {right})"
            case _:
                continue
        one, other = death.values.of(left, scope), death.values.of(right, scope)
        if one is None and other is None and death.was_running(whole, scope) and _is_trained(death, scope):
            yield _of_weights(scope, left, right, missing)
        if one is None or other is None or not (one.shape and other.shape):
            continue
        takes = one.shape[0] * other.shape[-1] * 8
        if takes >= max(missing // 4, death.safe_headroom_bytes or 1) and death.was_running(whole, scope):
            part = form.format(left=scope.segment(left), right=scope.segment(right))
            yield Proposal(
                (),
                f"{quote(scope.segment(whole))} makes a number for each pair of rows: {size(takes)}. Work on a "
                "block of rows at a time, and keep only what you need of each, as the nearest.",
                takes,
                title="Compare a block of rows at a time",
                snippet=f"for at in range(0, len({scope.segment(left)}), 1000):\n    part = {part}\n"
                "    nearest = part.argsort(axis=1)[:, -10:]  # keep only what you need of it",
            )


def _broadcast(death: Death, missing: int) -> Proposals:
    """Yield what to do in place of `a[:, None] - b[None, :]`: a block of rows at a time."""
    for scope in death.code.running if death.is_of_this_cell else ():
        for whole, left, right in pairs_in(scope):
            value = death.values.of(whole, scope)
            takes = missing if value is None else value.bytes or 0
            known = [death.values.of(one, scope) for one in (left, right)]
            if takes < max(missing // 4, 1) or any(one is not None and len(one.shape) != 1 for one in known):
                continue
            if (value is not None or death.user_frames) and death.was_running(whole, scope):
                row, text = scope.segment(left), scope.segment(whole)
                part = text.replace(scope.segment(whole.left), f"{row}[at : at + 1000, None]", 1)
                how = "" if value is None else f": {size(takes)}"
                yield Proposal(
                    (),
                    f"{quote(text)} makes a number for each pair{how}. Work on a block of rows at a time, and keep "
                    "only what you need of each, as the nearest.",
                    takes,
                    title="Compare a block of rows at a time",
                    snippet=f"for at in range(0, len({row}), 1000):\n    part = {part}\n"
                    "    …  # the rest of the calculation with this part; keep only what you need of it",
                )
                return


def _with_cdist(node: ast.expr, found: Distance, scope: Scope, death: Death) -> Changes:
    name, imported = import_as(scope, death.code, "scipy.spatial.distance.cdist", "cdist")
    words = [scope.segment(found.left), scope.segment(found.right), *([f"'{found.metric}'"] if found.metric else [])]
    named = remove(scope, found.named) if found.named is not None else ()
    return imported + named + replace(scope, node, f"{name}({', '.join(words)})")


def _nearest(scope: Scope, given: list[ast.expr], metric: str) -> str:
    table, asked = scope.segment(given[-1]), scope.segment(given[0])
    return (
        f"from sklearn.neighbors import NearestNeighbors\n\n"
        f"nearest = NearestNeighbors(n_neighbors=10, metric='{metric}').fit({table})\n"
        f"distances, rows = nearest.kneighbors({asked})  # works in chunks by itself"
    )
