import ast
from collections.abc import Iterator

from ...code.calls import last_name
from ...code.notebook import Call
from ...edits import import_as, insert_after
from ...fix import Case, Death, Family, Fix, Proposal
from ...units import quote, size

_MAKES = ("matplotlib.pyplot.figure", "matplotlib.pyplot.subplots", "matplotlib.pyplot.subplot_mosaic")
_CLOSES = frozenset({"close", "clf", "clear", "cla"})
_PLT = "import gc\nimport matplotlib.pyplot as plt"


class CloseFigures(Fix):
    """Close each figure in the loop that makes it.

    What it does: pyplot keeps each figure until it is closed, with all that was drawn: a picture of 800 by 800 takes 5
    MB, a plot of 100,000 points some 200 MB while it is saved. The notebook closes figures at the end of a cell, which
    a loop over many does not live to see. The edit closes each at the end of its round, and lets Python collect what
    holds itself.

    When it is offered: Memory ran out little by little in a loop that makes figures and closes none.

    What it costs: A figure that was closed cannot be changed any more. The collection takes some milliseconds in each
    round.
    """

    id, title, causes = "close-figures", "Close each figure after it is saved: plt.close", (Family.MEMORY,)

    FIRES = [
        Case(
            _PLT,
            "for i in range(400):\n    fig, ax = plt.subplots()\n    fig.savefig(f'{i}.png')  # é\nprint(i)",
            becomes="for i in range(400):\n    fig, ax = plt.subplots()\n    fig.savefig(f'{i}.png')  # é\n"
            "    plt.close(fig)\n    gc.collect()\nprint(i)",
        ),
        Case(
            _PLT + "\ndef draw(x, name):\n\tplt.figure(figsize=(9, 9))\n\tplt.plot(x)\n\tplt.savefig(name)\n",
            "for name, x in data: draw(x, name)",
            becomes={
                1: _PLT + "\ndef draw(x, name):\n\tplt.figure(figsize=(9, 9))\n\tplt.plot(x)\n\tplt.savefig(name)\n"
                "\tplt.close()\n\tgc.collect()\n"
            },
        ),
    ]
    SILENT = [
        Case(_PLT, "for i in range(9):\n    fig = plt.figure()\n    plt.close(fig)"),
        Case(_PLT, "fig = plt.figure()\nfor x in xs: plt.plot(x)"),
        Case(_PLT, "for i in range(9):\n    fig, ax = plt.subplots()\n    figs.append(fig)"),
        Case(_PLT + "\ndef make():\n    return plt.figure()", "figs = [make() for _ in range(99)]"),
        Case(_PLT, "for i in range(9):\n    plt.figure()\nbig = [0] * 10**10", growth="jump"),
        Case("plt = object()", "for i in range(9):\n    plt.figure()\n    plt.plot(i)"),
    ]

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Close the figure at the end of the loop's body, or of the function that a loop calls."""
        code, memory = death.code, death.memory
        if not memory.grew_here:
            return
        for call in code.running.calls(*_MAKES):
            body, where = _round(call, death)
            name = _name(call)
            if not body or _is_closed_or_kept(call, name):
                continue
            plt, imported = import_as(call.scope, code, "matplotlib.pyplot", "plt")
            gc, also = import_as(call.scope, code, "gc", "gc")
            edits = imported + also + insert_after(call.scope, body[-1], f"{plt}.close({name})", f"{gc}.collect()")
            why = f"{quote(call.text)} makes a figure in each round of {where}, and pyplot keeps all of them. "
            why += f"They took up to {size(memory.missing_bytes or 0)}. `plt.close` gives each back after it is saved."
            yield Proposal(edits, why, memory.ramp_bytes)
            return


def _round(call: Call, death: Death) -> tuple[list[ast.stmt], str]:
    """Return what runs once for each figure: the body of the innermost loop, or of a function that a loop calls."""
    if loops := call.scope.loops_around(call.node):
        return loops[0].body, "a loop"
    name = call.scope.function
    for scope in death.code.running if name else ():
        for node in scope.calls:
            called = last_name(node.func)
            if called == name and (scope.loops_around(node) or _is_in_comprehension(node, scope.nodes)):
                ends = isinstance(call.scope.body[-1], ast.Return | ast.If | ast.Try)
                return [] if ends else call.scope.body, "the loop that calls it"
    return [], ""


def _is_in_comprehension(node: ast.Call, nodes: list[ast.AST]) -> bool:
    comprehensions = (one for one in nodes if isinstance(one, ast.ListComp | ast.GeneratorExp | ast.SetComp))
    return any(inner is node for one in comprehensions for inner in ast.walk(one))


def _name(call: Call) -> str:
    """Return the name that the figure has: "fig" of `fig, ax = plt.subplots()`."""
    match call.statement:
        case ast.Assign(targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_])]):
            return name
    return ""


def _is_closed_or_kept(call: Call, name: str) -> bool:
    """Whether something clears the figures, or keeps or returns this one for later."""
    for node in call.scope.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _CLOSES:
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "add"), args=[ast.Name(id=kept)]) if kept == name:
                return True
            case ast.Return(value=ast.expr() as value) if any(
                getattr(one, "id", "") == name for one in ast.walk(value)
            ):
                return True
    return False
