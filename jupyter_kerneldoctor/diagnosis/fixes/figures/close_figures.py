from ...code.trees import walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.figures import close, closes, closings, is_made_again
from ...place import guilty_place

_MAKES = (
    *(f"matplotlib.pyplot.{name}" for name in ("figure", "subplots", "subplot_mosaic")),
    *(f"seaborn.{name}" for name in ("relplot", "displot", "catplot", "lmplot", "pairplot", "jointplot", "clustermap")),
)
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
    words_stay = True  # of the figures that were open at the death

    FIRES = [
        Case(
            _PLT,
            "for i in range(400):\n    fig, ax = plt.subplots()\n    fig.savefig(f'{i}.png')  # é\nprint(i)",
            becomes={"print": "    plt.close(fig)\n    gc.collect()\nprint"},
        ),
        Case(
            _PLT + "\ndef draw(x, name):\n\tplt.figure(figsize=(9, 9))\n\tplt.plot(x)\n\tplt.savefig(name)\n",
            "for name, x in data: draw(x, name)",
            becomes={"(name)": "(name)\n\tplt.close()\n\tgc.collect()"},
        ),
        Case(
            _PLT + "\nclass Report:\n    def page(self, x):\n        fig, ax = plt.subplots(2)\n        return fig\n"
            "    def pages(self):\n        for x in self.xs:\n            self.page(x)\nN = 9",
            "Report().pages()",
            becomes={"self.page(x)": "plt.close(self.page(x))\n            gc.collect()"},
        ),
        Case(
            _PLT + "\ndef draw(x):\n    fig, ax = plt.subplots()\n    ax.plot(x)\n    return fig, ax",
            "for x in xs:\n    fig, ax = draw(x)\n    fig.show()\nn = 9",
            becomes={"n =": "    plt.close(fig)\n    gc.collect()\nn ="},
        ),
        Case(
            _PLT + "\ndef draw(x, n):\n    plt.figure()\n    plt.plot(x)\n    plt.savefig(n)\n    return x.max()",
            "tops = [draw(x, n) for n, x in data]",
            becomes={"return": "plt.close()\n    gc.collect()\n    return"},
        ),
        Case(  # what it is handed to does not close it
            _PLT + "\ndef draw(x):\n    fig, ax = plt.subplots()\n    ax.plot(x)\n    return fig",
            "for i, x in enumerate(xs):\n    if i % 2 == 0:\n        log({'x': Image(draw(x))})\nn = 9",
            becomes={"n =": "        plt.close()\n        gc.collect()\nn ="},
        ),
    ]
    SILENT = [
        Case(
            _PLT + "\ndef draw(x):\n    fig = plt.figure()\n    return fig",
            "for x in xs:\n    w.add_figure('x', draw(x))",
        ),
        Case(_PLT + "\ndef draw(x):\n    fig = plt.figure()\n    return fig", "for x in xs:\n    figs.append(draw(x))"),
        Case(_PLT, "for i in range(9):\n    fig = plt.figure()\n    plt.close(fig)"),
        Case(_PLT, "fig = plt.figure()\nfor x in xs: plt.plot(x)"),
        Case(_PLT, "for x in xs:\n    plt.figure(1)\n    plt.plot(x)\nplt.savefig('all.png')"),
        Case(_PLT, "for i in range(9):\n    fig, ax = plt.subplots()\n    figs.append(fig)"),
        Case(_PLT + "\ndef make():\n    return plt.figure()", "figs = [make() for _ in range(99)]"),
        Case(_PLT, "for i in range(9):\n    plt.figure()\nbig = [0] * 10**10", growth="jump"),
        Case("plt = object()", "for i in range(9):\n    plt.figure()\n    plt.plot(i)"),
    ]

    def propose(self, death: Death) -> Proposals:
        memory = death.memory
        if not memory.grew_here:
            return
        seen = next((one for one in death.growth.objects if one.name == "open figures"), None)
        kept = 0 if seen is None else seen.length or 0
        for call in death.code.running.calls(*_MAKES):
            if is_made_again(call, death.code) and (found := list(closings(call, death.code))):
                edits = tuple(
                    change for scope, where, name in found for change in close(scope, where, name, death.code)
                )
                why = f"{quote(call.text)} makes a figure in each round, and pyplot keeps all of them. They took up to "
                why += f"{size(memory.missing_bytes or 0)}. `plt.close` gives each back after it is saved."
                yield Proposal(edits, why, memory.ramp_bytes)
                return
        if kept >= _MANY:
            at = guilty_place(death)
            loops = () if at is None else at.scope.loops_around(at.node)
            closed = any(closes(one) for one in (walk(loops[0]) if loops else ()))
            edits = close(at.scope, loops[0].body[-1], "'all'", death.code) if at and loops and not closed else ()
            why = f"pyplot keeps {kept} figures open, {size(seen.bytes if seen and seen.bytes else 0)} in all. Close "
            why += "each at the end of its round; one that you keep in a list stays in memory: save it as a file."
            yield Proposal(edits, why, memory.ramp_bytes, snippet=_AT_THE_END)
