import ast

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...code.trees import unparse
from ...edits import insert_before
from ...examples import MIB
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.checkpoints import loads
from ...unused_objects import unused_objects

_SMALL = 0.05  # of the limit
_KEPT = [Namespace(-11.0, 2, (NamedObject("sd", "OrderedDict", 700 * MIB),))]
_NET = "import torch\nnet = torch.nn.Linear(9, 9)"
_LOAD = "sd = torch.load('a.pt')\nnet.load_state_dict(sd)"


class DropStateDict(Fix):
    """Forget a checkpoint once the network has its weights.

    What it does: `load_state_dict` copies the weights into the network's own. The variable that they were loaded into
    keeps the second copy for as long as the notebook runs. `del` gives it back.

    When it is offered: Memory ran out while such a variable was held, in a cell that does not use it.

    What it costs: Cells that use it later have to load it again.
    """

    id, title = "drop-state-dict", "Forget the checkpoint once the network has its weights: del"
    causes = (Family.MEMORY,)

    FIRES = [
        Case(
            _NET,
            _LOAD,
            "out = [net(x) for x in data]",
            namespaces=_KEPT,
            before_mib=1300,
            becomes="del sd  # the network has its own copy\nout = [net(x) for x in data]",
            says=("`sd`", "700 MiB"),
        )
    ]
    SILENT = [
        Case(_NET, _LOAD, "out = [net(x) for x in data]"),
        Case(_NET, _LOAD, "out = [net(x) for x in data], sd['epoch']", namespaces=_KEPT, before_mib=1300),
        Case(
            _NET,
            _LOAD.replace("(sd)", "(sd, assign=True)"),
            "out = [net(x) for x in data]",
            namespaces=_KEPT,
            before_mib=1300,
        ),
        Case(_NET, "opt.load_state_dict(torch.load('a.pt'))", "y = big(x)", namespaces=_KEPT, before_mib=1300),
    ]

    def propose(self, death: Death) -> Proposals:
        code = death.code
        module = code.module(code.last) if death.is_of_this_cell else None
        if module is None or not module.body:
            return
        held = {one.name: one for one in unused_objects(death, _SMALL * (death.memory.limit_bytes or 0))}
        before = (scope for scope in code.mentioning("load_state_dict") if scope.cell != code.last)
        for _, into in loads(code, before):
            if (assigned := into.argument("assign", 2)) is not None and unparse(assigned) != "False":
                continue  # the network has taken the very tensors
            match into.node.args[0]:
                case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)) if name in held:
                    copied = f"{quote(into.text)} copied the weights into the network"
                    why = f"{copied}; {quote(name)} still held its own {size(held[name].bytes)} of them."
                    edit = insert_before(module, module.body[0], f"del {name}  # the network has its own copy")
                    yield Proposal(edit, why, held[name].bytes)
