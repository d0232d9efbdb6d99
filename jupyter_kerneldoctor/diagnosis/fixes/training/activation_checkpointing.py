import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...code.notebook import Notebook, Scope
from ...code.origins import Origins
from ...edits import import_as, replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal
from ...frameworks.attention import attentions
from ...frameworks.gradients import backward_calls
from ...frameworks.step_growth import grows_by_the_step
from ...frameworks.torch import Tensors, is_module_class
from ...units import quote, size

_FEWEST = 4
_ONE_LAYER = re.compile(r"torch\.nn\.Conv(Transpose)?[123]d$")
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
        Case(
            _NET.format(call="block(x)"),
            _STEP,
            becomes={
                1: "from torch.utils.checkpoint import checkpoint\n"
                + _NET.format(call="checkpoint(block, x, use_reentrant=False)")
            },
            says=("block(x)", "self.blocks"),
        ),
        Case(  # rounds in place of blocks
            _NET.format(call="block(x)")
            .replace("for block in self.blocks", "for _ in range(64)")
            .replace("x = x + block(x)", "x = self.step(x)")
            + "    def step(self, x): return x + self.blocks[0](x)\n",
            _STEP,
            growth="jump",
            becomes={
                1: "from torch.utils.checkpoint import checkpoint\n"
                + _NET.format(call="block(x)")
                .replace("for block in self.blocks", "for _ in range(64)")
                .replace("x = x + block(x)", "x = checkpoint(self.step, x, use_reentrant=False)")
                + "    def step(self, x): return x + self.blocks[0](x)\n"
            },
            says=("each round",),
        ),
    ]
    SILENT = [
        Case(_NET.format(call="block(x)"), "net = Net()\nwith torch.no_grad():\n    for x in xs: net(x)"),
        Case(_NET.format(call="block(x)") + "log = []", _STEP + "\n    log.append(net(x))"),
        Case(_NET.format(call="checkpoint(block, x)"), _STEP),
        Case(_NET.format(call="block(x)").replace("40", "depth").replace("(self)", "(self, depth=2)", 1), _STEP),
        Case(_NET.format(call="block(x)"), _STEP, before_mib=1900),
        Case(_NET.format(call="block(x)").replace("Linear(9, 9)", "Conv2d(9, 9, 3)"), _STEP),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Put the calls of the blocks into `checkpoint`."""
        code, memory = death.code, death.memory
        trains = any(backward_calls(scope.node, scope) for scope in code.running)
        if not (memory.grew_here and trains) or death.growth.is_steady or grows_by_the_step(code):
            return
        target, before = memory.safe_target_bytes, memory.before_bytes
        if target is None or before is None or before >= target:
            return
        for one in _block_calls(code):
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
            tables = any(True for _ in attentions(Tensors(code)))  # those of one block may be too large already
            edits = () if tables else imported + replace(one.scope, one.call, text)
            yield Proposal(edits, why, (memory.missing_bytes or 0) * 6 // 10, snippet=text)


class _BlockCall(NamedTuple):
    call: ast.Call
    scope: Scope
    blocks: str


def _save_nothing(blocks: ast.expr, scope: Scope, code: Notebook) -> bool:
    """Whether there are so few blocks that one needs most of it, or each is one layer, which keeps its input only."""
    origins = Origins(code)
    for one, where in origins.of(blocks, scope):
        match one:
            case ast.Call(
                args=[
                    ast.ListComp(elt=each_made, generators=[each]) | ast.GeneratorExp(elt=each_made, generators=[each])
                ]
            ):
                made = each_made.func if isinstance(each_made, ast.Call) else each_made
                if _ONE_LAYER.match(code.qualified(made, where) or ""):
                    return True
                match each.iter:
                    case ast.Call(func=ast.Name(id="range"), args=[*_, last]):
                        found = origins.number(last, where)
                        return found is not None and found[0] < _FEWEST
            case ast.Call(args=[ast.List(elts=parts)]):
                return len(parts) < _FEWEST
    return False


def _block_calls(code: Notebook) -> Iterator[_BlockCall]:
    """Yield the calls `block(x)` in `for block in self.blocks` of a network's `forward`."""
    tensors = Tensors(code)
    for scope in code.running.functions:
        owner = code.lookup(scope.owner, scope.parent or scope) if scope.owner and scope.function == "forward" else None
        if owner is None or not is_module_class(owner, code) or not tensors.in_use:
            continue
        for call in scope.calls:
            for loop in scope.loops_around(call)[:1]:
                match loop, call.func:
                    case ast.For(target=ast.Name(id=name), iter=ast.Attribute() as blocks), ast.Name(id=called):
                        if name == called and call.args and not _save_nothing(blocks, scope, code):
                            yield _BlockCall(call, scope, scope.segment(blocks))
            if _is_round(call, scope):
                yield _BlockCall(call, scope, "")


def _is_round(call: ast.Call, scope: Scope) -> bool:
    """Whether each round of a loop gives the network's own method what the round before made: `x = self.step(x)`."""
    loop = next(iter(scope.loops_around(call)), None)
    match loop, scope.statement_of(call):
        case (
            ast.For(iter=ast.Call(func=ast.Name(id="range")), body=[*_]),
            ast.Assign(targets=[ast.Name(id=made)], value=value),
        ):
            is_own = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "self"
            return value is call and is_own and any(getattr(one, "id", "") == made for one in call.args)
    return False
