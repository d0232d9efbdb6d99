from ...edits import import_as, replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.attention import attentions
from ...frameworks.gradients import goes_backward
from ...frameworks.repeated_blocks import block_calls
from ...frameworks.step_growth import grows_by_the_step
from ...frameworks.torch import Tensors

_NET = (
    "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.blocks = nn.ModuleList([nn.Linear(9, 9) for _ in range(40)])\n    def forward(self, x):\n"
    "        for block in self.blocks:\n            x = x + {call}\n        return x\n"
)
_STEP = "net = Net()\nfor x in xs:\n    loss = net(x).mean()\n    loss.backward()"


class ActivationCheckpointing(Fix):
    """Work out the intermediate results of a block again in the backward pass, in place of keeping them.

    What it does: Training keeps what each layer gives for the backward pass. `checkpoint` keeps only what goes into a
    block, and runs the block a second time when its gradients are due.

    When it is offered: Memory ran out while a network was trained whose `forward` runs a list of blocks one after the
    other, of which there are four at least.

    What it costs: A fifth to a third more time for each step. The gradients are the same. BatchNorm counts each batch
    twice in its running statistics.
    """

    id, title = "activation-checkpointing", "Work out activations again in place of keeping them: checkpoint"
    causes = OUT_OF_MEMORY

    FIRES = [
        Case(_NET.format(call="block(x)"), _STEP, says=("checkpoint(block, x, use_reentrant=False)", "self.blocks")),
        Case(  # rounds in place of blocks
            _NET.format(call="block(x)")
            .replace("for block in self.blocks", "for _ in range(64)")
            .replace("x = x + block(x)", "x = self.step(x)")
            + "    def step(self, x): return x + self.blocks[0](x)\n",
            _STEP,
            growth="jump",
            says=("each round", "checkpoint(self.step, x, use_reentrant=False)"),
        ),
    ]
    SILENT = [
        Case(_NET.format(call="block(x)").replace("x = x +", "x +="), _STEP),  # in place
        Case(_NET.format(call="block(x)"), "net = Net()\nwith torch.no_grad():\n    for x in xs: net(x)"),
        Case(_NET.format(call="block(x)") + "log = []", _STEP + "\n    log.append(net(x))"),
        Case(_NET.format(call="checkpoint(block, x)"), _STEP),
        Case(_NET.format(call="block(x)").replace("40", "depth").replace("(self)", "(self, depth=2)", 1), _STEP),
        Case(_NET.format(call="block(x)"), _STEP, before_mib=1900),
        Case(_NET.format(call="block(x)").replace("Linear(9, 9)", "Conv2d(9, 9, 3)"), _STEP),
    ]

    def propose(self, death: Death) -> Proposals:
        code, memory = death.code, death.memory
        if not (memory.grew_here and goes_backward(code)) or death.growth.is_steady or grows_by_the_step(code):
            return
        target, before = memory.safe_target_bytes, memory.before_bytes
        if target is None or before is None or before >= target:
            return
        for one in block_calls(code):
            name, imported = import_as(one.scope, code, "torch.utils.checkpoint.checkpoint", "checkpoint")
            segment = one.scope.segment
            given = [segment(part) for part in one.call.args]
            given += [f"{word.arg}={segment(word.value)}" for word in one.call.keywords if word.arg]
            text = f"{name}({', '.join([segment(one.call.func), *given, 'use_reentrant=False'])})"
            many = f"for all of {quote(one.blocks)}" if one.blocks else "for each round of the loop"
            why = (
                f"What every {quote(segment(one.call))} works out inside is kept for the backward pass, {many}; "
                f"memory grew by {size(memory.missing_bytes or 0)}. With `checkpoint` only what goes in is kept, at a "
                "fifth to a third more time."
            )
            if not one.blocks and not death.was_running(one.call, one.scope):
                continue
            tables = any(attentions(Tensors(code)))  # those of one block may be too large already
            edits = () if tables else imported + replace(one.scope, one.call, text)
            yield Proposal(edits, why, (memory.missing_bytes or 0) * 6 // 10, snippet=text)
