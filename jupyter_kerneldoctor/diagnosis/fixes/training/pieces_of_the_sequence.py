from jupyter_kerneldoctor.recording.events import NamedObject

from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote
from ...frameworks.gradients import goes_backward
from ...units import enumeration
from ...unrolled import unrolled_step

_NET = (
    "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.cell = nn.GRUCell(9, 9)\n    def forward(self, clip):\n        h, outs = start(clip), []\n"
    "        for t in range(240):\n            h = self.cell(clip[:, t], h)\n            outs.append(h)\n"
    "        return torch.stack(outs, 1)"
)
_STEP = "net = Net()\nfor clip, y in data:\n    loss = crit(net(clip), y)\n    loss.backward()\n    opt.step()"
_OUTS = NamedObject(
    "outs", "list", 9000, items=40, items_before=0, grew_bytes=9000, with_graph=True, function="forward"
)


class PiecesOfTheSequence(Fix):
    """Train on some steps of the sequence at a time, and carry the state on without its graph.

    What it does: A network that goes through a sequence step by step keeps what each step works out until the backward
    pass has run. With a backward pass after each piece, and `detach()` of the state between two of them, only one piece
    is kept: truncated back-propagation through time. Work that is done again, with `checkpoint`, keeps the whole range.

    When it is offered: Memory ran out within the loop of a network's step that carries a state from round to round and
    collects an output of each, and the recording shows how many rounds were done.

    What it costs: Gradients reach back as far as a piece is long. `checkpoint` takes a third more time, and changes
    nothing else.
    """

    id, title, causes = "pieces-of-the-sequence", "Train on some steps of the sequence at a time", OUT_OF_MEMORY

    FIRES = [
        Case(
            _NET,
            _STEP,
            growth="jump",
            grew=_OUTS,
            says=("40 of 240", "16 steps", "h = h.detach()", "checkpoint(self.cell"),
        )
    ]
    SILENT = [
        Case(_NET, _STEP, growth="jump"),
        Case(_NET, _STEP.replace("loss.backward()", "print(loss)"), growth="jump", grew=_OUTS),
        Case(
            _NET.replace("h = self.cell(clip[:, t], h)", "h = self.cell(clip[:, t])"), _STEP, growth="jump", grew=_OUTS
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        found = unrolled_step(death) if death.memory.grew_here and goes_backward(death.code) else None
        if found is None:
            return
        missing, room = death.memory.missing_bytes or 1, death.safe_headroom_bytes or 0
        fit = max(1, found.done * room // missing // 2)
        steps = 1 << (fit.bit_length() - 1)
        of = f"{found.done} of {found.rounds}" if found.rounds else f"{found.done}"
        names = enumeration([quote(one) for one in found.states])
        why = (
            f"{of} steps were done when memory ran out, and each keeps all that it worked out. Train on {steps} steps "
        )
        why += f"at a time, and carry {names} on without what came before."
        cut = "; ".join(f"{one} = {one}.detach()" for one in found.states)
        snippet = (
            f"for start in range(0, n_steps, {steps}):  # let the network take its state, and give it back\n"
            f"    out, {', '.join(found.states)} = model(x[:, start:start + {steps}], {', '.join(found.states)})\n"
            f"    loss = criterion(out, y[:, start:start + {steps}])\n    loss.backward()\n"
            f"    {cut}\noptimizer.step()\noptimizer.zero_grad()\n\n"
            "# or, with gradients through all steps: work each step out again\n"
            "from torch.utils.checkpoint import checkpoint\n\n"
            f"{', '.join(found.states)} = checkpoint(self.cell, x_t, {', '.join(found.states)}, use_reentrant=False)"
        )
        yield Proposal((), why, missing, f"{self.title}: {steps} steps, the state detached between", snippet)
