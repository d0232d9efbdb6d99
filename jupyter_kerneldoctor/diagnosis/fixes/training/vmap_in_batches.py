import ast
from collections.abc import Iterator

from ...calls import nodes_at
from ...code.origins import Origins
from ...code.scopes import Scope
from ...edits import import_as, replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal
from ...sizing import power_of_two
from ...units import quote, size

_ROWS = 64
_F = "import jax\nimport jax.numpy as jnp\ndef f(w, x): return jnp.tanh(x @ w)\n"


class VmapInBatches(Fix):
    """Let JAX take some rows at a time: lax.map with batch_size.

    What it does: `jax.vmap(f)(xs)` works on all rows at once, with all that is worked out on the way.
    `jax.lax.map(f, xs, batch_size=64)` takes 64 rows at a time and gives the same result.

    When it is offered: Memory ran out on the call of a function that `vmap` made, or in it.

    What it costs: Some time, where all rows would have fitted. The results of all rows are still kept. JAX 0.4.36 or
    newer.
    """

    id, title, causes = "vmap-in-batches", "Work on some rows at a time: jax.lax.map with batch_size", OUT_OF_MEMORY

    FIRES = [
        Case(
            "import jax\nf = print",
            "y = jax.vmap(f)(xs)",
            becomes="y = jax.lax.map(f, xs, batch_size=64)",
            says=("all rows of `xs`",),
        ),
        Case(
            _F + "predict = jax.vmap(f, in_axes=(0, None))",
            "y = predict(draws, grid).mean(0)",
            becomes="y = jax.lax.map(lambda row: f(row, grid), draws, batch_size=64).mean(0)",
        ),
        Case(
            _F + "both = jax.jit(jax.vmap(f))",
            "y = both(ws, xs)",
            becomes="y = jax.lax.map(lambda row: f(*row), (ws, xs), batch_size=64)",
        ),
    ]
    SILENT = [
        Case("import jax\nf = print", "y = jax.vmap(f, in_axes=1)(xs)"),
        Case("import jax\nf = print", "y = jax.vmap(f, out_axes=1)(xs)"),
        Case("import jax\nf = print", "y = jax.vmap(f)(xs)\nbig = [0] * 10**10", line=2),
        Case(_F, "g = jax.grad(lambda w: jax.vmap(lambda x: f(w, x))(xs).sum())(w)"),
        Case("import torch\nfrom torch.func import vmap", "y = vmap(f)(xs)"),
        Case("import jax\nf = print", "y = jax.vmap(f, in_axes=(0, None))(xs, row)"),  # the edit's own name
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Put `lax.map` in the place of the call."""
        for node, scope in nodes_at(death, ast.Call) if death.code.imports("jax") else ():
            found = _vmapped(node.func, scope, death)
            if found is None or node.keywords or _is_inside_of_another(node, scope, death):
                continue
            function, axes = found
            mapped = [given for given, axis in zip(node.args, axes or [0] * len(node.args), strict=False) if axis == 0]
            is_plain = all(isinstance(one, ast.Name | ast.Attribute) for one in node.args)
            is_plain &= all(scope.segment(one).partition(".")[0] != "row" for one in node.args)
            if not mapped or not is_plain or (axes is not None and len(axes) != len(node.args)):
                continue
            name, edits = import_as(scope, death.code, "jax", "jax")
            missing, rows = death.memory.missing_bytes or 0, quote(scope.segment(mapped[0]))
            few = _count(mapped[0], scope, death)
            why = (
                f"{quote(scope.segment(node))} works on all rows of {rows} at once, with all that is worked out on the "
                f"way; the cell took {size(missing)}. {few} rows at a time give the same."
            )
            text = f"{name}.lax.map({_mapped(function, node, mapped, scope)}, batch_size={few})"
            yield Proposal(edits + replace(scope, node, text), why, missing)
            return


def _mapped(function: str, call: ast.Call, mapped: list[ast.expr], scope: Scope) -> str:
    """Return the function of a row, and its rows: with the arguments that all share, or several that go together."""
    given = [scope.segment(one) for one in mapped]
    if len(call.args) == 1:
        return f"{function}, {given[0]}"
    if len(mapped) == len(call.args):
        return f"lambda row: {function}(*row), ({', '.join(given)})"
    part = {one: f"row[{at}]" if len(mapped) > 1 else "row" for at, one in enumerate(mapped)}
    each = ", ".join(part.get(one) or scope.segment(one) for one in call.args)
    return f"lambda row: {function}({each}), {given[0] if len(mapped) == 1 else '(' + ', '.join(given) + ')'}"


def _vmapped(node: ast.expr, scope: Scope, death: Death) -> tuple[str, list[object] | None] | None:
    """Return the function that `vmap` was given, by its name, and which arguments have rows; None for another call."""
    made = [(node, scope)] if isinstance(node, ast.Call) else [(*one,) for one in Origins(death.code).of(node, scope)]
    match made:
        case [(ast.Call() as call, where)]:
            if death.code.qualified(call.func, where) == "jax.jit" and call.args and not call.keywords:
                return _vmapped(call.args[0], where, death)
        case _:
            return None
    axes = next((word.value for word in call.keywords if word.arg == "in_axes"), None)
    if death.code.qualified(call.func, where) != "jax.vmap" or {one.arg for one in call.keywords} - {"in_axes"}:
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


def _is_inside_of_another(node: ast.Call, scope: Scope, death: Death) -> bool:
    """Whether the call is a part of what is differentiated or mapped itself, which keeps what is worked out."""
    if any(True for _ in death.code.running.calls("jax.grad", "jax.value_and_grad")):
        return True
    if any(isinstance(one, ast.Lambda) and node in ast.walk(one) for one in scope.nodes):
        return True
    words = {getattr(one, "id", "") for given in _transformed(death) for one in ast.walk(given)}
    return not scope.is_cell and scope.function in words


def _transformed(death: Death) -> Iterator[ast.expr]:
    for call in death.code.calls("jax.grad", "jax.value_and_grad", "jax.vmap", "jax.jacrev", "jax.jacfwd"):
        yield from call.node.args[:1]


def _count(rows: ast.expr, scope: Scope, death: Death) -> int:
    """Return how many rows to take at a time: fewer where there are few."""
    value = death.values.of(rows, scope)
    known = value.shape[0] if value is not None and value.shape else None
    return _ROWS if known is None else max(1, min(_ROWS, power_of_two(known // 8)))
