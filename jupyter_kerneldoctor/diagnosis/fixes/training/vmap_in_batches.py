import ast

from ...calls import nodes_at
from ...edits import import_as, replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.jax import is_transformed_itself, row_function, vmapped
from ...sizing import power_of_two

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

    def propose(self, death: Death) -> Proposals:
        for node, scope in nodes_at(death, ast.Call) if death.code.imports("jax") else ():
            found = vmapped(node.func, scope, death.code)
            if found is None or node.keywords or is_transformed_itself(node, scope, death.code):
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
            text = f"{name}.lax.map({row_function(function, node, mapped, scope)}, batch_size={few})"
            yield Proposal(edits + replace(scope, node, text), why, missing)
            return


def _count(rows: ast.expr, scope: Scope, death: Death) -> int:
    """Return how many rows to take at a time: fewer where there are few."""
    known = death.values.rows(rows, scope)
    return _ROWS if known is None else max(1, min(_ROWS, power_of_two(known // 8)))
