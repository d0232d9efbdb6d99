"""The fix `batched-inference`."""

import ast
from collections.abc import Iterator

from ..case import Case
from ..code.notebook import Scope
from ..death import Death
from ..edits import import_as, replace
from ..family import Family
from ..fix import Fix, Proposal
from ..frameworks.evaluation import whole_calls
from ..frameworks.gradients import without_gradients
from ..place import grew_in
from ..sizing import choose
from ..units import quote, size

_NET = "import torch\nnet = torch.nn.Linear(9, 9)\nX = torch.rand(10_000, 9)\n"
_USUAL, _LARGEST = 64, 256


class BatchedInference(Fix):
    """Take the data through the network some rows at a time.

    What it does
    ------------
    What a layer gives for all rows is in memory at once, often many times the size of the data. The edit takes the rows
    in parts and puts the results together; where gradients are on, it turns them off.

    When it is offered
    ------------------
    Memory ran out in one call of a network outside of loops, on a tensor, from which no backward pass starts.

    What it costs
    -------------
    Nothing but some calls more, if the network is in `eval()` mode and takes rows one by one. With BatchNorm in
    training mode each part has statistics of its own. The results of all rows are there twice while they are put
    together: where they are what is large, as images are, keep less of each part.
    """

    id, title, causes = "batched-inference", "Take the data through the network in batches", (Family.MEMORY, "gpu-oom")

    FIRES = [
        Case(
            _NET,
            "with torch.no_grad():\n    y = net(X)",
            becomes="with torch.no_grad():\n    y = torch.cat([net(part) for part in X.split(256)])",
            says=("10000 rows", "X"),
        ),
        Case(
            _NET + "@torch.no_grad()\ndef predict(model, rows):\n    return model(rows.to('cpu')).argmax(1)",
            "labels = predict(net, load())",
            becomes={
                1: _NET + "@torch.no_grad()\ndef predict(model, rows):\n"
                "    return torch.cat([model(part.to('cpu')) for part in rows.split(64)]).argmax(1)"
            },
        ),
        Case(
            _NET,
            "scores = net(X)",
            becomes="with torch.no_grad():\n    scores = torch.cat([net(part) for part in X.split(256)])",
        ),
    ]
    SILENT = [
        Case(_NET, "with torch.no_grad():\n    for x in X.split(64): y = net(x)"),
        Case(_NET, "net(X).mean().backward()"),
        Case(_NET, "with torch.no_grad():\n    y = net(X)\nbig = torch.ones(10**10)", line=3),
        Case(_NET + "def score(x): return net(x)", "for x in X.split(64): score(x)"),
        Case(_NET, "y = net(X).logits"),
        Case("import torch\ndef net(x): return x", "y = net(torch.rand(9, 9))"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Put the call into a list of calls on parts."""
        if not death.memory.grew_here:
            return
        code = death.code
        for call, data, scope, records in whole_calls(code):
            if not code.is_at_line(call, scope) or grew_in(death, scope.tree.statements[call], scope) is False:
                continue
            rows = _rows(death, data, scope)
            choice = None if rows is None else choose(death, rows, from_runs=False)
            if rows is not None and choice is None:
                continue
            part = _USUAL if choice is None else min(choice.value, _LARGEST)
            text, given = scope.segment(call), scope.segment(data)
            torch, edits = import_as(scope, code, "torch", "torch")
            inner = text.replace(given, "part", 1) if given not in scope.segment(call.func) else None
            if inner is None:
                continue
            edits += replace(scope, call, f"{torch}.cat([{inner} for part in {given}.split({part})])")
            if records:
                edits += without_gradients(scope.tree.statements[call], scope, code)
            many = "all rows" if rows is None else f"all {rows} rows"
            why = (
                f"{quote(text)} takes {many} of {quote(given)} at once: memory grew by "
                f"{size(death.memory.missing_bytes or 0)}. The edit takes {part} rows at a time. "
                "All results are kept, for a moment twice; where these are what is large, keep less of each part."
            )
            yield Proposal(edits, why, death.memory.missing_bytes, f"{self.title} of {part} rows")


def _rows(death: Death, data: ast.expr, scope: Scope) -> int | None:
    known = death.values.of(data, scope)
    return known.shape[0] if known is not None and known.shape else None
