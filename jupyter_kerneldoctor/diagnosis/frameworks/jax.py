"""What JAX's transformations are given: `vmap`, `grad`."""

import ast
from collections.abc import Iterator

from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.trees import walk


def vmapped(node: ast.expr, scope: Scope, code: Notebook) -> tuple[str, list[object] | None] | None:
    """Return the function that `vmap` was given, by its name, and which arguments have rows; None for another call."""
    made = [(node, scope)] if isinstance(node, ast.Call) else [(*one,) for one in Origins(code).of(node, scope)]
    match made:
        case [(ast.Call() as call, where)]:
            if code.qualified(call.func, where) == "jax.jit" and call.args and not call.keywords:
                return vmapped(call.args[0], where, code)
        case _:
            return None
    axes = next((word.value for word in call.keywords if word.arg == "in_axes"), None)
    if code.qualified(call.func, where) != "jax.vmap" or {one.arg for one in call.keywords} - {"in_axes"}:
        return None
    is_known_there = where.is_cell or where is scope
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Name) or not is_known_there:
        return None
    match axes:
        case None | ast.Constant(value=0):
            return call.args[0].id, None
        case ast.Tuple(elts=elements) if all(isinstance(one, ast.Constant) for one in elements):
            values = [getattr(one, "value", 1) for one in elements]
            return (call.args[0].id, values) if set(values) <= {0, None} and 0 in values else None
    return None


def is_transformed_itself(node: ast.Call, scope: Scope, code: Notebook) -> bool:
    """Whether the call is a part of what is differentiated or mapped itself, which keeps what is worked out."""
    if any(code.running.calls("jax.grad", "jax.value_and_grad")):
        return True
    if any(isinstance(one, ast.Lambda) and node in walk(one) for one in scope.nodes):
        return True
    words = {getattr(one, "id", "") for given in _transformed(code) for one in walk(given)}
    return not scope.is_cell and scope.function in words


def _transformed(code: Notebook) -> Iterator[ast.expr]:
    for call in code.calls("jax.grad", "jax.value_and_grad", "jax.vmap", "jax.jacrev", "jax.jacfwd"):
        yield from call.node.args[:1]


def row_function(function: str, call: ast.Call, mapped: list[ast.expr], scope: Scope) -> str:
    """Return, as code, the function of a row and its rows: with what all share, or several that go together."""
    given = [scope.segment(one) for one in mapped]
    if len(call.args) == 1:
        return f"{function}, {given[0]}"
    if len(mapped) == len(call.args):
        return f"lambda row: {function}(*row), ({', '.join(given)})"
    part = {one: f"row[{at}]" if len(mapped) > 1 else "row" for at, one in enumerate(mapped)}
    each = ", ".join(part.get(one) or scope.segment(one) for one in call.args)
    return f"lambda row: {function}({each}), {given[0] if len(mapped) == 1 else '(' + ', '.join(given) + ')'}"
