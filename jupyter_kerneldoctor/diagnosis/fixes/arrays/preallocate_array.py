from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.growing import growing


class PreallocateArray(Fix):
    """Put the pieces of an array together once, after the loop.

    What it does: `A = np.vstack([A, piece])` in a loop copies all that is there in each round, and holds the old array
    and the new one at the same time. A list of the pieces, or an array of the final size, needs no such copies.

    When it is offered: Memory ran out in such a loop that uses the array for nothing else.

    What it costs: Nothing. The pieces are still kept: where they are too much already, keep less of each.
    """

    id, title, causes = "preallocate-array", "Put the pieces together once, after the loop", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np",
            "A = np.empty((0, 3))\nfor p in paths:\n    A = np.vstack([A, load(p)])",
            says=("A = np.vstack(A_parts)", "np.empty"),
        ),
        Case(
            "import numpy as np\nclass Run:\n    def __init__(self): self.trace = np.empty((0, 3))\n"
            "    def step(self): self.trace = np.concatenate([self.trace, self.x[None]])\n"
            "    def go(self, n):\n        for _ in range(n):\n            self.step()",
            "Run().go(10**6)",
            says=("self.trace_parts.append(self.x[None])", "float32", "every tenth"),
        ),
        Case(
            "from numpy import concatenate as cat",  # under another name
            "def read(n):\n\tall_rows = first()\n\tfor i in range(n):\n\t\tall_rows = cat((all_rows, row(i)), axis=1)\n"
            "\treturn all_rows",
            "data = read(10**6)",
            says=("all_rows_parts.append(row(i))", "all_rows = cat(all_rows_parts, axis=1)"),
        ),
        Case(
            "import numpy as np\nout = np.array([])\nfor x in stream():\n    out = np.append(out, x)",
            says=("out = np.concatenate([np.ravel(one) for one in out_parts])",),
        ),
    ]
    SILENT = [
        Case("import numpy as np", "for p in paths:\n    A = np.vstack([A, load(p)])\n    print(A.shape)"),
        Case("import numpy as np", "for p in paths:\n    A = np.vstack([B, load(p)])"),
        Case("import numpy as np", "A = np.vstack([A, load()])"),
        Case("import numpy as np", "for p in paths:\n    A = np.vstack([A, f(p)])\nbig = [0] * 10**10", line=3),
        Case("import jax.numpy as np", "for p in paths:\n    A = np.vstack([A, load(p)])"),
    ]

    def propose(self, death: Death) -> Proposals:
        missing = death.memory.missing_bytes or 0
        for one in growing(death.code, *(f"numpy.{name}" for name in ("vstack", "hstack", "concatenate", "append"))):
            if not death.is_of_this_cell or not death.was_running(one.loop, one.around):
                continue
            why = (
                f"{quote(one.call.text)} copies all of {quote(one.name)} in each round, and for a moment both copies "
                "are there. With an array of the final size (`np.empty` before the loop), or a list of pieces, they "
                "are not. As float32, or with every tenth round kept, it is smaller still."
            )
            yield Proposal((), why, missing // 4, snippet=one.gathered)
