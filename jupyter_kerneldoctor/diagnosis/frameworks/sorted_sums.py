"""What a matrix of all pairs adds up, worked out along the sorted order: `cumsum`, `logcumsumexp`, `searchsorted`."""

import ast

from ..code.calls import last_name, plain_names
from ..code.origins import Origins
from ..code.trees import walk
from .pair_matrices import PairMatrix, sums_columns, weight_of

_COUNTS = "counts = {rest}np.searchsorted(np.sort({b}), {a}, {side})  # for each; of a mean: / len({b})"
_COUNTS_TORCH = "counts = {rest}torch.searchsorted({of}.sort().values, {a}, {side})  # for each; of a mean: / len({b})"
_SUMS = (
    "order = np.argsort({b})\nsums = np.concatenate([[0], np.cumsum({w}[order])])\n"
    "result = {rest}sums[np.searchsorted({of}[order], {a}, {side})]  # of each, as before"
)
_SUMS_TORCH = (
    "order = torch.argsort({b})\nsums = torch.cat([{w}.new_zeros(1), torch.cumsum({w}.view(-1)[order], 0)])\n"
    "result = {rest}sums[torch.searchsorted({of}[order], {a}, {side})]  # of each, as before"
)
_LOG_TORCH = (
    "order = torch.argsort({b}, descending={larger})  # what counts for a row stands before it\n"
    "log_sums = torch.logcumsumexp({w}.view(-1)[order], 0)  # the log of its sum, in this order\n"
    "# take the rest of the calculation in this order, too, as event[order]; the last of equal ones has the sum of all"
)


def sorted_sum(one: PairMatrix, summed: ast.expr, made: set[str], origins: Origins, *, is_torch: bool) -> str:
    """Return the running sum in sorted order: for each number of one vector, over those of the other that count."""
    scope, is_turned = one.scope, sums_columns(summed) or _is_second(summed, one, made)
    each, pool = (one.row, one.column) if is_turned else (one.column, one.row)
    weight = weight_of(summed, made, one.node, scope, origins)
    factor, library, is_same = "", "torch" if is_torch else "np", scope.segment(each) == scope.segment(pool)
    if weight is not None and weight.is_column not in (None, is_turned):  # it is the same for all that is added up
        text = scope.operand(weight.node)
        factor = f"\nresult = {f'{library}.exp({text})' if weight.is_log else text} * counts"
    is_other = weight is not None and weight.is_turned
    larger, has_equal = (one.counts_larger != is_turned) != is_other, one.has_equal != is_other
    rest = "sums[-1] - " if larger else ""
    names = {"a": scope.segment(each), "b": scope.segment(pool), "of": scope.operand(pool), "larger": larger}
    names |= {"rest": rest if weight and not factor else f"len({scope.segment(pool)}) - " if larger else ""}
    names |= {"w": "" if weight is None else scope.operand(weight.node)}
    is_right = has_equal != larger  # equal ones stand before the place that is found
    names |= {"side": f"right={is_right}" if is_torch else f"side='{'right' if is_right else 'left'}'"}
    if weight is None or factor:
        return (_COUNTS_TORCH if is_torch else _COUNTS).format(**names) + factor
    if weight.is_log and is_torch and is_same:
        return _LOG_TORCH.format(**names)
    names["w"] = f"{library}.exp({scope.segment(weight.node)})" if weight.is_log else names["w"]
    is_log = isinstance(summed, ast.Call) and last_name(summed.func) == "logsumexp"
    log = f"\nresult = {library}.log(result)" if is_log else ""
    return (_SUMS_TORCH if is_torch else _SUMS).format(**names) + log


def _is_second(node: ast.expr, one: PairMatrix, made: set[str]) -> bool:
    """Whether the matrix is the second factor of a product, so that its columns are added up: `w @ M`."""
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            is_right = any(part is one.node for part in walk(right)) or bool(plain_names(right) & made)
            factor = right if is_right else left
            return is_right != (isinstance(factor, ast.Attribute) and factor.attr == "T")
    return False
