"""Training steps of one's own that TensorFlow runs operation by operation, and could compile."""

import ast
from collections.abc import Iterator

from ..code.calls import given_to, last_name
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from .keras import optimizers_of, tapes

_OF_PYTHON = frozenset(
    {"numpy", "append", "extend", "item", "print", "float", "int", "set_description", "write", "time"}
)
"""What a compiled step cannot do, or does only once, when it is compiled."""
_STATEMENTS = (ast.For, ast.While, ast.If, ast.Global, ast.Nonlocal, ast.Try, ast.Yield)


def eager_steps(code: Notebook) -> Iterator[Scope]:
    """Yield the functions that apply gradients of a tape and do nothing but work with tensors."""
    optimizers = [call for call, _ in optimizers_of(code)]
    if len(optimizers) != 1:
        return  # a compiled step can make the variables of one only
    (made,) = optimizers
    if not made.scope.is_cell or made.scope.loops_around(made.node):
        return
    for scope in code.running.functions:
        words = {last_name(one.func) for one in scope.calls}
        if not words & {"apply_gradients", "apply"} or words & _OF_PYTHON or scope.decorators:
            continue
        if any(tapes(scope, code)) and _is_of_tensors(scope, code) and _gets_tensors(scope, code):
            yield scope


def _is_of_tensors(step: Scope, code: Notebook) -> bool:
    """Whether a function has no branches or loops, sets nothing outside of it, and does not call NumPy."""
    stored = (one for one in step.nodes if isinstance(one, ast.Attribute | ast.Subscript))
    plain = not any(isinstance(one, _STATEMENTS) for one in step.nodes)
    own = not any(isinstance(one.ctx, ast.Store) for one in stored)
    return plain and own and not any((code.qualified(one.func, step) or "").startswith("numpy.") for one in step.calls)


def _gets_tensors(step: Scope, code: Notebook) -> bool:
    """Whether a function is called, and with no Python number: it would be compiled again for each of them."""
    calls = Origins(code).calls_of(step)
    given = [(one, caller) for call, caller in calls for one in given_to(call)]
    return bool(calls) and not any(
        isinstance(one, ast.Constant) or Origins(code).number(one, caller) or _counts(one, caller)
        for one, caller in given
    )


def _counts(given: ast.expr, scope: Scope) -> bool:
    """Whether an argument is the number of a round: `i` of `for i in range(9)`."""
    for loop in scope.loops_around(given):
        match loop:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"))):
                if name == getattr(given, "id", ""):
                    return True
    return False
