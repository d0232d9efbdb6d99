import ast

from ...calls import network_call_at
from ...code.notebook import Notebook
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.gradients import backward_calls, hides_gradients, sources_of_gradients
from ...frameworks.own_products import is_transposed
from ...frameworks.recurrent import carried_states
from ...frameworks.related_rows import compares_rows, has_time_first, mixes_rows
from ...frameworks.rows import picks_rows
from ...frameworks.step_growth import grows_by_the_step
from ...frameworks.torch import Tensors
from ...frameworks.training import find_batch_size
from ...frameworks.untrained import calls_of_untrained
from ...sizing import batch_to_blame, grew_elsewhere

_NET = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): return self.a(x)\nnet = Net()\n"
_SAMPLED = (
    "i, j = edges  # the pairs that are linked, as row and column; and as many at random\n"
    "k, l = torch.randint(len(z), (2, len(i)))\n"
    "scores = torch.cat([(z[i] * z[j]).sum(-1), (z[k] * z[l]).sum(-1)])  # no table of all pairs\n"
    "linked = torch.cat([torch.ones(len(i)), torch.zeros(len(k))])\n"
    "loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, linked)"
)
_RNN = "import torch\nrnn, f = torch.nn.LSTM(9, 9), torch.nn.Linear(9, 9)\nh, total = None, 0"
_STEP = "out = net(x)\nloss = out.mean()\nloss.backward()"
_PIECE = (
    "length = {rows}.shape[-1] // 8  # a random piece of each sequence, and the targets that belong to it\n"
    "start = torch.randint({rows}.shape[-1] - length, ()).item()\n"
    "{rows} = {rows}[..., start : start + length]  # convolutions take any length"
)


_CROPPED = "Train on a random crop of each picture or volume, and work activations out again: checkpoint"
_WITH_CHECKPOINT = "With `checkpoint`, a block keeps only what goes into it."
_CROP = (
    "at = [torch.randint(max(1, n - {side}), ()).item() for n in {rows}.shape[-{axes}:]]  # another one in each step\n"
    "crop = (..., *(slice(i, i + {side}) for i in at))\n"
    "out = {network}({rows}[crop])  # and the targets: y[crop]; convolutions take any size"
)


