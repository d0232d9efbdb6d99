from ...edits import set_argument
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.gradients import goes_backward
from ...frameworks.torch import Kind, Tensors
from ...place import grew_in

_MODEL = "import torch\nfrom transformers import AutoModelForCausalLM\n"
_BF16 = "torch.bfloat16"


class LoadDtype(Fix):
    """Make or load the weights in bfloat16, which takes half the memory.

    What it does: A weight takes four bytes in float32, and two in bfloat16. `dtype=torch.bfloat16` makes or loads them
    so from the start; `.half()` or `.to(...)` afterwards is too late, as all of them are in memory in float32 before.

    When it is offered: Memory ran out while `from_pretrained` loaded weights in float32, or while layers were made.

    What it costs: Precision: three significant digits. It does for inference; training usually keeps its weights in
    float32.
    """

    id, title, causes = "load-dtype", "Load the weights in bfloat16: half the memory", OUT_OF_MEMORY

    FIRES = [
        Case(
            _MODEL,
            "model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)",
            says=("dtype=torch.bfloat16",),
        ),
        Case(
            "import torch\nfrom torch import nn",
            "layers = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(60)])",
            says=("set_default_dtype", "4.0 GiB"),
            before_mib=100,
            limit_mib=4196,
        ),
    ]
    SILENT = [
        Case(_MODEL, "model = AutoModelForCausalLM.from_pretrained(name)"),  # version 5 takes the type of the file
        Case(_MODEL, "model = AutoModelForCausalLM.from_pretrained(name, dtype='auto')"),
        Case("from torch import nn", "layer = nn.Linear(2, 2)\nx = [0] * 10**9", line=2),
        Case("from torch import nn\ndef fit(net): net(x).mean().backward()", "fit(nn.Linear(2, 2))"),
        Case("from torch import nn", "for x in xs:\n    y = nn.Linear(2, 2)(x)\n    y.mean().backward()"),
    ]

    def propose(self, death: Death) -> Proposals:
        code, missing = death.code, death.memory.missing_bytes or 0
        for call in code.running.calls("transformers.*") if death.memory.grew_here else ():
            given = call.argument("dtype", "torch_dtype")
            is_wide = given is not None and code.qualified(given, call.scope) in ("torch.float32", "torch.float")
            if call.name.endswith(".from_pretrained") and is_wide and code.is_at_line(call.node, call.scope):
                word = "dtype" if call.argument("dtype") is not None else "torch_dtype"
                why = f"{quote(call.text)} loads four bytes for each weight; memory grew by {size(missing)}."
                yield Proposal(set_argument(call, word, _BF16), why, missing // 2)
                return
        tensors = Tensors(code)
        for call in code.running.calls("torch.nn.*") if death.memory.grew_here and tensors.in_use else ():
            is_made = tensors.kind(call.node, call.scope) is Kind.MODULE and not call.name.endswith("Loss")
            is_alone = len(call.scope.body) == 1 and call.scope.is_cell
            if is_made and (is_alone or grew_in(death, call.node, call.scope)) and _is_of_makers(death):
                why = (
                    f"{quote(call.text)} makes its weights in float32, four bytes each. They took {size(missing)} at "
                    f"the least before memory ran out, and half of that in bfloat16: {size(missing // 2)} at the least."
                )
                line = "torch.set_default_dtype(torch.bfloat16)  # before the network is made"
                yield Proposal((), why, missing // 2, snippet=line)
                return


def _is_of_makers(death: Death) -> bool:
    """Whether nothing that ran can have taken memory but the making of layers: no loop, no pass through a network."""
    tensors, running = Tensors(death.code), death.code.running
    calls = ((one, scope) for scope in running if scope.function != "forward" for one in scope.calls)
    return not goes_backward(death.code) and all(tensors.kind(*one) is not Kind.GRAPH for one in calls)
