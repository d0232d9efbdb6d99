import ast

from ...code.calls import last_name
from ...code.origins import all_origins
from ...code.trees import unparse
from ...edits import set_argument
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.checkpoints import loads
from ...place import grew_in

_SAVED = "import torch\nnet = torch.nn.Linear(9, 9)\n"


class MetaDeviceLoad(Fix):
    """Load a checkpoint without a second copy of its weights.

    What it does: `torch.load` reads all weights into memory, and `load_state_dict` copies them into those that the
    network has already: both are there at once. With `mmap=True` the weights stay in their file, from where they are
    copied. A network that is made under `with torch.device("meta"):` and takes them with `assign=True` has no weights
    before; an optimizer must be made after that.

    When it is offered: Memory ran out where a checkpoint is loaded into a network.

    What it costs: Nothing, where the file was saved by PyTorch 1.6 or later.
    """

    id, title, causes = "meta-device-load", "Load the checkpoint without a second copy: mmap", OUT_OF_MEMORY

    FIRES = [
        Case(
            _SAVED + "sd = torch.load('a.pt')\nnet.load_state_dict(sd)",
            says=("sd = torch.load('a.pt', mmap=True)",),
        ),
        Case(
            _SAVED + "def restore(path, model):\n    ckpt = torch.load(path, map_location='cpu')\n"
            "    model.load_state_dict(ckpt['model'], strict=False)",
            "restore('a.pt', net)",
            says=("torch.load(path, map_location='cpu', mmap=True)",),
        ),
    ]
    SILENT = [
        Case(_SAVED, "sd = torch.load('a.pt')"),
        Case(_SAVED, "import io\nnet.load_state_dict(torch.load(io.BytesIO(b)))"),
        Case(_SAVED, "opt.load_state_dict(torch.load('a.pt'))"),
        Case(_SAVED, "net.load_state_dict(torch.load('a.pt'))\nbig = torch.ones(10**10)", line=2),
        Case(_SAVED, "net.load_state_dict(torch.load('a.pt', mmap=True), assign=True)"),
        Case(_SAVED, "with open('a.pt', 'rb') as f:\n    net.load_state_dict(torch.load(f))"),
    ]

    def propose(self, death: Death) -> Proposals:
        for load, into in loads(death.code, death.code.running) if death.memory.grew_here else ():
            near = [grew_in(death, one.scope.tree.statements[one.node], one.scope) for one in (load, into)]
            if near == [False, False] and not _is_between(death, load.node, into.node):
                continue
            if load.argument("mmap") is None and not _is_open_file(load, death):
                why = (
                    f"{quote(load.text)} reads all weights, and {quote(into.text)} copies them into the network's own: "
                    f"for a while both are in memory. Memory grew by {size(death.memory.missing_bytes or 0)}."
                )
                yield Proposal(set_argument(load, "mmap", "True"), why, (death.memory.missing_bytes or 0) // 2)


def _is_open_file(load: Call, death: Death) -> bool:
    """Whether it is given a file that is open, of which no part can be mapped."""
    given = load.node.args[0]
    opened = [one for one in load.scope.nodes if isinstance(one, ast.withitem) and one.optional_vars is not None]
    if any(unparse(one.optional_vars) == unparse(given) for one in opened if one.optional_vars is not None):
        return True
    return any(
        isinstance(one, ast.Call) and last_name(one.func) == "open"
        for one, _ in all_origins(given, load.scope, death.code)
    )


def _is_between(death: Death, first: ast.Call, last: ast.Call) -> bool:
    """Whether memory ran out after the one call and before the other, where the network is made."""
    lines = [one.line for one in death.user_frames] or [death.code.line or 0]
    return any(first.lineno <= line <= last.lineno for line in lines)
