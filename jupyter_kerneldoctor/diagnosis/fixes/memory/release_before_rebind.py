import ast

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...code.notebook import Notebook
from ...code.origins import all_origins
from ...code.trees import walk
from ...edits import insert_before
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.torch import Kind, Tensors
from ...units import enumeration

_BUILD = "import torch\ndef build(n):\n    return torch.nn.Sequential(*[torch.nn.Linear(n, n) for _ in range(8)])\n"
_MAKE = "model = build(4096)\nopt = torch.optim.Adam(model.parameters())"
_TABLE = "import pandas as pd\ndef simulate(rows, seed=0): return pd.DataFrame(draw(rows, seed))\n"
_HOLDS = Namespace(-10.5, 1, (NamedObject("table", "pandas.DataFrame", 700 << 20, (1_700_000, 25)),))


class ReleaseBeforeRebind(Fix):
    """Let the old object go before the new one is made.

    What it does: `model = Net()` makes the new network first, and lets go of the old one when it is there. Until then
    both are in memory, and an optimizer that keeps the old network's parameters holds it even longer. The same goes for
    a table or an array. The edit sets the names to None before.

    When it is offered: Memory ran out in a cell that makes a network or an optimizer anew which an earlier cell, or an
    earlier run of the cell, had made; or an object that held half of what was in use.

    What it costs: The old object is gone also where making the new one fails.
    """

    id, title, causes = "release-before-rebind", "Release the old object before making the new one", OUT_OF_MEMORY
    edits_cure = True  # the names are still bound anew

    FIRES = [
        Case(_BUILD, _MAKE, _MAKE, before_mib=900, becomes="model = opt = None\n" + _MAKE, says=("model", "opt")),
        Case(
            _BUILD + "net = build(2)",
            "%%time\nnet = build(4096).to('cpu')",
            before_mib=900,
            becomes="%%time\nnet = None\nnet = build(4096).to('cpu')",
        ),
        Case(
            _TABLE + "table = simulate(1_700_000)",
            "table = simulate(1_700_000, seed=1)",
            before_mib=900,
            namespaces=[_HOLDS],
            becomes="table = None\ntable = simulate(1_700_000, seed=1)",
        ),
        Case(  # what a function gives back, that has a variable of the same name
            _BUILD + "def run(lr):\n    model = build(4096)\n    opt = torch.optim.Adam(model.parameters(), lr)\n"
            "    return model, opt, []",
            "model, opt, curve = run(0.1)",
            "model, opt, curve = run(0.2)",
            before_mib=900,
            becomes="model = opt = None\nmodel, opt, curve = run(0.2)",
        ),
        Case(
            _BUILD + "class Trainer:\n    def __init__(self, n): self.net = build(n)",
            "trainer = Trainer(9)",
            "trainer = Trainer(4096)",
            before_mib=900,
            becomes="trainer = None\ntrainer = Trainer(4096)",
        ),
    ]
    SILENT = [
        Case(_TABLE + "table = simulate(9)", "table = simulate(9)", before_mib=900),  # how large it was is not known
        Case(
            "def clean(): return table.dropna()\ntable = load()", "table = clean()", before_mib=900, namespaces=[_HOLDS]
        ),
        Case(_BUILD, _MAKE, before_mib=900),
        Case(_BUILD, _MAKE, _MAKE),  # next to nothing was there before
        Case(_BUILD + "net = build(2)", "net = torch.nn.Sequential(net, build(9))", before_mib=900),
        Case("x = 1", "x = 2", before_mib=900),
    ]

    def propose(self, death: Death) -> Proposals:
        code, tensors, memory = death.code, Tensors(death.code), death.memory
        cell = code.running_module
        if cell is None or not memory.grew_here:
            return
        before, limit = memory.before_bytes or 0, memory.limit_bytes or 0
        if before < _MUCH * limit:
            return
        made = {one: _made_anew(one, death, tensors) for one in cell.body if isinstance(one, ast.Assign)}
        found = [one for one, names in made.items() if names]
        if found:
            names = list(dict.fromkeys(name for one in found for name in made[one]))
            quoted = enumeration([quote(name) for name in names])
            why = (
                f"{quoted} of before stayed in memory while the new one was made: the cell began at {size(before)}. "
                "Whatever else refers to the old one keeps it, too, as a scheduler or another name."
            )
            edits = insert_before(cell, found[0], f"{' = '.join(names)} = None")
            yield Proposal(edits, why, min(before // 2, memory.missing_bytes or 0), leaves=0)


_DEEPEST, _MOST_ENTRIES = 2, 20  # dicts in dicts, and what they hold
_MUCH = 0.3  # of the limit
_HELD = 0.5  # of what was in use when the cell began


def _made_anew(statement: ast.Assign, death: Death, tensors: Tensors) -> list[str]:
    """Return the names that a statement binds to new networks or optimizers, and that stood for old ones before."""
    code, targets = death.code, statement.targets[0]
    scope = code.module(code.last)
    if scope is None or len(statement.targets) > 1 or not isinstance(statement.value, ast.Call):
        return []
    found = []
    for at, target in enumerate(targets.elts if isinstance(targets, ast.Tuple) else [targets]):
        if not isinstance(target, ast.Name):
            continue
        old = code.lookup(target.id, scope, target)
        given: list[tuple[ast.expr, Scope]] = [(statement.value, scope)]
        if isinstance(targets, ast.Tuple):
            results = tensors.origins.returned(statement.value, scope)
            given = [
                (one.elts[at], where) for one, where in results if isinstance(one, ast.Tuple) and at < len(one.elts)
            ]
        is_new = bool(given) and all(_is_large(*one, tensors) for one in given)
        held = None if is_new else death.values.of(target, scope)
        before = death.memory.before_bytes or 0
        is_new |= held is not None and held.recorded and (held.bytes or 0) >= _HELD * before
        is_object = old is not None and not (old.definition or old.imported or isinstance(old.value, ast.Constant))
        if is_new and is_object and not _is_read(target.id, statement, code):
            found.append(target.id)
    return found


def _is_read(name: str, statement: ast.Assign, code: Notebook) -> bool:
    """Whether the old object is needed to make the new one."""
    functions = (one for one in code.running.functions if name not in one.bindings)
    used = [*walk(statement.value), *(one for function in functions for one in function.names)]
    return any(isinstance(one, ast.Name) and one.id == name for one in used)


def _is_large(node: ast.expr, scope: Scope, tensors: Tensors, depth: int = 0) -> bool:
    """Whether an expression gives a network, an optimizer, or an object of the user's that has one of them."""
    for one, where in all_origins(node, scope, tensors.code):
        values = one.values if isinstance(one, ast.Dict) and depth < _DEEPEST else ()
        if any(_is_large(value, where, tensors, depth + 1) for value in values[:_MOST_ENTRIES]):
            return True
        if not isinstance(one, ast.Call):
            continue
        if tensors.kind(one, where) is Kind.MODULE:
            return True
        if (tensors.code.qualified(one.func, where) or "").startswith("torch.optim."):
            return True
        made = tensors.code.definition(one.func, where)
        if made is not None and isinstance(made.definition, ast.ClassDef):
            methods = [each for each in tensors.code.scopes(made.cell) if each.owner == made.definition.name]
            return any(_sets_network(method, tensors) for method in methods)
    return False


def _sets_network(method: Scope, tensors: Tensors) -> bool:
    """Whether a method makes a network, or an optimizer, an attribute of its object."""
    for node in method.nodes:
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner))], value=value) if owner == "self":
                full = tensors.code.qualified(value.func, method) if isinstance(value, ast.Call) else None
                if tensors.kind(value, method) is Kind.MODULE or (full or "").startswith("torch.optim."):
                    return True
    return False
