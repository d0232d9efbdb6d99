import ast
from collections.abc import Iterable, Iterator

from ...code.calls import last_name
from ...code.origins import Origins, all_origins
from ...code.trees import walk
from ...edits import replace
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.loaders import LOADERS
from ...frameworks.torch import Kind, Tensors
from ...place import grew_in
from ...sizing import choose

_LARGEST, _USUAL = 256, 32
_METHODS = {"batch": 0, "fit": 2, "split": 0, "predict": 1, "evaluate": 2}
"""Where a method takes the batch size."""
_OF_MODELS = ("fit", "predict", "evaluate")
_STEPS = ("backward", "apply_gradients", "train_on_batch", "test_on_batch", "step")
_LOADER = (
    "import torch\nds = load()\nnet = torch.nn.Linear(9, 9)\nloader = torch.utils.data.DataLoader(ds, batch_size={})"
)
_RUN = "for x, y in loader:\n    crit(net(x), y).backward()"


class BatchOfTheWholeSet(Fix):
    """Take batches of some rows, not one batch of all: batch_size=len(dataset).

    What it does: Training keeps what each layer gives for every row of a batch until the backward pass is through. A
    batch size of `len(dataset)` makes that all rows at once. The edit writes a number in its place.

    When it is offered: Memory ran out in a cell that goes through a loader, or calls `fit`, with `len(...)` for the
    batch size.

    What it costs: More steps in an epoch, so the course of the training changes; the learning rate may need to be
    adapted. Gradients that are accumulated over the batches give those of all rows.
    """

    id, title, causes = "batch-of-the-whole-set", "Use a smaller batch than the whole data set", OUT_OF_MEMORY
    edits_cure = True

    FIRES = [
        Case(_LOADER.format("len(ds)"), _RUN, becomes={1: _LOADER.format("32")}, says=("`len(ds)`", "batch_size")),
        Case(
            _LOADER.format("n").replace("ds = load()", "ds = load()\nn = len(ds)"),
            _RUN,
            becomes={"batch_size=n": "batch_size=32"},
        ),
        Case(
            "import keras\nimport numpy as np\nX = np.ones((50_000, 99))\nnet = keras.Sequential()",
            "net.fit(X, y, batch_size=X.shape[0])",
            becomes="net.fit(X, y, batch_size=256)",
            says=("50,000 rows",),
        ),
        Case(
            "import keras, numpy as np\nX = np.ones((5000, 9))\nnet = keras.Sequential()\ndef run(model, data):\n"
            "    return model.predict(data, batch_size=data.shape[0])",
            "run(net, X)",
            becomes={"data.shape[0])": "256)"},
        ),
    ]
    SILENT = [
        Case(_LOADER.format("64"), _RUN),
        Case(_LOADER.format("len(ds) // 100"), _RUN),
        Case(_LOADER.format("len(ds)"), "big = [0] * 10**10\nprint(loader)", line=1),
        Case(_LOADER.format("len(ds)"), _RUN, before_mib=1990),
        Case(_LOADER.format("len(ds)"), "for X, y in loader:\n    X = X.numpy()\nplot(X)", line=1),  # all are wanted
        Case(_LOADER.format("len(ds)"), "for x, y in loader:\n    net(x)\n    break", line=1),
        Case("import tensorflow as tf\nds = load()", "X = next(iter(ds.batch(len(ds))))"),
        Case(_LOADER.format(9), "a, b = net(torch.cat([x, y])).split(len(x))\ncrit(a, b).backward()", line=1),
    ]

    def propose(self, death: Death) -> Proposals:
        if not death.memory.grew_here or death.growth.is_steady:
            return
        for call in _used(death):
            given = _batch_size(call)
            if given is None or not _is_length(given, call, death):
                continue
            rows = death.values.number(given, call.scope) or death.values.rows(_owner(given), call.scope)
            choice = None if rows is None else choose(death, rows, from_runs=False)
            if rows is not None and choice is None:
                continue
            size = _USUAL if choice is None else min(choice.value, _LARGEST)
            many = "all rows" if rows is None else f"all {rows:,} rows"
            why = f"{quote(call.scope.segment(given))} is the batch size: {many} go through the network as one batch. "
            why += f"Try {size}; if it still dies, halve it."
            title = f"{self.title}: batch_size={size}, not {call.scope.segment(given)}"
            yield Proposal(replace(call.scope, given, str(size)), why, death.memory.missing_bytes, title)


def _used(death: Death) -> Iterator[Call]:
    """Yield the calls that make the batches of what was running: loaders that a loop goes through, `fit`."""
    code, found = death.code, dict[ast.Call, Call]()
    for scope in code.running if any(map(code.imports, ("torch", "keras", "tensorflow"))) else ():
        for node in scope.nodes:
            if not isinstance(node, ast.For | ast.Call) or not death.was_running(node, scope):
                continue
            if grew_in(death, node, scope) is False:
                continue
            if isinstance(node, ast.Call):
                if last_name(node.func) in _OF_MODELS and isinstance(node.func, ast.Attribute):
                    found[node] = Call(node, scope, node.func.attr)
                    parts = [one for given in (*node.args, *node.keywords) for one in walk(given)]
                    found |= {one.node: one for one in _batched(parts, scope)}
                continue
            if not _is_step_by_step(node, scope, death):
                continue
            found |= {one.node: one for one in _batched(walk(node.iter), scope)}
            inner = node.iter.args[:1] if isinstance(node.iter, ast.Call) else [node.iter]  # enumerate(loader)
            for made, where in (one for given in (node.iter, *inner) for one in all_origins(given, scope, code)):
                if isinstance(made, ast.Call) and code.qualified(made.func, where) in LOADERS:
                    found[made] = Call(made, where, "DataLoader")
    yield from found.values()


def _batched(nodes: Iterable[ast.AST], scope: Scope) -> Iterator[Call]:
    """Yield the calls that cut something into batches: `ds.batch(n)`, `x.split(n)`."""
    for one in nodes:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in ("batch", "split"):
            yield Call(one, scope, one.func.attr)


def _is_step_by_step(loop: ast.For, scope: Scope, death: Death) -> bool:
    """Whether a loop gives each batch to a network, or to a function of the user's; else all rows may be wanted."""
    inside = scope.inside(loop)
    calls = [one for one in inside if isinstance(one, ast.Call)]
    if any(isinstance(one, ast.Break) for one in inside):
        return False
    return any(
        last_name(one.func) in _STEPS
        or Tensors(death.code).kind(one.func, scope) is Kind.MODULE
        or any(death.code.functions_named(last_name(one.func)))
        for one in calls
    )


def _batch_size(call: Call) -> ast.expr | None:
    at = _METHODS.get(call.name, 1)
    return call.argument("batch_size") if call.name in _OF_MODELS else call.argument("batch_size", at)


def _is_length(given: ast.expr, call: Call, death: Death) -> bool:
    """Whether a number is how many rows there are: `len(ds)`, `X.shape[0]`, or a name for it."""
    found = [one.node for one in Origins(death.code).of(given, call.scope)] if isinstance(given, ast.Name) else [given]
    return len(found) == 1 and _owner(found[0]) is not None


def _owner(node: ast.expr) -> ast.expr | None:
    """Return what the length is taken of."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[owner]):
            return owner
        case ast.Subscript(value=ast.Attribute(attr="shape", value=owner), slice=ast.Constant(value=0)):
            return owner
    return None
