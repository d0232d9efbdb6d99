import ast
import re

from ...code.calls import last_name
from ...edits import insert_after
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote
from ...frameworks.gradients import is_of_lightning
from ...frameworks.kept import outliving
from ...frameworks.small_values import is_small
from ...frameworks.torch import Tensors
from ...units import share_of

_ENDS = {
    "training_step": "on_train_epoch_end",
    "validation_step": "on_validation_epoch_end",
    "test_step": "on_test_epoch_end",
}
_LIT = (
    "import torch, lightning as L\nclass Lit(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n"
    "        self.net, self.seen = torch.nn.Linear(9, 9), []\n    def validation_step(self, batch, i):\n"
    "        self.seen.append(self.net(batch))\n    def on_validation_epoch_end(self):\n"
    "        self.log('mean', torch.cat(self.seen).mean())"
)
_END = "def {}(self):  # a method of the LightningModule: it runs when the epoch is over\n    {}.clear()"
_REST = "\nnet = Lit()"
_FIT = "lit = Lit()\nL.Trainer(max_epochs={}).fit(lit, train, val)"


class ClearStepOutputs(Fix):
    """Empty what the steps of an epoch were kept in, when the epoch is over.

    What it does: A `LightningModule` that keeps the outputs of each step for the end of the epoch keeps those of
    all epochs, unless it empties the list. The edit does that in the last line of the epoch's end.

    When it is offered: Memory ran out in a training with Lightning, a step puts more than numbers into an
    attribute, a method for the end of the epoch is there, and nothing ever empties the attribute.

    What it costs: Nothing, where only the newest epoch is wanted. What the list showed of earlier epochs was of all
    epochs together.
    """

    id, title, causes = "clear-step-outputs", "Empty the list of outputs after each epoch", OUT_OF_MEMORY

    FIRES = [
        Case(
            f"{_LIT}{_REST}",
            _FIT.format(20),
            becomes={1: f"{_LIT}\n        self.seen.clear(){_REST}"},
            says=("self.seen",),
        ),
        Case(  # nothing runs at the end of an epoch yet
            _LIT.split("    def on_val", maxsplit=1)[0] + _REST,
            _FIT.format(20),
            says=("def on_validation_epoch_end(self):", "    self.seen.clear()"),
        ),
        *(  # it is read behind the end of the validation
            Case(f"{_LIT}{more}{_REST}", f"{_FIT.format(20)}{then}", line=2, says=("Other code reads it",))
            for more, then in (
                ("", "\nplot(torch.cat(lit.seen))"),
                ("\n    def on_train_epoch_end(self):\n        self.log('std', torch.cat(self.seen).std())", ""),
            )
        ),
    ]
    SILENT = [
        Case(_LIT, _FIT.format(1)),
        Case(f"{_LIT}\n        self.seen.clear()", _FIT.format(20)),
        Case(f"{_LIT}\n        self.seen = []", _FIT.format(20)),
        Case(_LIT.replace("self.net(batch)", "self.net(batch).mean().item()"), _FIT.format(20)),
        Case(_LIT.replace("L.LightningModule", "torch.nn.Module"), _FIT.format(20)),
    ]

    def propose(self, death: Death) -> Proposals:
        code, memory, tensors = death.code, death.memory, Tensors(death.code)
        if not memory.grew_here or _has_one_epoch(death):
            return
        for scope in code.running.functions:
            end = _ENDS.get(scope.function)
            if end is None or not is_of_lightning(scope, code):
                continue
            methods = [one for one in code.scopes(scope.cell) if one.owner == scope.owner]
            ends = [one for one in methods if one.function == end]
            kept = {name for value, name in outliving(scope) if not is_small(value, scope, tensors)}
            for name in sorted(kept) if not ends else ():
                if not _is_emptied(name, methods) and scope.function != "training_step":
                    yield Proposal((), _why(scope, name, death), memory.ramp_bytes, snippet=_END.format(end, name))
            for name in sorted(kept) if ends else ():
                last = ends[0].node.body[-1] if isinstance(ends[0].node, ast.FunctionDef) else None
                if last is None or isinstance(last, ast.Return) or _is_emptied(name, methods):
                    continue
                word = name.rpartition(".")[2]
                others = (one for one in code.scopes_mentioning(word) if one not in (scope, ends[0]))
                is_read = any(
                    last_name(use) == word for one in others if one.function != "__init__" for use in one.names
                )
                why = _why(scope, name, death)
                edits, snippet = insert_after(ends[0], last, f"{name}.clear()"), None
                if is_read:
                    why += " Other code reads it: empty it behind the last that does."
                    edits, snippet = (), f"{name}.clear()  # when nothing reads it any more, or on_train_epoch_start"
                yield Proposal(edits, why, memory.ramp_bytes, snippet=snippet)


def _why(scope: Scope, name: str, death: Death) -> str:
    share = share_of(death.memory.ramp_bytes, death.memory.missing_bytes or 0)
    return (
        f"{quote(scope.function)} puts something into {quote(name)} in each step, and nothing empties it: "
        f"that accounts for {share} that the cell took, and grows with the epochs, not with the batch."
    )


def _is_emptied(name: str, methods: list[Scope]) -> bool:
    emptied = re.compile(rf"{re.escape(name)}(\.clear\(|\s*(:.{{0,200}}?)?=[^=])|del {re.escape(name)}")
    others = (one for one in methods if one.function != "__init__")
    return any(emptied.match(one.segment(node)) for one in others for node in one.nodes if isinstance(node, ast.stmt))


def _has_one_epoch(death: Death) -> bool:
    """Whether a trainer is told to run one epoch only."""
    for call in death.code.calls("lightning.*", "pytorch_lightning.*"):
        given = call.argument("max_epochs")
        if given is not None and death.values.number(given, call.scope) == 1:
            return True
    return False
