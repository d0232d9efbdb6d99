import ast

from ...code.origins import all_origins
from ...examples.growth import grew_in, growth
from ...examples.stuck import own_frame
from ...fix import Call, Case, Death, Family, Fix, Proposal, Proposals, Scope, quote
from ...place import guilty_place

_MAKERS = ("numpy.zeros", "numpy.ones", "numpy.full", "numpy.empty", "torch.zeros")
_SPARSE = (
    "from scipy.sparse import coo_matrix\n\nrows, columns = [], []  # in the loop: rows.append(i), columns.append(j)\n"
    "{name} = coo_matrix((np.ones(len(rows), 'int32'), (rows, columns)), shape={shape}).tocsr()  # equal pairs add up\n"
    "\n{name} = np.zeros({shape}, dtype='uint16')  # or a quarter of float64, for counts below 65,536"
)
_TORCH = (
    "rows, columns = [], []  # in the loop: rows.append(u), columns.append(v)\n"
    "{name} = torch.sparse_coo_tensor([rows, columns], torch.ones(len(rows)), {shape})  # the pairs that are there\n"
    "out = torch.sparse.mm({name}, X)  # in place of {name} @ X; PyTorch Geometric takes edge_index = [rows, columns]"
)
_CELL = "import numpy as np\nM = np.zeros((n, n))\nfor a, b in pairs:\n    M[ids[a], ids[b]] += 1"


class CountPairsSparse(Fix):
    """Count the pairs that occur, not all that might.

    What it does: A table with a number for each pair of 40,000 words has 1.6 billion of them, nearly all zero. It takes
    its memory as the pairs are counted, page by page. A sparse matrix holds the pairs that occur; for small counts
    `uint16` takes a quarter.

    When it is offered: Memory ran out in a loop that counts into an array of two dimensions, or where a square one was
    made in which a loop sets single numbers to 1: the edges of a graph.

    What it costs: A sparse matrix has no plain indexing of many cells at once; most of SciPy and scikit-learn take it.
    """

    id, title, causes = "count-pairs-sparse", "Count only the pairs that occur: a sparse matrix", (Family.MEMORY,)

    FIRES = [
        Case(
            _CELL,
            line=4,
            growths=[growth(1, grew_in(1500 << 20, own_frame(_CELL, 4)))],
            says=("shape=(n, n)", "uint16"),
        ),
        Case(
            "import torch\nA = torch.zeros(n, n)\nfor u, v in edges:\n    A[u, v] = A[v, u] = 1",
            line=4,
            says=("torch.ones(len(rows)), (n, n))", "torch.sparse.mm(A, X)"),
        ),
    ]
    SILENT = [
        Case(_CELL.replace("M[ids[a], ids[b]] += 1", "M[0:5, 3] += 1"), line=4),
        Case(_CELL.replace("(n, n)", "n").replace("[ids[a], ids[b]]", "[a]"), line=4),
        Case(_CELL.replace("+= 1", "+= w"), line=4),
        Case(_CELL + "\nbig = [0] * 10**10", line=5),
    ]

    def propose(self, death: Death) -> Proposals:
        at = guilty_place(death)
        for node in at.scope.nodes if at is not None else ():
            match node:
                case ast.AugAssign(op=ast.Add(), value=ast.Constant(value=1), target=target):
                    is_count = True
                case ast.Assign(targets=[target, *_], value=ast.Constant(value=1 | 1.0 | True)):
                    is_count = False
                case _:
                    continue
            match target:
                case ast.Subscript(value=ast.Name() as table, slice=ast.Tuple(elts=[row, column])) if at is not None:
                    if any(isinstance(one, ast.Slice | ast.Constant) for one in (row, column)):
                        continue
                case _:
                    continue
            made = _made(table, at.scope, death, square=not is_count)
            if made is None or at.node not in (node, made.statement):
                continue
            shape = made.argument("shape", "size", 0)
            of = made.scope.segment(shape) if isinstance(shape, ast.Tuple) else f"({', '.join(_sides(made))})"
            why = f"{quote(table.id)} has a number for each pair, and nearly all of them stay zero."
            form = _TORCH if made.name.startswith("torch.") else _SPARSE
            title = None if is_count else "Keep only the pairs that are set: a sparse matrix, or their indices"
            yield Proposal((), why, death.memory.missing_bytes, title, form.format(name=table.id, shape=of))
            return


def _made(table: ast.Name, scope: Scope, death: Death, *, square: bool) -> Call | None:
    """Return the call that made a table of two dimensions, or of two equal ones."""
    for one, where in all_origins(table, scope, death.code):
        name = death.code.qualified(one.func, where) if isinstance(one, ast.Call) else None
        if isinstance(one, ast.Call) and name in _MAKERS:
            sides = _sides(call := Call(one, where, name))
            return call if len(sides) == 2 and (sides[0] == sides[1] or not square) else None
    return None


def _sides(made: Call) -> list[str]:
    shape = made.argument("shape", "size", 0)
    parts = shape.elts if isinstance(shape, ast.Tuple | ast.List) else made.node.args
    return [made.scope.segment(one) for one in parts]
