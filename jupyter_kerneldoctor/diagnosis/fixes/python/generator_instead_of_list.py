import ast

from ...calls import calls_at
from ...code.attributes import Origin
from ...code.origins import Origins
from ...code.trees import waits
from ...edits import replace
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.loaders import LOADERS

_CONSUMERS = tuple(f"builtins.{name}" for name in ("sum", "min", "max", "any", "all", "set", "dict", "frozenset"))
_LOADER = "import torch\nloader = torch.utils.data.DataLoader(data, 32)\n"
_MOST_STEPS = 4


class GeneratorInsteadOfList(Fix):
    """Work out one value after the other, not a list of all.

    What it does: `sum([f(x) for x in xs])` makes the list of all values first. Without the brackets each value is used
    as soon as it is there. `list(loader)` of a PyTorch `DataLoader` holds all batches; the loader itself makes each as
    it is needed.

    When it is offered: Memory ran out on a line with such a list that `sum`, `min`, `max` or the like alone uses, or on
    the list of a loader. The edit leaves a list of batches alone that anything but loops and `len()` uses.

    What it costs: `any` and `all` stop at the first value that decides; the others are not worked out then. A loader
    makes its batches anew for each epoch: with `shuffle=True` and random changes of the samples they differ from epoch
    to epoch.
    """

    id, title, causes = "generator-instead-of-list", "Leave out the brackets: one value at a time", (Family.MEMORY,)

    FIRES = [
        Case("total = sum([score(i) for i in range(10**9)])", becomes="total = sum(score(i) for i in range(10**9))"),
        Case(
            "best = max([f(x) for x in xs if x], default=0)", becomes="best = max((f(x) for x in xs if x), default=0)"
        ),
        Case(
            _LOADER + "kept = list(loader)\nprint(len(kept))",
            becomes=_LOADER + "kept = loader\nprint(len(kept))",
            says=("anew for each epoch",),
        ),
        Case(_LOADER, "for x in list(loader): print(x)", becomes="for x in loader: print(x)"),
        Case(_LOADER + "kept = list(loader)\nfirst = kept[0]", says=("for batch in loader:",)),
    ]
    SILENT = [
        Case("kept = list(loader)"),
        Case(_LOADER + "kept = list(loader.dataset)"),
        Case(_LOADER + "kept = list(loader)\nbig = torch.ones(10**10)", line=4),
        Case("import numpy as np", "total = np.sum([f(i) for i in xs])"),
        Case("total = sum(f(i) for i in xs)"),
        Case("total = sum([await f(x) for x in xs])"),  # `sum` takes no asynchronous generator
        Case("total = sum([f(i) for i in xs])\nbig = [0] * 10**10", line=2),
        Case("def sum(x): return x[0]", "total = sum([f(i) for i in xs])"),
    ]

    def propose(self, death: Death) -> Proposals:
        for call in calls_at(death, "builtins.list"):
            yield from _of_loader(call, death)
        for call in calls_at(death, *_CONSUMERS):
            match call.node.args:
                case [ast.ListComp() as made] if not waits(made):
                    inner = call.scope.segment(made)[1:-1]
                    alone = not call.node.keywords
                    yield Proposal(
                        replace(call.scope, made, inner if alone else f"({inner})"),
                        f"{quote(call.scope.segment(made))} holds all values at once. Without the brackets each is "
                        "used as soon as it is there.",
                        death.memory.missing_bytes,
                        applicability="safe" if call.name.rpartition(".")[2] in ("sum", "min", "max") else "suggested",
                    )


def _of_loader(call: Call, death: Death) -> Proposals:
    """Yield the loader itself in place of the list of its batches."""
    given, statement = call.argument(0), call.scope.statement_of(call.node)
    found = [] if given is None else [Origin(given, call.scope)]
    for _ in range(_MOST_STEPS):
        if found and not isinstance(found[0].node, ast.Call):
            found = Origins(death.code).of(*found[0])
    names = [death.code.qualified(one.node.func, one.scope) for one in found if isinstance(one.node, ast.Call)]
    if given is None or not any(name in LOADERS for name in names):
        return
    text = call.scope.segment(given)
    is_plain = isinstance(statement, ast.Assign) and statement.value is call.node
    target = statement.targets[0] if is_plain and isinstance(statement, ast.Assign) else None
    is_run_over = (isinstance(statement, ast.For) and statement.iter is call.node) or _is_only_run_over(target, death)
    edits = replace(call.scope, call.node, text) if is_run_over else ()
    yield Proposal(
        edits,
        f"{quote(call.scope.segment(call.node))} holds all batches at once. {quote(text)} makes each as a loop "
        "comes to it, and all of them anew for each epoch.",
        death.memory.missing_bytes,
        "Take the batches from the loader: no list of all",
        None if edits else f"for batch in {text}:\n    …",
    )


def _is_only_run_over(target: ast.expr | None, death: Death) -> bool:
    """Whether a list is used in loops and `len()` alone, in all cells."""
    if not isinstance(target, ast.Name):
        return False
    scopes = list(death.code.scopes_mentioning(target.id))
    fine: set[int] = set()
    for node in (one for scope in scopes for one in scope.nodes):
        match node:
            case ast.For(iter=used) | ast.comprehension(iter=used):
                fine.add(id(used))
            case ast.Call(func=ast.Name(id="len" | "enumerate" | "tqdm" | "trange"), args=[used, *_]):
                fine.add(id(used))
    uses = [one for scope in scopes for one in scope.named(target.id)]
    return not death.code.has_words("IterableDataset") and all(one is target or id(one) in fine for one in uses)
