import ast

from ...code.origins import all_origins
from ...code.trees import unparse, walk
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.growing import Growing, growing

_OF_OTHERS = ("fft", "complex", "split", "strip", "lower", "join", "reader", "readline")
"""Parts of the names of functions and methods that give complex numbers or texts."""


class PreallocateArray(Fix):
    """Make the array longer where it is, not by a copy of all.

    What it does: `A = np.vstack([A, piece])` in a loop copies all that is there in each round, and holds the old array
    and the new one at the same time. `A.resize(...)` makes it longer where it is: Linux moves its pages without a copy.

    When it is offered: Memory ran out in such a loop that uses the array for nothing else. It is an edit where the
    array begins empty, as with `np.empty((0, 300))`, and pieces are put below it.

    What it costs: Pieces of another type are converted. Where the final size is known, an array of that size to be
    filled is as good.
    """

    id, title, causes = "preallocate-array", "Make the array longer where it is, without a copy", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np",
            "A = np.empty((0, 3))\nfor p in paths:\n    A = np.vstack([A, load(p)])  # grow\nprint(A.mean())",
            becomes="A = np.empty((0, 3))\nfor p in paths:\n    piece = np.atleast_2d(load(p))\n"
            "    A.resize((A.shape[0] + len(piece), *A.shape[1:]), refcheck=False)\n"
            "    A[len(A) - len(piece):] = piece  # grow\nprint(A.mean())",
        ),
        Case(
            "import numpy as np",
            "A = np.zeros((0, 3))\nfor p in paths:\n    A = np.concatenate([A, load(p)])",
            becomes="A = np.zeros((0, 3))\nfor p in paths:\n    piece = load(p)\n"
            "    A.resize((A.shape[0] + len(piece), *A.shape[1:]), refcheck=False)\n"
            "    A[len(A) - len(piece):] = piece",
        ),
        Case(
            "import numpy as np",
            "A = np.empty((0, 3))\nfirst = A\nfor p in paths:\n    A = np.vstack([A, load(p)])",
            says=("A = np.vstack(A_parts)",),
        ),
        Case(
            "import numpy as np",
            "A = np.empty((0, 3))\nfor p in paths:\n    A = np.vstack([A, np.fft.fft(load(p))])",
            says=("A = np.vstack(A_parts)",),
        ),
        Case(  # texts
            "import numpy as np",
            "A = np.empty((0, 3))\nfor line in file:\n    A = np.vstack([A, line.split(',')])",
            says=("A = np.vstack(A_parts)",),
        ),
        Case(
            "from numpy import empty, vstack",
            "A = empty((0, 3))\nfor p in paths:\n    A = vstack([A, load(p)])",
            says=("A = vstack(A_parts)",),
        ),
        Case(
            "import numpy as np\nclass Run:\n    def __init__(self): self.trace = np.empty((0, 3))\n"
            "    def step(self): self.trace = np.concatenate([self.trace, self.x[None]])\n"
            "    def go(self, n):\n        for _ in range(n):\n            self.step()",
            "Run().go(10**6)",
            says=("self.trace_parts.append(self.x[None])", "float32", "every tenth"),
        ),
        Case(
            "from numpy import concatenate as cat",
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
            empty = _begins_empty(one, death)
            yield Proposal(
                one.resized() if empty else (),
                f"{quote(one.call.text)} copies all of {quote(one.name)} in each round, and for a moment both copies "
                + (
                    "are there."
                    if empty
                    else "are there. With an array of the final size (`np.empty` before the loop), or a list of "
                    "pieces, they are not. As float32, or with every tenth round kept, it is smaller still."
                ),
                missing // 2 if empty else missing // 4,
                None if empty else "Put the pieces together once, after the loop",
                None if empty else one.gathered,
            )


def _may_be_others(one: Growing) -> bool:
    """Whether pieces may be complex numbers or texts, which an array of floats does not hold."""
    nodes = one.call.scope.nodes
    in_piece = [part for part in walk(one.piece) if isinstance(part, ast.Constant | ast.JoinedStr)]
    texts = any(isinstance(part, ast.JoinedStr) or isinstance(part.value, str) for part in in_piece)
    is_complex = any(isinstance(node, ast.Constant) and isinstance(node.value, complex) for node in nodes)
    named = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    return is_complex or texts or any(word in name for name in named for word in _OF_OTHERS)


def _begins_empty(one: Growing, death: Death) -> bool:
    """Whether pieces are put below an array that NumPy made with no rows."""
    scope = one.call.scope
    before = [bound for bound in scope.bindings.get(one.name, ()) if bound.position < (one.loop.lineno, 0)]
    along_rows = all(word.arg == "axis" and unparse(word.value) == "0" for word in one.call.node.keywords)
    if (
        not before
        or before[-1].value is None
        or "." in one.name
        or one.call.name.endswith(("hstack", "append"))
        or (one.call.name == "numpy.vstack" and isinstance(one.call.node.func, ast.Name))
        or not along_rows
    ):
        return False
    begun = before[-1].position
    uses = (use for use in scope.named(one.name) if begun < (use.lineno, use.col_offset) < (one.loop.lineno, 0))
    if any(isinstance(use.ctx, ast.Load) for use in uses) or _may_be_others(one):
        return False
    match all_origins(before[-1].value, scope, death.code)[0].node:
        case ast.Call(func=made, args=[ast.Tuple(elts=[ast.Constant(value=0), *_])], keywords=[]):
            return death.code.qualified(made, scope) in ("numpy.empty", "numpy.zeros")
    return False
