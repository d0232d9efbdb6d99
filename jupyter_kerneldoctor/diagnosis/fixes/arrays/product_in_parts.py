import ast

from ...calls import nodes_at
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, quote
from ...frameworks.gradients import goes_backward
from ...frameworks.own_products import product_with_itself
from ...place import grew_in

_SPARSE = "import scipy.sparse as sp\nA = sp.load_npz('links.npz')"
_ROWS = (
    "for at in range(0, {x}.shape[0], 1000):\n    part = {x}[at : at + 1000] @ {x}.T  # some rows against all\n"
    "    best = part.argmax(axis=1)  # keep only what you need of them: the nearest, or what is above a threshold\n\n"
    "from sklearn.neighbors import NearestNeighbors\n\n"
    "near = NearestNeighbors(n_neighbors=10, metric='cosine').fit({x})  # or the ten nearest of each, in chunks\n"
    "distances, rows = near.kneighbors({x})"
)
_ROWS_OF_TENSORS = (
    "for at in range(0, {x}.shape[0], 1000):\n    part = {x}[at : at + 1000] @ {x}.T  # some rows against all\n"
    "    best = part.argmax(1)  # keep only what you need: of tensors part.topk(10, dim=1) has the ten nearest of each"
)
_STEPS = (
    "row = {x}[[node]]  # one node, or some hundred of them\nfor step in range(steps):\n"
    "    row = row @ {x}  # where these get to with one more step: stays as small as its rows\n\n"
    "v = {x} @ ({x} @ v)  # a vector is multiplied twice without the matrix of all pairs"
)


class ProductInParts(Fix):
    """Multiply some rows at a time, not a matrix by itself.

    What it does: The product of a matrix and its own transpose has a number for each pair of rows, also where the
    matrix is sparse. A sparse matrix that is multiplied by itself gets fuller with each step. Some rows at a time, or
    a vector, need neither.

    When it is offered: Memory ran out in such a product.

    What it costs: A loop. What needs all pairs at once has to be put together of its parts.
    """

    id, title, causes = "product-in-parts", "Multiply some rows at a time, and keep the best of each", (Family.MEMORY,)
    unless_offered = frozenset({"blockwise-pairwise", "diagonal-of-product", "keep-sparse"})

    FIRES = [
        Case(_SPARSE, "S = A.dot(A.T)", line=1, says=("part = A[at : at + 1000] @ A.T",)),
        Case(_SPARSE, "reach = A @ A @ A", line=1, says=("row = row @ A", "stays as small as its rows")),
        Case("import torch\nA = load()", "S = A @ A.T", line=1, says=("part.topk(10, dim=1)",)),
        Case("import torch\nA = load()", "S = torch.mm(A, A.t())", line=1, says=("@ A.T",)),
        Case("import numpy as np\nA = load()", "P = np.linalg.matrix_power(A, 9)", line=1, says=("row = A[[node]]",)),
    ]
    SILENT = [
        Case(_SPARSE, "y = A @ x", line=1),
        Case(_SPARSE, "G = A.T @ A", line=1),  # a number for each pair of columns, mostly few
        Case(_SPARSE, "S = A @ A.T\nbig = [0] * 10**10", line=2),
        Case("import torch\nA = load()", "S = A @ A.T\nS.mean().backward()", line=1),  # all of it is learned from
    ]

    def propose(self, death: Death) -> Proposals:
        if any(map(death.code.imports, ("tensorflow", "jax"))) or goes_backward(death.code):
            return
        of_torch = death.code.imports("torch")
        for node, scope in (*nodes_at(death, ast.BinOp), *nodes_at(death, ast.Call)):
            found = product_with_itself(node, scope, death.code)
            if found is not None and grew_in(death, node, scope) is True:
                of, is_power = found
                fuller = "gets fuller with each step: in the end it " if is_power else ""
                why = f"{quote(scope.segment(node))} {fuller}has a number for each pair of "
                why += "nodes." if is_power else "rows."
                title = "Multiply a vector, not the matrix by itself, or some rows at a time" if is_power else None
                rows = _ROWS_OF_TENSORS if of_torch else _ROWS
                yield Proposal((), why, death.memory.missing_bytes, title, (_STEPS if is_power else rows).format(x=of))
                return
