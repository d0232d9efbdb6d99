import ast
from collections.abc import Sequence

from ...calls import nodes_at
from ...code.arrays import Value
from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...edits import replace_by_lines
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.numpy import SIGNS, VIEWS, is_array

_REDUCE = ("mean", "std", "min", "max", "sum", "median")
_FACTS = ("shape", "dtype", "ndim", "size", "nbytes", "astype", "copy", "var", "argmax", "argmin")
_X = "import numpy as np\nX = np.random.rand(120_000, 1000)"


class InPlaceArithmetic(Fix):
    """Calculate in the array itself, not in a copy.

    What it does: `X = (X - mean) / std` makes a new array beside the old one, which stays until the line has ended. `X
    -= mean` and `X /= std` write the results over the old numbers.

    When it is offered: Memory ran out on a line that gives an array of floats its own name again, and one copy of it
    explains that.

    What it costs: Other names of the same array see the new numbers, too.
    """

    id, title, causes = "in-place-arithmetic", "Calculate in the array itself: -=, /=", (Family.MEMORY,)

    FIRES = [
        Case(
            _X,
            "mu, sd = X.mean(0), X.std(0)\nX = (X - mu) / sd  # standardise",
            becomes="mu, sd = X.mean(0), X.std(0)\nX -= mu\nX /= sd  # standardise",
            before_mib=1000,
            says=("916 MiB",),
        ),
        Case(_X, "X = X * (1 / 255)", becomes="X *= 1 / 255", before_mib=1000),
    ]
    SILENT = [
        Case(
            "import numpy as np\nX = np.ones((400_000, 1000), dtype='uint8')", "X = X / 255", before_mib=500
        ),  # raises
        Case(_X, "Y = X - X.mean(0)", before_mib=1000),
        Case(_X, "X = (X - X.mean(0)) / X.std(0)", before_mib=1000),  # X.std would be another
        *(  # the other name is to stay as it is
            Case(f"{_X}\n{other}", "X = X / 2", before_mib=1000)
            for other in ("Y = X", "Y = X[:9]", "Y = X.T", "Y = {'x': X}", "Y.append(X)", "Y = Rows(X)", "X = base[:]")
        ),
        Case(_X, "X = X / 2\nbig = [0] * 10**10", line=2, before_mib=1000),
        Case("import numpy as np\nX = np.ones(1000)", "X = X / 2\nload()", before_mib=1000),
    ]

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.Assign):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
                    steps = _steps(value, name)
                    old = _array(value, name, steps, scope, death)
                    if old is not None and old.bytes and not _is_shared(name, node, scope, death):
                        lines = [f"{name} {SIGNS[type(op)]}= {unparse(by)}" for op, by in steps]
                        yield Proposal(
                            replace_by_lines(scope, node, *lines),
                            f"{quote(scope.segment(node))} makes a second array of {size(old.bytes)}. "
                            f"In place the numbers of {quote(name)} are written over.",
                            old.bytes,
                        )


def _steps(value: ast.expr, name: str) -> list[tuple[ast.operator, ast.expr]]:
    """Return what is done to the array, innermost first; nothing where it is used again by what it is changed by."""
    steps: list[tuple[ast.operator, ast.expr]] = []
    while isinstance(value, ast.BinOp) and type(value.op) in SIGNS:
        if any(isinstance(one, ast.Name) and one.id == name for one in walk(value.right)):
            return []
        steps.insert(0, (value.op, value.right))
        value = value.left
    return steps if isinstance(value, ast.Name) and value.id == name else []


def _array(
    value: ast.expr, name: str, steps: list[tuple[ast.operator, ast.expr]], scope: Scope, death: Death
) -> Value | None:
    """Return the array that is given its name again, where it has floats and keeps its shape."""
    inner = next((one for one in walk(value) if isinstance(one, ast.Name) and one.id == name), None)
    old = None if inner is None or not steps else death.values.of(inner, scope)
    if old is None or not is_array(old) or not (old.dtype or "").startswith("float"):
        return None
    for _, by in steps:
        other = death.values.of(by, scope)
        origin = all_origins(by, scope, death.code)[:2]  # `mu`, `X.mean(0)`
        reduced = any(
            isinstance(one.node, ast.Call) and getattr(one.node.func, "attr", "") in _REDUCE for one in origin
        )
        if not reduced and (other is None or (other.number is None and other.shape != old.shape[-len(other.shape) :])):
            return None
    return old


def _is_shared(name: str, assigned: ast.Assign, scope: Scope, death: Death) -> bool:
    """Whether something else may have the same numbers: a name of a part, a container, an object that was given it."""
    if name in scope.parameters:
        return True
    for other in (*death.code.mentioning(name), scope) if scope.is_cell else (scope,):
        begun = (assigned.lineno, 0) if other is scope else (len(other.tree.source), 0)
        made = (bound.value for bound in other.bindings.get(name, ()) if bound.position <= begun)
        if any(not isinstance(one, ast.BinOp | ast.Call) or last_name(one) in VIEWS for one in made):
            return True
        fine = {id(part) for node in other.nodes for part in _only_reads(node, other, death)}
        uses = (one for one in other.named(name) if isinstance(one.ctx, ast.Load) and (one.lineno, 0) < begun)
        if any(id(use) not in fine for use in uses):
            return True
    return False


def _only_reads(node: ast.AST, scope: Scope, death: Death) -> Sequence[ast.AST]:
    """Return the parts of an expression of which it makes something new, or a number."""
    match node:
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.Compare(left=left, comparators=others):
            return left, *others
        case ast.Attribute(value=value, attr=attr) if attr in (*_REDUCE, *_FACTS):
            return (value,)
        case ast.Call(func=function, args=given) if last_name(function) not in VIEWS:
            name = death.code.qualified(function, scope) or ""
            return given if name.startswith("numpy.") or name in ("builtins.len", "builtins.print") else ()
    return ()
