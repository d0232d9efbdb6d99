import ast

from ...calls import network_call_at
from ...edits import replace
from ...fix import OUT_OF_MEMORY, Call, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.gradients import hides_gradients, sources_of_gradients
from ...frameworks.kept_graphs import stores_of_graphs
from ...frameworks.loaders import LOADERS, feeds_training, loaders_around
from ...sizing import choose

_LARGEST, _USUAL = 256, 32
_NET = "import torch\nnet = torch.nn.Linear(9, 9)\n"
_LOADER = _NET + "val = torch.utils.data.DataLoader(val_set, batch_size={})\n"
_SCORE = "@torch.no_grad()\ndef score(loader):\n    for x, y in loader:\n        hits.append(net(x) == y)"


class EvaluationBatchSize(Fix):
    """Use smaller batches for the evaluation.

    What it does: What the layers give for all rows of a batch is in memory at once. A loader for validation that hands
    out the whole set, or many times what the training takes, needs more memory than the training.

    When it is offered: Memory ran out in the call of a network from which no backward pass starts, in a loop over a
    PyTorch `DataLoader` that feeds no training.

    What it costs: Some calls more. A mean of the batches' means counts a shorter last batch as much as the others.
    """

    id, title, causes = "evaluation-batch-size", "Use smaller batches for the evaluation", OUT_OF_MEMORY
    edits_cure = True  # a smaller number is still a number

    FIRES = [
        Case(
            _LOADER.format("len(val_set)") + _SCORE,
            "score(val)",
            growth="jump",
            becomes={1: _LOADER.format("32") + _SCORE},
            says=("32 in place of len(val_set)",),
        ),
        Case(
            _LOADER.format(2048),
            "net.eval()\nwith torch.no_grad():\n    for i, (x, y) in enumerate(val):\n        out = net(x)",
            growth="jump",
            becomes={1: _LOADER.format("128")},
        ),
    ]
    SILENT = [
        Case(_LOADER.format(2048) + _SCORE, "score(val)"),  # it grows from batch to batch
        Case(_LOADER.format(2048), "for x, y in val:\n    net(x).mean().backward()", growth="jump"),
        Case(
            _LOADER.format(2048) + _SCORE, "for x, y in val:\n    net(x).mean().backward()\nscore(val)", growth="jump"
        ),
        Case(_LOADER.format(1) + _SCORE, "score(val)", growth="jump"),
        Case(  # the graphs of all batches are kept
            _LOADER.format(2048),
            "seen = torch.tensor([])\nfor x, y in val:\n    seen = torch.cat((seen, net(x)))",
            growth="jump",
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        code, growth = death.code, death.growth
        found = None if hides_gradients(code) or not death.memory.grew_here else network_call_at(death)
        if found is None or found[0] in sources_of_gradients(code) or growth.is_steady or growth.goes_on:
            return
        if stores_of_graphs(code):
            return  # what the loop keeps fills the memory, however small the batches are
        made = next((one for one in loaders_around(*found, code)), None)
        if made is None or not isinstance(made.node, ast.Call) or feeds_training(made, code):
            return
        given = Call(made.node, made.scope, LOADERS[0]).argument("batch_size", 1)
        rows = None if given is None else death.values.number(given, made.scope)
        choice = None if rows is None else choose(death, rows, from_runs=False)
        text = "" if given is None else made.scope.segment(given)
        if given is None or (choice is None and (rows is not None or not text.startswith("len("))):
            return
        smaller = _USUAL if choice is None else min(choice.value, _LARGEST)
        where = code.cell_name(made.scope.cell)
        why = (
            f"{quote(found[1].segment(found[0]))} takes a whole batch of the loader in {where} at once: memory grew by "
            f"{size(death.memory.missing_bytes or 0)}. Try {smaller} rows; if it still dies, then {smaller // 2}."
        )
        title = f"{self.title}: {smaller} in place of {text}"
        yield Proposal(replace(made.scope, given, str(smaller)), why, death.memory.missing_bytes, title)
