import ast

from ...edits import insert_after
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.yielded_lists import yielded_lists
from ...units import enumeration

_GEN = (
    "import numpy as np\ndef batches(n):\n    xs, ys = [], []\n    while True:\n        for path, label in rows:\n"
    "            xs.append(read(path))\n            ys.append(label)\n            if len(xs) % n == 0:\n"
    "                yield np.array(xs), np.array(ys)"
)
_FIT = "model.fit(batches(32), steps_per_epoch=99, epochs=9)"


class EmptyAfterYield(Fix):
    """Empty the lists of a generator when they were handed out as a batch.

    What it does: A generator that collects rows in lists and yields a batch when there are enough of them has to begin
    with empty lists again. Where it does not, each batch holds all rows that came before, and grows. The edit empties
    them behind the `yield`.

    When it is offered: Memory ran out while a generator ran that yields lists under a condition, adds to them in the
    same loop, and never empties them there.

    What it costs: Each batch has rows of its own then. What was learned before was learned from all rows so far.
    """

    id, title, causes = "empty-after-yield", "Begin with empty lists after each yield", (Family.MEMORY,)

    FIRES = [
        Case(
            _GEN,
            _FIT,
            becomes={1: _GEN + "\n                xs, ys = [], []"},
            says=("`batches` never empties `xs` and `ys`", "all rows that came before"),
        ),
    ]
    SILENT = [
        Case(_GEN + "\n                xs, ys = [], []", _FIT),
        Case(_GEN + "\n                xs.clear()\n                ys.clear()", _FIT),
        Case(_GEN + "\n                del xs[:], ys[:]", _FIT),
        Case(_GEN.replace("np.array(xs), np.array(ys)", "np.array(xs[-n:]), np.array(ys[-n:])"), _FIT),  # the newest
        Case(_GEN.replace("if len(xs) % n == 0", "if True"), _FIT),  # each beginning of the rows, as it may be meant
        Case(_GEN.replace("xs.append(read(path))", "xs.append(read(path) + len(seen(xs)))"), _FIT),
        Case(_GEN, _FIT, cause="segfault"),
    ]

    def propose(self, death: Death) -> Proposals:
        container = death.growth.container
        for scope in death.code.running.functions if death.memory.grew_here else ():
            for node in (one for one in scope.nodes if isinstance(one, ast.Yield)):
                names, statement = yielded_lists(node, scope), scope.statement_of(node)
                if not names or statement is None:
                    continue
                if container is not None and container.name.rpartition(".")[2] not in names:
                    continue
                written = enumeration([quote(name) for name in names])
                why = (
                    f"{quote(scope.function)} never empties {written}: each batch holds all rows that came before. "
                    f"That accounts for {size(death.memory.ramp_bytes)}. Each batch then has rows of its own."
                )
                line = f"{', '.join(names)} = {', '.join('[]' for _ in names)}"
                yield Proposal(insert_after(scope, statement, line), why, death.memory.ramp_bytes)
                return
