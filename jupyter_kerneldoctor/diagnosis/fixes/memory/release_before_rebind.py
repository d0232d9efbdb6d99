import ast
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import NamedObject, Namespace

from ...edits import insert_before
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal
from ...frameworks.torch import Kind, Tensors
from ...units import enumeration, quote, size

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

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Set the names to None before the first of them is bound anew."""
        code, tensors, memory = death.code, Tensors(death.code), death.memory
        cell = code.module(code.last) if code.last >= 0 else None
        if cell is None or not memory.grew_here:
            return
        before, limit = memory.before_bytes or 0, memory.limit_bytes or 0
        if before < _MUCH * limit:
            return
        found = [one for one in cell.body if isinstance(one, ast.Assign) and _makes_anew(one, death, tensors)]
        if found:
            names = [one.targets[0].id for one in found if isinstance(one.targets[0], ast.Name)]
            quoted = enumeration([quote(name) for name in names])
            why = (
                f"{quoted} of before stayed in memory while the new one was made: the cell began at {size(before)}. "
                "Whatever else refers to the old one keeps it, too, as a scheduler or another name."
            )
            edits = insert_before(cell, found[0], f"{' = '.join(names)} = None")
            yield Proposal(edits, why, min(before // 2, memory.missing_bytes or 0))


_MUCH = 0.3  # of the limit
_HELD = 0.5  # of what was in use when the cell began


def _makes_anew(statement: ast.Assign, death: Death, tensors: Tensors) -> bool:
    """Whether a statement binds a name to a new network or optimizer, that stood for an old one before."""
    code = death.code
    scope = code.module(code.last)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Call() as made) if scope is not None:
            used = [*ast.walk(made), *(one for function in code.running.functions for one in function.names)]
            is_read = any(isinstance(one, ast.Name) and one.id == name for one in used)
            old = code.lookup(name, scope, target)
            full = code.qualified(made.func, scope) or ""
            is_new = tensors.kind(made, scope) is Kind.MODULE or full.startswith("torch.optim.")
            held = None if is_new else death.values.of(target, scope)
            is_new |= (
                held is not None and held.recorded and (held.bytes or 0) >= _HELD * (death.memory.before_bytes or 0)
            )
            return is_new and not is_read and old is not None and old.value is not None
    return False
