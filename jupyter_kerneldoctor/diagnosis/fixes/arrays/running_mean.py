from ...edits import EditRefusedError
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote, size
from ...frameworks.averaged import add_up, averaged_lists

_DRAWS = "import numpy as np\ndef draws(net, x, n):\n"
_AFTER = (
    "    count, total, squares = 0, 0.0, 0.0\n    for _ in range(n):\n"
    "        one = np.asarray(net(x).numpy(), dtype='float64')\n"
    "        count, total, squares = count + 1, total + one, squares + one * one\n"
)


class RunningMean(Fix):
    """Add the arrays up as they come, in place of keeping all of them for a mean.

    What it does: The mean, the sum and the standard deviation of many arrays need their sum, the sum of their squares
    and their number: three arrays, however many there are. The edit adds each one up as it comes.

    When it is offered: Memory ran out while arrays were gathered in a list or stacked of which the code only takes the
    mean, sum, variance or standard deviation along the first axis. An edit is made in functions.

    What it costs: The single arrays are gone. The results are float64, and the last digits may differ.
    """

    id, title, causes = "running-mean", "Add the arrays up as they come: keep a running mean, not all", (Family.MEMORY,)

    FIRES = [
        Case(
            _DRAWS + "    p = np.stack([net(x).numpy() for _ in range(n)])\n    return p.sum(axis=0), p.std(0)",
            "m, s = draws(net, x, 99)",
            becomes={
                1: _DRAWS + _AFTER + "    return total, np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0))"
            },
        ),
        Case(
            _DRAWS
            + "    p = []\n    for _ in range(n):\n        p.append(net(x).numpy())\n    return np.mean(p, axis=0)",
            "m = draws(net, x, 99)",
            becomes={1: _DRAWS + _AFTER + "    return total / count"},
        ),
        Case(
            _DRAWS + "    p = []\n    for _ in range(n):\n        p.append(net(x).numpy())\n    q = np.stack(p)\n"
            "    return q.mean(axis=0)",
            "m = draws(net, x, 99)",
            becomes={1: _DRAWS + _AFTER + "    return total / count"},
        ),
        Case("import numpy as np", "p = np.array([f(x) for x in xs])\nm = p.mean(0)", says=("total += one",)),
    ]
    SILENT = [
        *(
            Case("import numpy as np", f"p = np.stack([f(x) for x in xs])\n{used}")
            for used in ("m = p.mean(1)", "m = p.mean(0)\nsave(p)", "m = np.median(p, axis=0)", "m = f(p).mean(0)")
        ),
        Case("import numpy as np", "p = []\nfor x in xs:\n    p.append(f(x))\nq = p[-1]\nm = np.mean(p, axis=0)"),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes or 0
        for found in averaged_lists(death.code) if death.memory.grew_here else ():
            if not any(death.was_running(one, found.scope) for one in found.statements):
                continue
            why = (
                f"The cells only take {found.uses} of {quote(found.name)}, which keeps {quote(found.text)} of each "
                f"round; the cell took {size(missing)}. A sum is as large as one of them. The results become float64."
            )
            snippet = (
                f"count, total = 0, 0.0\n{found.loop}:\n    one = {found.text}\n    count += 1\n    total += one\n"
            )
            snippet += "mean = total / count  # for the spread add one ** 2 up, too"
            try:
                yield Proposal(add_up(found), why, missing, instead=snippet)
            except EditRefusedError:
                yield Proposal((), why, missing, snippet=snippet)
            return
