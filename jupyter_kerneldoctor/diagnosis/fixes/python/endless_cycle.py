import ast

from ...code.calls import Call
from ...code.origins import all_origins
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.asked_again import endless_rounds

_LEARN = (
    "import itertools\n\nclass Reader:\n    def batches(self):\n        for name in self.names:\n"
    "            yield load(name)\n\ndef learn(reader):\n    stream = {}\n"
    "    for step in range(9000):\n        fit(next(stream))"
)
_LOADER = "import itertools\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data)"
_STEPS = "for step, x in zip(range(9000), {}):\n    fit(x)"
_ROUNDS = "while True:  # each round begins anew, and keeps nothing\n    for item in {given}:\n        ..."


class EndlessCycle(Fix):
    """Begin each round anew: `itertools.cycle` keeps every item of the first.

    What it does: `itertools.cycle(xs)` keeps all that `xs` gave in its first round, and repeats that. A loop that asks
    for `xs` again in each round keeps nothing.

    When it is offered: Memory grew again and again while such a cycle was asked for its items. It is an edit where what
    is given can be asked for again: a call of a function of yours that yields, or a PyTorch `DataLoader`.

    What it costs: Each round reads its items again, which takes time. A loader shuffles anew in each round.
    """

    id, title, causes = "endless-cycle", "Begin each round anew: itertools.cycle keeps every item", (Family.MEMORY,)

    FIRES = [
        Case(
            _LEARN.format("itertools.cycle(reader.batches())"),
            "learn(Reader())",
            becomes={1: _LEARN.format("(item for _ in itertools.count() for item in reader.batches())")},
        ),
        Case(
            _LOADER,
            _STEPS.format("itertools.cycle(loader)"),
            becomes=_STEPS.format("(item for _ in itertools.count() for item in loader)"),
        ),
        Case("import itertools", "for x in itertools.cycle(read()):\n    fit(x)", says=("for item in read():",)),
        Case(  # the second time the file is at its end
            "import itertools\ndef parse(f):\n    for line in f: yield line.split()\nf = open('a')",
            "for x in itertools.cycle(parse(f)):\n    fit(x)",
            says=("for item in parse(f):",),
        ),
        Case(  # as an edit it would go through itself
            "import itertools\nfrom torch.utils.data import DataLoader\nrows = DataLoader(data)",
            "rows = itertools.cycle(rows)\nfor step in range(9000):\n    fit(next(rows))",
            says=("for item in rows:",),
        ),
    ]
    SILENT = [
        Case("import itertools", "for colour in itertools.cycle(['red', 'green']):\n    load()"),
        Case("import itertools", "for k in itertools.cycle(range(9)):\n    load()"),
        Case("import itertools\nrows = itertools.cycle(read())", "big = [0] * 10**10"),
        Case("import itertools", "x = load()\nfor y in itertools.cycle(read()):\n    f(y)", line=1),
    ]

    def propose(self, death: Death) -> Proposals:
        found = [*death.code.running.calls("itertools.cycle")] if death.is_of_this_cell else []
        for call in found[:1]:
            if len(call.node.args) != 1 or not _is_used(call, death) or _is_small(call, death):
                continue
            given = call.scope.segment(call.node.args[0])
            edits = endless_rounds(call, given, death.code)
            why = f"{quote(call.text)} keeps each item that it gave, to begin again with the first. "
            why += f"{quote(given)} can be asked for them again instead."
            snippet = None if edits else _ROUNDS.format(given=given)
            yield Proposal(edits, why, death.memory.missing_bytes, snippet=snippet)


def _is_used(call: Call, death: Death) -> bool:
    """Whether the statement that was running, or grew, stands in the function or loop that uses the cycle."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            uses = call.scope.named(name)
            statements = [one for use in uses if (one := call.scope.statement_of(use)) is not None]
        case statement:
            statements = [] if statement is None else [statement]
    around = [loop for one in statements for loop in (*call.scope.loops_around(one), one)]
    return any(isinstance(one, ast.For | ast.While) and _ran(one, call, death) for one in around)


def _ran(loop: ast.stmt, call: Call, death: Death) -> bool:
    inside = [one for one in call.scope.inside(loop) if isinstance(one, ast.stmt)]
    return any(death.was_running(one, call.scope) for one in (loop, *inside))


def _is_small(call: Call, death: Death) -> bool:
    """Whether what is gone through is written down, a range, or known to take little."""
    given, small = call.node.args[0], (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant)
    for one, where in all_origins(given, call.scope, death.code):
        if isinstance(one, small):
            return True
        if isinstance(one, ast.Call) and death.code.qualified(one.func, where) == "builtins.range":
            return True
    value = death.values.of(given, call.scope)
    return value is not None and (value.bytes is not None or value.type in ("list", "tuple"))
