import ast

from ...code.origins import all_origins
from ...examples.growth import grew_in, growth
from ...examples.stuck import own_frame
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...place import guilty_place

_MAKERS = ("numpy.zeros", "numpy.ones", "numpy.full", "numpy.empty")
_SPARSE = (
    "from scipy.sparse import coo_matrix\n\nrows, columns = [], []  # in the loop: rows.append(i), columns.append(j)\n"
    "{name} = coo_matrix((np.ones(len(rows), 'int32'), (rows, columns)), shape={shape}).tocsr()  # equal pairs add up\n"
    "\n{name} = np.zeros({shape}, dtype='uint16')  # or a quarter of float64, for counts below 65,536"
)
_CELL = "import numpy as np\nM = np.zeros((n, n))\nfor a, b in pairs:\n    M[ids[a], ids[b]] += 1"


class CountPairsSparse(Fix):
    """Count the pairs that occur, not all that might.

    What it does: A table with a number for each pair of 40,000 words has 1.6 billion of them, nearly all zero. It takes
    its memory as the pairs are counted, page by page. A sparse matrix holds the pairs that occur; for small counts
    `uint16` takes a quarter.

    When it is offered: Memory ran out in a loop that counts into an array of two dimensions which NumPy made.

    What it costs: A sparse matrix has no plain indexing of many cells at once; most of SciPy and scikit-learn take it.
    """

    id, title, causes = "count-pairs-sparse", "Count only the pairs that occur: a sparse matrix", (Family.MEMORY,)

    FIRES = [
        Case(
            _CELL,
            line=4,
            growths=[growth(1, grew_in(1500 << 20, own_frame(_CELL, 4)))],
            says=("shape=(n, n)", "uint16"),
        )
    ]
    SILENT = [
        Case(_CELL.replace("M[ids[a], ids[b]] += 1", "M[0:5, 3] += 1"), line=4),
        Case(_CELL.replace("(n, n)", "n").replace("[ids[a], ids[b]]", "[a]"), line=4),
        Case(_CELL.replace("+= 1", "+= w"), line=4),
        Case(_CELL + "\nbig = [0] * 10**10", line=5),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        match None if at is None else at.node:
            case ast.AugAssign(
                op=ast.Add(),
                value=ast.Constant(value=1),
                target=ast.Subscript(value=ast.Name(id=name) as table, slice=ast.Tuple(elts=[row, column])),
            ) if at is not None and not any(isinstance(one, ast.Slice) for one in (row, column)):
                for one, where in all_origins(table, at.scope, death.code):
                    match one:
                        case ast.Call(func=made, args=[ast.Tuple(elts=[_, _]) as shape, *_]):
                            if death.code.qualified(made, where) in _MAKERS:
                                why = f"{quote(name)} has a number for each pair, and takes memory as they are counted."
                                snippet = _SPARSE.format(name=name, shape=where.segment(shape))
                                yield Proposal((), why, death.memory.missing_bytes, snippet=snippet)
                                return
