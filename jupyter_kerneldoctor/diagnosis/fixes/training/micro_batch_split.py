from jupyter_kerneldoctor.recording.events import NamedObject

from ...edits import EditRefusedError
from ...examples import MIB
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.micro_batches import snippet, split
from ...frameworks.torch import Tensors
from ...frameworks.training_step import NoStepError, find_step, is_mean, normalises_batches
from ...sizing import batch_to_blame
from ...units import enumeration, plural
from ...workers import workers_bytes

_LOAD = "import torch\nmodel, crit = torch.nn.Linear(9, 9), torch.nn.MSELoss()\nbatch_size = 1024\n"
_LOADER = "loader = torch.utils.data.DataLoader(data, batch_size)"
_STEP = "for x, y in loader:\n    opt.zero_grad()\n    loss = crit(model(x), y)\n    loss.backward()\n    opt.step()\n"
_COLLATED = (
    _LOAD
    + "def collate(items):\n    xs, ys = zip(*items)\n    return {}\n"
    + _LOADER.replace("h_size", "h_size, collate_fn=collate")
)
_ADAM = "opt = torch.optim.Adam(model.parameters())\n"


def _held(mib: int) -> NamedObject:
    return NamedObject("model", "Linear", mib * MIB)


class MicroBatchSplit(Fix):
    """Put each batch through the network in parts, and add up their gradients.

    What it does: The step stays the same: its gradient is the mean over the whole batch. The intermediate results,
    which take the memory, are those of one part at a time. Each part's loss counts by its share of the rows, so a
    shorter last part or batch is right, too. Loader, number of steps, scheduler and learning rate stay as they are.

    When it is offered: Memory ran out in a training step of plain PyTorch that has one optimizer, one
    `loss.backward()`, and a loss that is a mean over rows. Not with BatchNorm, whose statistics are those of a part,
    gradient scalers, closures, or several optimizers; not where memory grows from step to step; and not where the
    tensors of a batch do not all have a row for each sample, as those of graphs that are joined.

    What it costs: Time: more and smaller passes. Gradients are equal up to rounding, apart from dropout's random
    numbers.
    """

    id, title, causes = "micro-batch-split", "Accumulate the gradient over parts of each batch", OUT_OF_MEMORY
    unless_offered = frozenset({"prediction-like-target", "scores-of-distances"})

    FIRES = [
        Case(
            _LOAD + _LOADER,
            _STEP,
            becomes="for x, y in loader:\n    opt.zero_grad()\n    full_x, full_y = x, y\n"
            "    for x, y in zip(full_x.split(64), full_y.split(64)):\n        loss = crit(model(x), y)\n"
            "        (loss * (len(x) / len(full_x))).backward()\n    opt.step()\n",
            says=("64 rows", "At most 878"),
        ),
        Case(  # what is used behind the step is that of the whole batch
            _LOAD + _LOADER,
            "for x, y in loader:\n    out = model(x)\n    loss = crit(out, y)\n    opt.zero_grad()\n"
            "    loss.backward()\n    opt.step()\n    seen += len(x)\n"
            "    total += loss.item() + out.argmax(1).sum().item()",
            becomes="for x, y in loader:\n    opt.zero_grad()\n    full_x, full_y, full_loss, full_out = x, y, 0, []\n"
            "    for x, y in zip(full_x.split(64), full_y.split(64)):\n        out = model(x)\n"
            "        loss = crit(out, y)\n        (loss * (len(x) / len(full_x))).backward()\n"
            "        full_loss = full_loss + loss.detach() * (len(x) / len(full_x))\n"
            "        full_out.append(out.detach())\n"
            "    x, y, loss, out = full_x, full_y, full_loss, torch.cat(full_out)\n"
            "    opt.step()\n    seen += len(x)\n    total += loss.item() + out.argmax(1).sum().item()",
        ),
        Case(
            "import torch\nmodel = torch.nn.Linear(9, 9)\nN, BATCH = 10**5, 2048",
            "for i in range(0, N, BATCH):\n    idx = perm[i:i + BATCH]\n    opt.zero_grad()\n"
            "    loss = torch.nn.functional.mse_loss(model(X[idx]), Y[idx])\n    loss.backward()\n    opt.step()",
            becomes="for i in range(0, N, BATCH):\n    idx = perm[i:i + BATCH]\n    opt.zero_grad()\n"
            "    full_idx = idx\n    for idx in full_idx.split(128):\n"
            "        loss = torch.nn.functional.mse_loss(model(X[idx]), Y[idx])\n"
            "        (loss * (len(idx) / len(full_idx))).backward()\n    opt.step()",
        ),
        Case(  # all rows, round after round
            _LOAD.replace("batch_size = 1024", "X, y = torch.rand(9000, 9), torch.rand(9000, 9)"),
            _STEP.replace("x, y in loader", "epoch in range(9)").replace("model(x)", "model(X)").rstrip(),
            becomes="for epoch in range(9):\n    opt.zero_grad()\n    full_X, full_y = X, y\n"
            "    for X, y in zip(full_X.split(256), full_y.split(256)):\n        loss = crit(model(X), y)\n"
            "        (loss * (len(X) / len(full_X))).backward()\n    X, y = full_X, full_y\n    opt.step()",
        ),
        Case(  # a loss of one's own
            _LOAD + _LOADER,
            _STEP.replace("crit(model(x), y)", "((model(x) - y.float()) ** 2).mean()"),
            becomes="for x, y in loader:\n    opt.zero_grad()\n    full_x, full_y = x, y\n"
            "    for x, y in zip(full_x.split(64), full_y.split(64)):\n"
            "        loss = ((model(x) - y.float()) ** 2).mean()\n"
            "        (loss * (len(x) / len(full_x))).backward()\n    opt.step()\n",
        ),
        Case(  # the user's own way to make a batch, with a row for each item
            _COLLATED.format("torch.stack(xs), torch.nn.utils.rnn.pad_sequence(ys, batch_first=True)"),
            _STEP,
            becomes=_STEP.replace("    loss", "        loss")
            .replace("    loss.b", "    (loss * (len(x) / len(full_x))).b")
            .replace(
                "grad()\n",
                "grad()\n    full_x, full_y = x, y\n    for x, y in zip(full_x.split(64), full_y.split(64)):\n",
            ),
        ),
        Case(
            _LOAD + _ADAM + _LOADER,
            _STEP,
            grew=_held(300),
            becomes="for x, y in loader:\n    opt.zero_grad()\n    full_x, full_y = x, y\n"
            "    for x, y in zip(full_x.split(64), full_y.split(64)):\n        loss = crit(model(x), y)\n"
            "        (loss * (len(x) / len(full_x))).backward()\n    opt.step()\n",
        ),
        Case(
            _LOAD + "net = torch.nn.Sequential(torch.nn.BatchNorm1d(9), model)\n" + _LOADER,
            _STEP.replace("model", "net"),
            says=("BatchNorm",),
        ),
    ]
    SILENT = [
        Case(_LOAD + _LOADER + "\nlog = []", _STEP + "    log.append(model(x).detach())"),  # grows by the step
        Case(_LOAD + _ADAM + _LOADER, _STEP, grew=_held(700)),  # and as much for gradients and twice for Adam
        Case(_LOAD + _LOADER, _STEP, line=1),  # what the loader gives next is what is large
        Case(_LOAD + _LOADER, _STEP, before_mib=1900),
        Case(_LOAD + _LOADER, _STEP, children_mib=1500),
        Case(_LOAD + _LOADER, _STEP.replace("loss.backward()", "scaler.scale(loss).backward()")),
        Case(_LOAD + _LOADER, _STEP.replace("step()", "step(closure)")),
        Case(_LOAD + _LOADER, _STEP + "    other.step()\n"),
        Case(_LOAD + _LOADER, _STEP.replace("(x), y)", "(x), y, weight=w)")),
        Case(_LOAD + _LOADER, _STEP.replace("crit(model(x), y)", "my_loss(model(x), y)")),
        Case(_LOAD + _LOADER, _STEP.replace("model(x)", "model(batch['x'])")),
        # items joined one behind the other, as graphs or texts are, or with time first: parts are not of the same items
        *(
            Case(_COLLATED.format(made), _STEP)
            for made in (
                "torch.cat(xs), torch.stack(ys)",
                "torch.tensor(list(itertools.chain(*xs))), torch.stack(ys)",
                "torch.nn.utils.rnn.pad_sequence(xs), torch.tensor(ys)",
                "torch.stack(xs, dim=1), torch.tensor(ys)",
                "joined(xs), torch.tensor(ys)\ndef joined(xs): return torch.concat(xs)",
            )
        ),
        Case(_LOAD + _LOADER.replace("size)", "size, collate_fn=lambda b: (torch.cat([x for x, y in b]), 1))"), _STEP),
        Case(_LOAD + _LOADER, _STEP.replace("x, y in", "x, edge_index, y in").replace("l(x)", "l(x, edge_index)")),
        Case(_LOAD + _LOADER, _STEP.replace("x, y in", "g in").replace("l(x), y", "l(g), g.y")),
        Case(_LOAD + "from torch_geometric.loader import DataLoader\nloader = DataLoader(data, batch_size)", _STEP),
        Case(
            _LOAD + "class Net(torch.nn.Module):\n    def forward(self, x, to):\n"
            "        return torch.zeros(9, 9).index_add(0, to, x)\nmodel = Net()\n" + _LOADER,
            _STEP.replace("x, y in", "x, to, y in").replace("l(x)", "l(x, to)"),
        ),
        # how many rows the other one has, is not known; and a graph, whose nodes need each other
        Case(_LOAD + _LOADER, _STEP.replace("crit(model(x), y)", "((model(x) - other) ** 2).mean()")),
        Case(_LOAD + _LOADER, _STEP.replace("crit(model(x), y)", "crit(model(x)[train_mask], y[train_mask])")),
    ]

    def propose(self, death: Death) -> Proposals:
        batch, missing = batch_to_blame(death), death.memory.missing_bytes
        if batch is None or (workers_bytes(death) or 0) > (missing or 0) // 2:
            return  # what workers load is as large as before
        tensors = Tensors(death.code)
        try:
            step = find_step(death.code, tensors, death.values)
        except NoStepError:
            return
        if not is_mean(step.loss, step.scope, tensors):
            return
        rows, names = batch.choice.value, enumeration([quote(name) for name in step.batch])
        counted = plural(rows, "row")
        why = f"{batch.reason} The step goes through {names} by {counted}, with the same gradient up to rounding."
        title = f"{self.title}: {counted} at a time"
        if norm := normalises_batches(death.code):
            why += f" The edit is not made, as {norm} would work out its statistics over {counted} in place of all."
            yield Proposal((), why, (missing or 0) // 2, title, snippet(step, rows))
            return
        if not batch.choice.may_well_fit:
            yield Proposal((), why, (missing or 0) // 2, title, snippet(step, rows))
            return
        try:
            yield Proposal(
                split(step, rows, tensors), why, missing, title, instead=snippet(step, rows), peak=batch.choice.peak
            )
        except EditRefusedError:
            yield Proposal((), why, missing, title, snippet(step, rows))

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the step is the same, in a loop of its own
        """Whether the loop over parts is there."""
        return any("full_" in after.code.source(at) for at in range(len(after.code.cells)))
