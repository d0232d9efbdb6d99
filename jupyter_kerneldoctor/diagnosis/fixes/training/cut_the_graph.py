import ast

from ...code.calls import last_name, plain_names
from ...code.notebook import Notebook
from ...code.trees import walk
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.gradients import backward_calls, records_graph
from ...frameworks.keras import tapes
from ...frameworks.torch import Kind, Tensors
from ...place import grew_in

_STEPS = 3  # from statement to statement
_HELD = 0.3  # of the growth: an object of that size explains it without a graph
_NUMBERS = ("item", "float", "int", "len", "detach", "stop_gradient", "numpy")
_TORCH = (
    "{name} = {name}.detach(){again}  # first in the loop, where no gradient has to reach the rounds before\n\n"
    "with torch.no_grad():  # around the loop, where no gradient is wanted at all\n    ...\n\n"
    "{name} = checkpoint(rounds, {name}, use_reentrant=False)  # or through all rounds: rounds() does 100 of them,\n"
    "# and they are worked out again in the backward pass; from torch.utils.checkpoint import checkpoint"
)
_CREATED = "\n# torch.autograd.grad(...) without create_graph=True: no gradient of the gradient is kept"
_TF = (
    "{name} = tf.nest.map_structure(tf.stop_gradient, {name})  # first in the loop: cut off from the rounds before\n"
    "with tf.GradientTape() as tape:  # inside of the loop, around the rounds of one gradient; not persistent\n"
    "    ...\n\n"
    "rounds = tf.recompute_grad(rounds)  # or through all rounds: a function that does 100 of them"
)
_RUN = "import torch\nw = torch.ones(9, requires_grad=True)"
_LOOP = "x = start\nfor i in range(90_000):\n    x = x + 0.1 * (w * x)"


class CutTheGraph(Fix):
    """Cut the graph between the rounds of a loop, or work rounds out again.

    What it does: Where each round goes on from what the round before it worked out, and gradients are recorded, the
    newest value holds on to all rounds. `detach()` cuts it off, `no_grad()` records nothing, and `checkpoint` keeps
    only where each piece began.

    When it is offered: Memory grew little by little in a loop that works a tensor out of itself, while PyTorch or
    TensorFlow recorded that for gradients, and the loop has no backward pass.

    What it costs: Behind a cut, gradients reach back to it and no further. `checkpoint` takes a third more time.
    """

    id, causes = "cut-the-graph", OUT_OF_MEMORY
    title = "Cut the graph between the rounds, or work rounds out again: detach(), no_grad(), checkpoint"
    unless_offered = frozenset(
        {
            *("drop-retain-graph", "detach-accumulated-loss", "detach-collected-outputs", "no-grad-evaluation"),
            *("tape-in-the-loop", "pieces-of-the-sequence", "backward-each-batch", "input-without-history"),
        }
    )

    FIRES = [
        Case(_RUN, _LOOP, line=3, says=("x = x.detach()", "checkpoint(rounds, x")),
        Case(
            _RUN,
            "v = start\nfor i in range(900):\n    g = torch.autograd.grad(f(v, w), w, create_graph=True)[0]\n"
            "    v = v + 0.1 * g",
            line=3,
            says=("v = v.detach().requires_grad_()", "without create_graph"),
        ),
        Case(
            "import tensorflow as tf\nw = tf.Variable(1.0)",
            "with tf.GradientTape() as t:\n    for i in range(5000):\n        x = tf.tanh(x * w)\ng = t.gradient(x, w)",
            line=3,
            says=("map_structure(tf.stop_gradient, x)",),
        ),
    ]
    SILENT = [
        Case("import torch", _LOOP, line=3),  # nothing has a gradient
        Case(_RUN, "v = w.detach()\nfor i in range(900):\n    v = search.step(v)", line=3),
        Case(_RUN, _LOOP.replace("x = x +", "y = x +"), line=3),
        Case(_RUN, "with torch.no_grad():\n    for i in range(9):\n        x = x + w * x", line=3),
        Case(_RUN, _LOOP + "\n    x.sum().backward()\n    x = x.detach()", line=3),
        Case(_RUN, "n = 0\nfor x in xs:\n    n = n + f(x).item()", line=3),
        Case(_RUN, "total = 0 * w\nfor x in xs:\n    loss = (x * w).sum()\n    total = total + loss", line=4),
        Case(_RUN, "h = w * x\nfor layer in layers:\n    h = torch.relu(layer(h))", line=3),
        Case(_RUN, _LOOP, line=3, growth="jump"),
        Case("import tensorflow as tf\nw = tf.Variable(1.0)", "for t in range(5000):\n    x = tf.tanh(x * w)", line=2),
    ]

    def propose(self, death: Death) -> Proposals:
        code, growth = death.code, death.growth
        if not (death.memory.grew_here and growth.goes_on) or growth.is_held(_HELD):
            return
        of_torch = code.imports("torch") and _has_gradients(code)
        for scope in code.running if of_torch or code.imports("tensorflow") else ():
            taped = [] if of_torch else [one.statement for one in tapes(scope, code)]
            for node in scope.nodes:
                name, value = _gone_on(node, in_tuples=bool(taped))
                if value is None or not isinstance(node, ast.stmt):
                    continue
                loop = next(iter(scope.loops_around(node)), None)
                if (
                    not isinstance(loop, ast.For | ast.While)
                    or _is_a_number(value)
                    or not death.was_running(loop, scope)
                ):
                    continue
                if isinstance(loop, ast.For) and any(
                    isinstance(one, ast.Call) and plain_names(one.func) & plain_names(loop.target)
                    for one in walk(value)
                ):
                    continue  # the layers of a network, one after the other
                is_recorded = _has_graph(value, scope, code) if of_torch else _is_in(taped, loop)
                if not is_recorded or backward_calls(loop, scope) or grew_in(death, loop, scope) is False:
                    continue
                if _is_a_sum(name, value, scope.inside(loop)) or any(_is_cut(one, name) for one in scope.inside(loop)):
                    continue
                why = (
                    f"{quote(' '.join(scope.segment(node).split()))} goes on from what the round before it worked out. "
                    "Gradients are recorded, so the newest value holds on to all rounds."
                )
                calls = [one for one in scope.inside(loop) if isinstance(one, ast.Call)]
                grads = any(last_name(one.func) == "grad" for one in calls)
                snippet = (_TORCH if of_torch else _TF).format(name=name, again=".requires_grad_()" if grads else "")
                created = grads and any(word.arg == "create_graph" for one in calls for word in one.keywords)
                yield Proposal((), why, death.memory.ramp_bytes, snippet=snippet + (_CREATED if created else ""))
                return


