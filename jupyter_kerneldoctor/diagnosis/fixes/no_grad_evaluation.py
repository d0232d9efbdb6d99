"""The fix `no-grad-evaluation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..case import Case
from ..family import Family
from ..fix import Fix, Proposal
from ..frameworks.gradients import records_graph, without_gradients, works_out_gradients
from ..frameworks.torch import Kind, Tensors
from ..units import quote, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..death import Death

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\n"


class NoGradEvaluation(Fix):
    """Evaluate without gradients.

    What it does
    ------------
    PyTorch keeps the intermediate results of every call of a network, so that gradients can be computed. Evaluation
    alone never asks for them. Under `torch.no_grad()` nothing is kept: `model.eval()` alone does not do that.

    When it is offered
    ------------------
    Memory ran out in a cell that calls a network, and nothing that ran computes gradients.

    What it costs
    -------------
    No gradients can be computed from the results. Their values are the same.
    """

    id, title, causes = "no-grad-evaluation", "Evaluate without gradients: torch.no_grad()", (Family.MEMORY,)

    FIRES = [
        Case(
            _NET + "outputs = []",
            "net.eval()\nfor x in batches:\n    outputs.append(net(x))\nprint(len(outputs))",
            becomes="net.eval()\nwith torch.no_grad():\n    for x in batches:\n        outputs.append(net(x))\n"
            "print(len(outputs))",
            says=("1.8 GiB", "net(x)"),
        ),
        Case(
            _NET + "def score(rows):\n\treturn net(rows)\n",
            "%time scores = score(table)",
            becomes={1: _NET + "def score(rows):\n\twith torch.no_grad():\n\t\treturn net(rows)\n"},
        ),
    ]
    SILENT = [
        Case(_NET, "for x in batches:\n    net(x).sum().backward()"),
        Case(_NET, "net(x.requires_grad_())[0].backward"),
        Case(_NET, "with torch.no_grad():\n    y = net(x)"),
        Case(_NET + "@torch.inference_mode()\ndef score(x): return net(x)", "score(x)"),
        Case(_NET, "y = net(x)\nbig = torch.ones(10**10)", line=2),
        Case(_NET, "for x in batches: y = net(x)\nbig = torch.ones(10**10)", growth="jump"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Put the outermost loop that calls the network, or the statement, under `torch.no_grad()`."""
        code, tensors, memory = death.code, Tensors(death.code), death.memory
        if not (tensors.in_use and memory.grew_here) or works_out_gradients(code):
            return
        for scope in code.running:
            for call in scope.calls:
                at_it = code.is_at_line(call, scope) and records_graph(call, scope, code)
                if at_it and tensors.kind(call.func, scope) is Kind.MODULE:
                    loops = scope.loops_around(call)
                    outermost = (scope.tree.statements[call], *loops)[-1]
                    edits = without_gradients(outermost, scope, code)
                    why = (
                        f"{quote(scope.segment(call))} keeps the network's intermediate results for gradients that "
                        f"nothing here computes. Memory grew by {size(memory.missing_bytes or 0)}."
                    )
                    yield Proposal(edits, why, memory.ramp_bytes if loops else memory.missing_bytes)
