import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...code.cellsource import span
from ...edits import import_as, remove, replace
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.gradients import goes_backward
from ...frameworks.torch import Kind, Tensors

_ROWS = 256
_OF_PAIRS = ("torch.cdist", "torch.mm", "torch.matmul")
_TURNED = (".t()", ".T", ".mT", "(0, 1)", "(1, 0)", "(-2, -1)", "(-1, -2)")
_ONE = ("argmin", "argmax")
_TWO = ("topk", "min", "max")
_KNN = (
    "import torch\ndef knn(q, bank, k):\n    sim = torch.mm(q, bank.t())\n    w, at = sim.topk(k=k, dim=-1)\n"
    "    return at"
)


class NearestInBlocks(Fix):
    """Look for the nearest of a block of rows at a time.

    What it does: `torch.cdist(a, b)` and `a @ b.T` make a number for each pair of rows: 10,000 by 50,000 are 1.9 GiB.
    Where only the nearest of each row are taken from it, the edit makes the table for 256 rows at a time.

    When it is offered: Memory ran out in such a table in PyTorch, outside of training, which `topk`, `argmin`,
    `argmax`, `min` or `max` over its columns uses and nothing else.

    What it costs: Nothing: the results are the same.
    """

    id, title, causes = "nearest-in-blocks", "Look for the nearest 256 rows at a time", (Family.MEMORY, "gpu-oom")

    FIRES = [
        Case(
            _KNN,
            "rows = knn(features, bank, 200)",
            becomes={
                1: "import torch\ndef knn(q, bank, k):\n    w, at = (torch.cat(one) for one in zip(*[torch.mm(part, "
                "bank.t()).topk(k=k, dim=-1) for part in q.split(256)]))\n    return at"
            },
        ),
        Case(
            "import torch",
            "d = torch.cdist(t, codebook)\ncodes = d.argmin(dim=1)",
            becomes="codes = torch.cat([torch.cdist(part, codebook).argmin(dim=1) for part in t.split(256)])",
        ),
        Case(
            "import torch",
            "s = X @ Y.T\nbest = torch.topk(s, 5).indices",
            becomes="best = torch.cat([torch.topk((part @ Y.T), 5).indices for part in X.split(256)])",
        ),
    ]
    SILENT = [
        Case(_KNN.replace("return at", "return at, sim"), "rows = knn(features, bank, 200)"),
        Case("import torch", "d = torch.cdist(z, c)\nn = d.argmin(dim=0)"),
        Case("import torch", "d = torch.cdist(z, c)\nn = d.argmin()"),
        Case("import torch", "d = torch.cdist(z, c)\nv, i = d.min(1)\nv.mean().backward()"),
        Case("import torch\nimport numpy as np\nX = np.ones((9, 9))", "s = X @ Y.T\nn = s.argmax(1)"),
        Case("import torch", "d = torch.cdist(z, c)\nn = d.argmin(dim=1)\nbig = [0] * 10**10", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here or goes_backward(death.code):
            return
        for scope in death.code.running:
            for one in _tables(scope, death):
                pieces: list[ast.stmt] = [one.made, one.used]
                if not any(death.was_running(piece, scope) for piece in pieces):
                    continue
                segment, rows = scope.segment, scope.segment(one.rows)
                table = _with(one.made.value, one.rows, "part", scope)
                table = f"({table})" if isinstance(one.made.value, ast.BinOp) else table
                text = _with(one.taken, one.table, table, scope)
                parts = f"[{text} for part in {rows}.split({_ROWS})]"
                both = isinstance(one.taken, ast.Call) and one.gives_two
                torch, imported = import_as(scope, death.code, "torch", "torch")
                new = f"({torch}.cat(one) for one in zip(*{parts}))" if both else f"{torch}.cat({parts})"
                why = (
                    f"{quote(segment(one.made.value))} makes a number for each pair of rows, and only the nearest are "
                    f"used; the cell took {size(death.memory.missing_bytes or 0)}. In blocks they are the same."
                )
                edits = imported + remove(scope, one.made) + replace(scope, one.taken, new)
                yield Proposal(edits, why, death.memory.missing_bytes)
                return


def _with(whole: ast.expr, part: ast.expr, text: str, scope: Scope) -> str:
    """Return the text of an expression with another one in a part's place."""
    source = scope.tree.source
    (start, end), (first, last) = span(source, whole), span(source, part)
    return source[start:first] + text + source[last:end]


class _Table(NamedTuple):
    """A table of all pairs, and the only use of it."""

    table: ast.Name
    """Where it is used."""
    made: ast.Assign
    rows: ast.expr
    used: ast.stmt
    taken: ast.expr
    """The call that takes the nearest from it, or an attribute of its result."""
    gives_two: bool


def _tables(scope: Scope, death: Death) -> Iterator[_Table]:
    for made in scope.nodes:
        match made:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if rows := _rows(value, scope, death):
                uses = scope.named(name)
                found = [one for one in scope.calls if len(uses) == 2 and _takes(one, name, scope, death)]
                used = scope.statement_of(found[0]) if found else None
                if used is None or scope.loops_around(made) != scope.loops_around(used):
                    continue
                method = getattr(found[0].func, "attr", "")
                around = [one for one in scope.nodes if isinstance(one, ast.Attribute) and one.value is found[0]]
                if isinstance(value, ast.BinOp) and not (method == "topk" or _is_tensor(rows, scope, death)):
                    continue
                read = next(one for one in uses if isinstance(one.ctx, ast.Load))
                unpacks = isinstance(used, ast.Assign) and isinstance(used.targets[0], ast.Tuple)
                if method in _ONE or (around and around[0].attr in ("values", "indices")):
                    yield _Table(read, made, rows, used, (around or found)[0], gives_two=False)
                elif unpacks and isinstance(used, ast.Assign) and used.value is found[0]:
                    yield _Table(read, made, rows, used, found[0], gives_two=True)


def _is_tensor(node: ast.expr, scope: Scope, death: Death) -> bool:
    return Tensors(death.code).kind(node, scope) in (Kind.TENSOR, Kind.GRAPH)


def _rows(value: ast.expr, scope: Scope, death: Death) -> ast.expr | None:
    """Return the rows that a table of pairs is made of; None where it is no such table."""
    match value:
        case ast.BinOp(op=ast.MatMult(), left=rows, right=other) if scope.segment(other).endswith(_TURNED):
            return rows if death.code.imports("torch") else None
        case ast.Call(func=function, args=[rows, other, *_]):
            name = death.code.qualified(function, scope)
            turned = name == "torch.cdist" or scope.segment(other).endswith(_TURNED)
            return rows if name in _OF_PAIRS and turned else None
    return None


def _takes(call: ast.Call, name: str, scope: Scope, death: Death) -> bool:
    """Whether a call takes something of each row of a table: `d.argmin(1)`, `torch.topk(d, 5)`."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method), args=given) if owner == name:
            pass
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Name(id=owner), *given]) if owner == name:
            if death.code.qualified(call.func, scope) != f"torch.{method}":
                return False
        case _:
            return False
    words = {word.arg: word.value for word in call.keywords}
    dim = words.get("dim", next(iter(given[1 if method == "topk" else 0 :]), None))
    over = None if dim is None else scope.segment(dim)
    return method in (*_ONE, *_TWO) and (over in ("1", "-1") or (method == "topk" and over is None))
