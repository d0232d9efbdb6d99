import ast

from ...edits import set_argument
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.checkpoints import loads
from ...place import grew_in

_SAVED = "import torch\nnet = torch.nn.Linear(9, 9)\n"


class MetaDeviceLoad(Fix):
    """Load a checkpoint without a second copy of its weights.

    What it does: `torch.load` reads all weights into memory, and `load_state_dict` copies them into those that the
    network has already: both are there at once. With `mmap=True` the weights stay in their file until they are used,
    and with `assign=True` the network takes them as they are. A network that is made under `with torch.device("meta"):`
    has no weights before.

    When it is offered: Memory ran out where a checkpoint is loaded into a network.

    What it costs: The weights have the types of the file. The file must stay where it is while the network is used.
    """

    id, title, causes = "meta-device-load", "Load the checkpoint without a second copy: mmap, assign", OUT_OF_MEMORY

    FIRES = [
        Case(
            _SAVED + "sd = torch.load('a.pt')\nnet.load_state_dict(sd)",
            becomes=_SAVED + "sd = torch.load('a.pt', mmap=True)\nnet.load_state_dict(sd, assign=True)",
            says=("sd",),
        ),
        Case(
            _SAVED + "def restore(path, model):\n    ckpt = torch.load(path, map_location='cpu')\n"
            "    model.load_state_dict(ckpt['model'], strict=False)",
            "restore('a.pt', net)",
            becomes={
                1: _SAVED + "def restore(path, model):\n    ckpt = torch.load(path, map_location='cpu', mmap=True)\n"
                "    model.load_state_dict(ckpt['model'], strict=False, assign=True)"
            },
        ),
    ]
    SILENT = [
        Case(_SAVED, "sd = torch.load('a.pt')"),
        Case(_SAVED, "import io\nnet.load_state_dict(torch.load(io.BytesIO(b)))"),
        Case(_SAVED, "opt.load_state_dict(torch.load('a.pt'))"),
        Case(_SAVED, "net.load_state_dict(torch.load('a.pt'))\nbig = torch.ones(10**10)", line=2),
        Case(_SAVED, "net.load_state_dict(torch.load('a.pt', mmap=True), assign=True)"),
    ]

    def propose(self, death: Death) -> Proposals:
        for load, into in loads(death.code, death.code.running) if death.memory.grew_here else ():
            near = [grew_in(death, one.scope.tree.statements[one.node], one.scope) for one in (load, into)]
            if near == [False, False] and not _is_between(death, load.node, into.node):
                continue
            edits = set_argument(into, "assign", "True", 2) if into.argument("assign", 2) is None else ()
            if load.argument("mmap") is None:
                edits += set_argument(load, "mmap", "True")
            if edits:
                why = (
                    f"{quote(load.text)} reads all weights, and {quote(into.text)} copies them into the network's own: "
                    f"for a while both are in memory. Memory grew by {size(death.memory.missing_bytes or 0)}."
                )
                yield Proposal(edits, why, (death.memory.missing_bytes or 0) // 2)


def _is_between(death: Death, first: ast.Call, last: ast.Call) -> bool:
    """Whether memory ran out after the one call and before the other, where the network is made."""
    lines = [one.line for one in death.user_frames] or [death.code.line or 0]
    return any(first.lineno <= line <= last.lineno for line in lines)
