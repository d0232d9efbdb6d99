"""What a `with` around a whole loop records, round by round, until its block ends: `with GradientTape() as tape:`."""

import ast
from collections.abc import Iterator

from ..code.notebook import CodeTooLargeError, Notebook
from ..code.scopes import Scope
from ..postmortem import Grown, Statement
from ..units import cell_name
from .growth import Growth
from .statements import lines_in

_RECORDERS = (
    "tensorflow.GradientTape",
    "tensorflow.autodiff.GradientTape",
    "torch.profiler.profile",
    "torch.autograd.profiler.profile",
)
"""What notes each operation that runs in its block."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def recorder_around(growth: Growth, blamed: Statement | None) -> Grown | None:
    """Return the recorder in whose block a loop ran that led to the blamed statement, where memory went on growing."""
    code = growth.code
    try:
        for cell in code.cells if growth.goes_on else ():
            lines = set() if blamed is None else {*lines_in(blamed, cell)}
            for scope in code.scopes(code.index(cell)) if lines else ():
                for loop in (one for one in scope.nodes if isinstance(one, _LOOPS)):
                    is_around = any(loop.lineno < line <= (loop.end_lineno or 0) for line in lines)
                    for name in _recorders(loop, scope, code) if is_around else ():
                        kind = f"local of {scope.function}" if scope.function else "variable of the notebook"
                        return Grown(name, where=f"{kind}, {cell_name(cell.execution_count)}")
    except (CodeTooLargeError, RecursionError):
        pass
    return None


def _recorders(loop: ast.stmt, scope: Scope, code: Notebook) -> Iterator[str]:
    for block in scope.around(loop):
        for item in block.items if isinstance(block, ast.With) else ():
            match item:
                case ast.withitem(context_expr=ast.Call(func=made), optional_vars=ast.Name(id=name)):
                    if code.qualified(made, scope) in _RECORDERS:
                        yield name