def _gone_on(node: ast.AST, *, in_tuples: bool) -> tuple[str, ast.expr | None]:
    """Return the name that a statement works out of itself, and its new value: `x = f(x)`, `y, h = cell(x, h)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in plain_names(value):
            return name, value
        case ast.Assign(targets=[ast.Tuple(elts=[*_, ast.Name(id=name)])], value=value) if in_tuples:
            return (name, value) if name in plain_names(value) else ("", None)
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            return name, value
    return "", None


def _has_graph(value: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether a value surely is worked out of something that has a gradient, and that is recorded."""
    return Tensors(code).kind(value, scope) is Kind.GRAPH and records_graph(value, scope, code)


def _has_gradients(code: Notebook) -> bool:
    """Whether something in the cells has a gradient: a network, a parameter, a tensor that asks for one."""
    return any(map(code.has_text, ("requires_grad", "nn.", "Parameter(", "from_pretrained")))


def _is_a_number(value: ast.expr) -> bool:
    """Whether what is added is a plain number, or cut off from its graph."""
    calls = [one for one in walk(value) if isinstance(one, ast.Call)]
    parts = [one for one in walk(value) if isinstance(one, ast.Name)]
    return any(last_name(one.func) in _NUMBERS for one in calls) or len({one.id for one in parts}) < 2 - bool(calls)


def _is_a_sum(name: str, value: ast.expr, nodes: list[ast.AST]) -> bool:
    """Whether what is added does not depend on what there is: a sum of losses needs all of them for its gradient."""
    match value:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=ast.Name(id=other), right=added) if other == name:
            pass
        case ast.BinOp(op=ast.Add(), left=added, right=ast.Name(id=other)) if other == name:
            pass
        case _ if name not in plain_names(value):
            added = value  # total += loss
        case _:
            return False
    known = plain_names(added)
    for _ in range(_STEPS):
        for one in nodes:
            if isinstance(one, ast.Assign) and plain_names(*one.targets) & known - {name}:
                known |= plain_names(one.value)
    return name not in known


def _is_in(statements: list[ast.With], loop: ast.stmt) -> bool:
    return any(loop in walk(one) for one in statements)


def _is_cut(node: ast.AST, name: str) -> bool:
    """Whether a statement cuts the value off from its graph: `x = x.detach()`, `x.detach_()`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="detach" | "detach_" | "data", value=ast.Name(id=other))):
            return other == name
        case ast.Call(func=ast.Attribute(attr="stop_gradient"), args=[ast.Name(id=other)]):
            return other == name
    return False