class ActivationsInParts(Fix):
    """Let a training step keep less: some rows at a time, or `checkpoint`.

    What it does: What a network works out on the way to the loss is kept until `backward()` has run. Gradients of parts
    of a batch add up to those of the whole, and `checkpoint` works a block's values out again in place of keeping them.

    When it is offered: Memory ran out in one step of a training in PyTorch, and no cell shows a batch size that could
    be smaller.

    What it costs: Some more time. BatchNorm and losses that compare rows with each other see only the rows of a part.
    """

    id, title = "activations-in-parts", "Take some rows of the step at a time, and accumulate the gradient"
    causes = OUT_OF_MEMORY
    unless_offered = frozenset({"batch-of-the-whole-set", "bound-the-search", "pieces-of-the-sequence"})

    FIRES = [
        Case(_NET, _STEP, growth="jump", says=("in x.split(16)", "len(part) / len(x)", "checkpoint(block")),
        Case(
            "import torch\nw = torch.ones(9, requires_grad=True)",
            "for i in range(9):\n    loss = simulate(w)\n    loss.backward()",
            growth="jump",
            says=("checkpoint(",),
        ),
        Case(  # a picture that is changed itself
            _NET,
            "x = start.clone().requires_grad_(True)\nopt = torch.optim.LBFGS([x])\n" + _STEP,
            growth="jump",
            line=3,
            says=("Work out activations again",),
        ),
        Case(  # a graph: its nodes need each other
            _NET,
            _STEP.replace("net(x)", "net(x, adj)").replace("out.mean()", "crit(out[train_mask], y[train_mask])"),
            growth="jump",
            says=("Work out activations again", "checkpoint("),
        ),
        Case(  # through all windows of a series
            _RNN,
            "for x in parts:\n    y, h = rnn(x, h)\n    total = total + f(y).mean()\ntotal.backward()",
            growth="jump",
            line=2,
            says=("detach()", "for x in parts:"),
        ),
        Case(  # whole recordings
            _NET + "conv = torch.nn.Conv1d",
            _STEP,
            growth="jump",
            says=("x[..., start : start + length]",),
        ),
        Case(  # volumes, one in each batch
            "import torch\nfrom torch.utils.data import DataLoader\nnet = torch.nn.Conv3d(1, 64, 3)",
            "for x, y in DataLoader(scans):\n    loss = crit(net(x), y)\n    loss.backward()",
            growth="jump",
            line=2,
            says=("for n in x.shape[-3:]", "out = net(x[crop])", "one sample already"),
        ),
        Case(  # all rays of a picture
            _NET,
            "loss = render(net(encode(x))).mean()\nloss.backward()",
            growth="jump",
            line=1,
            says=("rows = encode(x)", "checkpoint(net, part"),
        ),
        Case(  # an autoencoder of a graph
            _NET,
            "def pairs(z): return z @ z.T\nloss = torch.nn.BCEWithLogitsLoss()(pairs(net(x)), A)\nloss.backward()",
            growth="jump",
            line=2,
            says=("torch.randint(len(z)",),
        ),
    ]
    SILENT = [
        Case(_NET, _STEP, before_mib=1990, growth="jump"),
        Case(_NET, "with torch.no_grad():\n    net(x)", growth="jump"),
        Case(_NET + "kept = []", "for x in xs:\n    out = net(x)\n    out.mean().backward()\n    kept.append(out)"),
        Case("x = [0] * 10**10"),
        Case(_NET, "for x in xs: net(x).mean().backward()\nwith torch.no_grad():\n    net(y)", growth="jump", line=3),
    ]

    def propose(self, death: Death) -> Proposals:
        code, missing = death.code, death.memory.missing_bytes or 0
        trains = [(one.node, scope) for scope in code.running for one in backward_calls(scope.node, scope)]
        if not (trains and death.is_of_this_cell and code.imports("torch")) or batch_to_blame(death) is not None:
            return
        if (
            death.growth.is_steady
            or grows_by_the_step(code)
            or not death.safe_headroom_bytes
            or death.safe_headroom_bytes < missing // 8
        ):
            return
        found = network_call_at(death)
        if found is None and grew_elsewhere(death):
            return
        if found is None and death.user_frames and any(death.was_running(*one) for one in trains):
            return  # in the backward pass itself: it may be the parameters that are large
        if found is not None and _evaluates(found[0], code):
            return
        is_whole = found is None or _depend_on_each_other(*found, Tensors(code))
        given = None if found is None or is_whole or _is_one(death, *found) else _rows(*found)
        given = None if given is not None and _is_optimised(given, death) else given
        again = "x = checkpoint(block, x, use_reentrant=False)  # for each block, or each round of a loop"
        snippet = f"from torch.utils.checkpoint import checkpoint\n\n{again}"
        why = f"A step keeps what it works out until `backward()` has run: {size(missing)} and more. "
        title = "Work out activations again in the backward pass: checkpoint, or take fewer rows in a step"
        if found is not None and given is not None:
            call, scope = found
            network, title = scope.segment(call.func), self.title
            if cut := _crop(given, network, code):
                why += f"{quote(given)} is one sample already, as the loader gives it. {_WITH_CHECKPOINT}"
                yield Proposal((), why, missing * 6 // 10, _CROPPED, f"{cut}\n\n{snippet}")
                return
            why += f"Take some rows of {quote(given)} through {quote(network)} at a time; gradients add up. "
            batch = find_batch_size(code)
            rows = 16 if batch is None else max(1, min(16, batch.value // 8))
            snippet = (
                f"for part in {given}.split({rows}):  # its rows of the targets, too\n    out = {network}(part)\n"
                f"    loss = ...  # as before\n    (loss * len(part) / len({given})).backward()\n\n"
                f"# or, in {network}:\n{snippet}"
            )
            if code.has_words("Conv1d"):
                snippet = f"{_PIECE.format(rows=given)}\n\n{snippet}"
        elif (told := _otherwise(death, None if is_whole else found)) is not None:
            title, more, snippet = told
            why += more
        why += _WITH_CHECKPOINT
        yield Proposal((), why, missing * 6 // 10, title, snippet)


def _evaluates(call: ast.Call, code: Notebook) -> bool:
    """Whether nothing is learned from a call of a network: no backward pass needs it, or it is not trained."""
    is_needed = hides_gradients(code) or call in sources_of_gradients(code)
    return not is_needed or call in calls_of_untrained(code)


def _crop(given: str, network: str, code: Notebook) -> str:
    """Return how a step learns from a part of a picture or volume; "" where batches are larger, or parts are no use."""
    loaders = list(code.calls("torch.utils.data.DataLoader"))
    sizes = [one.argument("batch_size", 1) for one in loaders]
    are_single = bool(loaders) and all(one is None or getattr(one, "value", 0) == 1 for one in sizes)
    axes = next((n for n in (3, 2) if any(code.calls(f"torch.nn.Conv{n}d"))), 0)
    if not (are_single and axes) or any(map(code.has_words, ("Linear", "flatten", "Flatten"))):
        return ""
    side = 64 if axes == 3 else 256
    return _CROP.format(rows=given, network=network, axes=axes, side=side)


def _otherwise(death: Death, found: tuple[ast.Call, Scope] | None) -> tuple[str, str, str] | None:
    """Return another way, as a title, a sentence and code; None where the code tells of none."""
    if (pairs := _of_pairs(death)) is not None:
        return "Compare a block of rows at a time, and work it out again: checkpoint", "", pairs
    if (carried := _of_windows(death)) is not None:
        title = "Run backward() for each piece, and carry the state on without its graph: detach()"
        return title, "The state of each piece holds on to all pieces before. ", carried
    if _is_of_links(death.code):
        title = "Learn from the pairs that are linked, and as many random ones: not from all pairs"
        return title, "Each row is multiplied with each other row. ", _SAMPLED
    if found is not None and found[0].args and not _is_one(death, *found) and _rows(*found) is None:
        return "Take the rows through the network in parts: checkpoint of each part", "", _parts(*found)
    return None


def _of_windows(death: Death) -> str | None:
    """Return the loop with a backward pass for each piece, where a state goes on from piece to piece."""
    tensors = Tensors(death.code)
    for loop, scope in death.code.running.nodes(ast.For):
        states = carried_states(loop, scope, tensors) if death.was_running(loop, scope) else []
        if states and not backward_calls(loop, scope):
            cuts = "".join(f"    {one.cut}  # its value goes on, its graph does not\n" for one in states)
            head = scope.segment(loop).split("\n")[0]
            return (
                f"{head}\n    loss = ...  # of this piece alone, as before\n    loss.backward()\n{cuts}"
                "optimizer.step()  # behind the loop, or after some pieces; gradients add up"
            )
    return None


def _is_of_links(code: Notebook) -> bool:
    """Whether each row is multiplied with each, `z @ z.T`, to tell for each pair whether it is linked."""
    if not (code.has_text("binary_cross_entropy") or code.has_text("BCE")):
        return False
    for scope in code.running:
        for node in scope.nodes:
            match node:
                case ast.BinOp(op=ast.MatMult(), left=ast.Name() as left, right=right):
                    if is_transposed(scope.segment(right), scope.segment(left)):
                        return True
    return False


def _parts(call: ast.Call, scope: Scope) -> str:
    """Return the call of a network on some rows at a time, each worked out again in the backward pass."""
    network, given = scope.segment(call.func), " ".join(scope.segment(call.args[0]).split())
    return (
        f"from torch.utils.checkpoint import checkpoint\n\nrows = {given}\n"
        f"out = torch.cat([checkpoint({network}, part, use_reentrant=False) for part in rows.split(4096)])\n\n"
        "# or fewer rows in each step: a random batch of them, rows[torch.randperm(len(rows))[:1024]]"
    )


def _depend_on_each_other(call: ast.Call, scope: Scope, tensors: Tensors) -> bool:
    """Whether parts of the rows give another loss: some stand for all, or they are compared with each other."""
    if picks_rows(scope.nodes, scope, tensors) or mixes_rows(call.func, scope, tensors) or has_time_first(tensors.code):
        return True
    return any(compares_rows(one.body, one) for one in (scope, *tensors.code.running.functions) if not one.owner)


def _rows(call: ast.Call, scope: Scope) -> str | None:
    """Return the name of what the network is given."""
    match call.args[:1]:
        case [ast.Name() | ast.Attribute() as given]:
            return scope.segment(given)
    return None


def _is_optimised(given: str, death: Death) -> bool:
    """Whether the input is what the optimizer changes, as a picture that gets a style: it is one sample as a rule."""
    for call in (one for scope in death.code.running for one in scope.calls):
        match call:
            case ast.Call(func=ast.Attribute(attr="requires_grad_", value=ast.Name(id=name))) if name == given:
                return True
            case ast.Call(func=ast.Attribute(), args=[ast.List(elts=[ast.Name(id=name)]), *_]) if name == given:
                return True
    return False


def _is_one(death: Death, call: ast.Call, scope: Scope) -> bool:
    """Whether the network is known to be given one sample."""
    known = death.values.of(call.args[0], scope) if call.args else None
    return known is not None and tuple(known.shape or ())[:1] == (1,)


def _of_pairs(death: Death) -> str | None:
    """Return the call of the function at work on some rows at a time, where it compares all pairs of rows."""
    for scope in death.code.running.functions:
        names = scope.parameters
        for node in scope.nodes if names and not scope.owner else ():
            if not isinstance(node, ast.BinOp):
                continue
            pairs = sum("None" in scope.segment(one) for one in (node.left, node.right))
            if pairs == 2 and death.user_frames and death.was_running(node, scope):
                given = ", ".join([scope.function, "part", *names[1:], "use_reentrant=False"])
                return (
                    "from torch.utils.checkpoint import checkpoint\n\n"
                    f"rows = [checkpoint({given}) for part in {names[0]}.split(256)]\nall_rows = torch.cat(rows)"
                )
    return None
