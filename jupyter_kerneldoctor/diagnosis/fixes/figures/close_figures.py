import ast
from collections.abc import Iterator

from ...code.notebook import Call
from ...code.origins import Origins
from ...code.scopes import Scope
from ...edits import Changes, import_as, insert_after, insert_before, replace
from ...fix import Case, Death, Family, Fix, Proposal
from ...place import guilty_place
from ...units import quote, size

_MAKES = (
    *(f"matplotlib.pyplot.{name}" for name in ("figure", "subplots", "subplot_mosaic")),
    *(f"seaborn.{name}" for name in ("relplot", "displot", "catplot", "lmplot", "pairplot", "jointplot", "clustermap")),
)
_CLOSES = frozenset({"close", "clf", "clear", "cla"})
_MANY = 8
_AT_THE_END = "import gc\nimport matplotlib.pyplot as plt\n\nplt.close('all')  # at the end of each round\ngc.collect()"
_PLT = "import gc\nimport matplotlib.pyplot as plt"


class CloseFigures(Fix):
    """Close each figure in the loop that makes it.

    What it does: pyplot keeps each figure until it is closed, with all that was drawn: a picture of 800 by 800 takes 5
    MB, a plot of 100,000 points some 200 MB while it is saved. The notebook closes figures at the end of a cell, which
    a loop over many does not live to see. The edit closes each at the end of its round, also where a function returns
    it, and lets Python collect what holds itself.

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
        Case(
            _PLT + "\nclass Report:\n    def page(self, x):\n        fig, ax = plt.subplots(2)\n        return fig\n"
            "    def pages(self):\n        for x in self.xs:\n            self.page(x)\nN = 9",
            "Report().pages()",
            becomes={
                1: _PLT + "\nclass Report:\n    def page(self, x):\n        fig, ax = plt.subplots(2)\n"
                "        return fig\n    def pages(self):\n        for x in self.xs:\n"
                "            plt.close(self.page(x))\n            gc.collect()\nN = 9"
            },
        ),
        Case(
            _PLT + "\ndef draw(x):\n    fig, ax = plt.subplots()\n    ax.plot(x)\n    return fig, ax",
            "for x in xs:\n    fig, ax = draw(x)\n    fig.show()\nn = 9",
            becomes="for x in xs:\n    fig, ax = draw(x)\n    fig.show()\n    plt.close(fig)\n    gc.collect()\nn = 9",
        ),
        Case(
            _PLT + "\ndef draw(x, n):\n    plt.figure()\n    plt.plot(x)\n    plt.savefig(n)\n    return x.max()",
            "tops = [draw(x, n) for n, x in data]",
            becomes={
                1: _PLT + "\ndef draw(x, n):\n    plt.figure()\n    plt.plot(x)\n    plt.savefig(n)\n"
                "    plt.close()\n    gc.collect()\n    return x.max()"
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
        """Close the figure where its round ends: in the loop, in the function that makes it, or where that gives it."""
        memory = death.memory
        if not memory.grew_here:
            return
        seen = next((one for one in death.growth.objects if one.name == "open figures"), None)
        kept = 0 if seen is None else seen.length or 0
        for call in death.code.running.calls(*_MAKES):
            if _is_repeated(call, death) and (found := list(_closings(call, death))):
                edits = tuple(change for scope, where, name in found for change in _close(scope, where, name, death))
                why = f"{quote(call.text)} makes a figure in each round, and pyplot keeps all of them. They took up to "
                why += f"{size(memory.missing_bytes or 0)}. `plt.close` gives each back after it is saved."
                yield Proposal(edits, why, memory.ramp_bytes)
                return
        if kept >= _MANY:
            at = guilty_place(death)
            loops = () if at is None else at.scope.loops_around(at.node)
            closed = any(_closes(one) for one in (ast.walk(loops[0]) if loops else ()))
            edits = _close(at.scope, loops[0].body[-1], "'all'", death) if at and loops and not closed else ()
            why = f"pyplot keeps {kept} figures open, {size(seen.bytes if seen and seen.bytes else 0)} in all. Close "
            why += "each at the end of its round; one that you keep in a list stays in memory: save it as a file."
            yield Proposal(edits, why, memory.ramp_bytes, snippet=_AT_THE_END)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - as in the base
        """Count no advice: the figures that were open at the death are told of as before."""
        return not any(one.edits for one in self.propose(after))


def _close(scope: Scope, where: ast.stmt | ast.Call, name: str, death: Death) -> Changes:
    """Return the edit that closes a figure behind a statement, before a `return`, or as soon as a call gives it."""
    plt, imported = import_as(scope, death.code, "matplotlib.pyplot", "plt")
    gc, also = import_as(scope, death.code, "gc", "gc")
    lines = f"{plt}.close({name})", f"{gc}.collect()"
    match where:
        case ast.Call():
            closed = replace(scope, where, f"{plt}.close({scope.segment(where)}{name})")
            statement = scope.statement_of(where)
            return imported + also + closed + (insert_after(scope, statement, lines[1]) if statement else ())
        case ast.Return():
            return imported + also + insert_before(scope, where, *lines)
    return imported + also + insert_after(scope, where, *lines)


def _is_repeated(call: Call, death: Death) -> bool:
    """Whether a loop or a comprehension makes figure after figure, also around its function."""
    origins = Origins(death.code)
    callers = () if call.scope.is_cell else origins.calls_of(call.scope)
    inner = (
        part
        for used, caller in callers
        for one in caller.nodes
        if isinstance(one, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp)
        for part in ast.walk(one)
        if part is used
    )
    return origins.is_repeated(call.node, call.scope) or any(True for _ in inner)


def _closings(call: Call, death: Death) -> Iterator[tuple[Scope, ast.stmt | ast.Call, str]]:
    """Yield where the figures of a call can be closed, and how they are named there; nothing where they are kept."""
    scope, name = call.scope, _name(call)
    if _is_closed_or_kept(scope, name):
        return
    if loops := scope.loops_around(call.node):
        yield scope, loops[0].body[-1], name
        return
    last = scope.body[-1]
    at = _returned_at(scope, name)
    if at is None:
        results = (one.value for one in scope.nodes if isinstance(one, ast.Return) and one.value is not None)
        if any(part is call.node for one in results for part in ast.walk(one)):
            return
        if not isinstance(last, ast.If | ast.Try) and all(
            one is last for one in scope.nodes if isinstance(one, ast.Return)
        ):
            yield scope, last, name
        return
    for used, caller in Origins(death.code).calls_of(scope):
        loops, statement = caller.loops_around(used), caller.statement_of(used)
        match statement:
            case ast.Expr(value=value) if loops and value is used:
                yield caller, used, at
            case ast.Assign(targets=[target], value=value) if loops and value is used:
                given = _first_name(target) if at in ("", "[0]") else ""
                if given and not _is_closed_or_kept(caller, given) and _returned_at(caller, given) is None:
                    yield caller, loops[0].body[-1], given


def _returned_at(scope: Scope, name: str) -> str | None:
    """Return how a figure is got from what its function returns: "", or "[0]" of several; None for no such figure."""
    for node in scope.nodes:
        match node:
            case ast.Return(value=ast.Name(id=given)) if given == name:
                return ""
            case ast.Return(value=ast.Tuple(elts=[*elements])):
                for place, one in enumerate(elements):
                    if isinstance(one, ast.Name) and one.id == name:
                        return f"[{place}]"
            case ast.Return(value=ast.expr() as value) if any(
                getattr(one, "id", None) == name or getattr(one, "attr", "") == "gcf" for one in ast.walk(value)
            ):
                return "?"
    return None


def _first_name(target: ast.expr) -> str:
    """Return "fig" of `fig`, and of `fig, ax`."""
    match target:
        case ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_]):
            return name
    return ""


def _name(call: Call) -> str:
    """Return the name that the figure has: "fig" of `fig, ax = plt.subplots()`."""
    statement = call.statement
    return _first_name(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _closes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _CLOSES


def _is_closed_or_kept(scope: Scope, name: str) -> bool:
    """Whether something clears the figures, or keeps this one for later."""
    for node in scope.nodes:
        match node:
            case ast.Call() if _closes(node):
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "add"), args=[ast.Name(id=kept)]) if kept == name:
                return True
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()], value=ast.Name(id=kept)) if kept == name:
                return True
    return False
