"""Products of a matrix with itself, or with its own transpose."""

import ast

from ..code.notebook import Notebook, Scope

_PRODUCTS = ("numpy.dot", "numpy.matmul", "torch.mm", "torch.matmul")


def product_with_itself(node: ast.expr, scope: Scope, code: Notebook) -> tuple[str, bool] | None:
    """Return the matrix that is multiplied by itself or its transpose, and whether by itself."""
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            pass
        case ast.Call(func=ast.Attribute(attr="dot", value=left), args=[right]):
            pass
        case ast.Call(args=[left, right]) if code.qualified(node.func, scope) in _PRODUCTS:
            pass
        case ast.Call(args=[matrix, _]) if code.qualified(node.func, scope) == "numpy.linalg.matrix_power":
            return scope.segment(matrix), True
        case _:
            return None
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.MatMult):
        left = left.right
    one, other = scope.segment(left), scope.segment(right)
    if one == other:
        return one, True
    return (one, False) if is_transposed(other, one) else None


def is_transposed(text: str, matrix: str) -> bool:
    """Whether a text is the transpose of a matrix, as NumPy, SciPy or PyTorch write it: `A.T`, `A.t()`."""
    return text in (f"{matrix}.T", f"{matrix}.t()", f"{matrix}.mT", f"{matrix}.transpose(0, 1)")
