"""Numbers as people write them in code."""

import ast
import operator
from collections.abc import Callable

_MOST = 1 << 128
"""More is nothing that a setting or a size can be, and takes long to multiply."""

_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def number(node: ast.expr) -> int | None:
    """Return the value of a number written as `1000000`, `10**6`, `1 << 20`, `10 * 1000` or `-1`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return int(node.value) if abs(node.value) < 1e18 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
        return number(node.args[0])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = number(node.left), number(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Pow) and 0 <= right < 64 and abs(left) <= 1 << 16:
        return left**right if abs(left) ** right <= _MOST else None
    if isinstance(node.op, ast.LShift) and 0 <= right < 64 and abs(left) <= 1 << 16:
        return left << right
    operations = {ast.Mult: left * right, ast.Add: left + right, ast.Sub: left - right}
    result = operations.get(type(node.op))
    return None if result is None or abs(result) > _MOST else result


def compares(how: ast.cmpop, left: float | None, right: float | None) -> bool:
    """Whether a comparison is true of two numbers; False where one is not known, or for `in` and `is`."""
    compare = _COMPARISONS.get(type(how))
    return compare is not None and left is not None and right is not None and compare(left, right)
