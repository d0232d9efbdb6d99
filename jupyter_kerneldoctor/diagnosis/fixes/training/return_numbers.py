from jupyter_kerneldoctor.recording.events import NamedObject

from ...edits import replace
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.returned_dicts import is_read_whole, returned_to, without_unread_tensors
from ...frameworks.torch import Tensors
from ...units import enumeration

_STEP = (
    "import torch\nnet = torch.nn.Linear(9, 9)\ndef step(x):\n    out = net(x)\n    loss = out.mean()\n"
    "    loss.backward()\n    return "
)
_ALL, _FEW = "{'loss': loss, 'x': x, 'out': out}", "{'loss': loss.detach()}"
_LOOP = "log = []\nfor x in data.split(64):\n    log.append(step(x))\nprint(log[-1]['loss'])"
_HELD = NamedObject("log", "list", 9000, items=900, items_before=0, with_graph=True)


class ReturnNumbers(Fix):
    """Let a training step return its numbers only.

    What it does: A step that returns its inputs and outputs beside the loss, and a list of what the steps returned,
    keep all batches of the training. The edit leaves out the entries that no cell reads, and cuts the others off from
    their graph.

    When it is offered: Memory grew step by step, a loop keeps the dict that a function of the notebook returns, and no
    cell reads some tensors in it.

    What it costs: What is left out can no longer be looked at.
    """

    id, title, causes = "return-numbers", "Keep only the numbers of each step, not its tensors", OUT_OF_MEMORY

    FIRES = [Case(_STEP + _ALL, _LOOP, grew=_HELD, becomes={1: _STEP + _FEW}, says=("`x` and `out`",))]
    SILENT = [
        Case(_STEP + _ALL, _LOOP),
        Case(_STEP + _FEW, _LOOP, grew=_HELD),
        Case(_STEP + _ALL, _LOOP + "\nprint(log[-1]['x'], log[-1]['out'])", grew=_HELD),
        Case(_STEP + _ALL, _LOOP + "\nfor one in log:\n    print(one.items())", grew=_HELD),
        Case(_STEP + _ALL, _LOOP + "\ntorch.save(log, 'log.pt')", grew=_HELD),
        Case(_STEP + _ALL, _LOOP + "\nfor one in log:\n    print(one[name])", grew=_HELD),
        Case(
            _STEP + _ALL,
            _LOOP.replace("log.append(step(x))", "o = step(x)\n    show(**o)\n    log.append(o)"),
            grew=_HELD,
        ),
        Case(
            _STEP + _ALL,
            _LOOP.replace("log.append(step(x))", "out = step(x)\n    out['loss'].backward()\n    log.append(out)"),
            grew=_HELD,
        ),
        Case(_STEP + _ALL, _LOOP.replace("log.append(step(x))", "log.append(1)\n    step(x)"), grew=_HELD),
    ]

    def propose(self, death: Death) -> Proposals:
        code, container, tensors = death.code, death.growth.container, Tensors(death.code)
        if container is None or not death.memory.grew_here or not tensors.in_use:
            return
        for returned, inner in returned_to(container.name, code):
            if is_read_whole(container.name.rpartition(".")[2], returned, code):
                continue
            kept, left = without_unread_tensors(returned, inner, tensors)
            if kept is None or not left:
                continue
            names = enumeration([quote(one) for one in left])
            why = (
                f"{quote(container.name)} keeps what {quote(inner.name)} returns in each step, {names} among it, which "
                f"nothing reads. Memory grew by {size(death.memory.missing_bytes or 0)}."
            )
            yield Proposal(replace(inner, returned, kept), why, death.memory.ramp_bytes)
            return
