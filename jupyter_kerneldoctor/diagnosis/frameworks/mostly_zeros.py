"""Tables of zeros of which a few places are set: by which index, and whether something is calculated with them."""

import ast
from collections.abc import Iterator

from ..code.calls import Call, last_name
from ..code.literals import number
from ..code.loop_changes import called_name
from ..code.notebook import Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.trees import walk

_SOLVERS = (
    *("linprog", "milp", "lsq_linear", "LinearConstraint", "nnls", "lsqr", "minimize", "solve", "solve_qp", "lstsq"),
    *("inv", "pinv", "eig", "eigh", "eigs", "eigsh", "eigvals", "eigvalsh", "svd", "svds", "spsolve", "matrix_power"),
)
"""What takes a matrix of equations, constraints or edges."""
_SPARSE = ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array", "from_numpy_array")
_LEARNERS = ("fit", "fit_transform", "fit_predict", "dot", "matmul", "multi_dot", "OLS", "GLM", "Logit", "Variable")
_USES = frozenset((*_SOLVERS, *_SPARSE, *_LEARNERS))


def set_to_numbers(node: ast.stmt) -> Iterator[tuple[ast.Name, ast.Tuple]]:
    """Yield the tables of two dimensions of which a statement sets places to a plain number, and the index."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
        case ast.Assign(targets=targets, value=value):
            pairs = [(one, value) for one in targets]
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            pairs = [(target, value)]
    for place, given in pairs:
        match place:
            case ast.Subscript(value=ast.Name() as table, slice=ast.Tuple(elts=[_, _]) as index) if _is_set(given):
                yield table, index


def _is_set(value: ast.expr) -> bool:
    """Whether a plain number other than 0 is written."""
    inner = value.operand if isinstance(value, ast.UnaryOp) else value
    return number(value) is not None and getattr(inner, "value", None) != 0


def may_stay_zero(index: ast.Tuple, node: ast.stmt, scope: Scope) -> bool:
    """Whether an index leaves most places out: a part of a row, single places, those of two arrays; no box."""
    slices = [one for one in index.elts if isinstance(one, ast.Slice)]
    is_open = any(None in (one.lower, one.upper) and one.step is None for one in slices)  # half of all, as `A[i, :i]`
    is_fixed = all(isinstance(one, ast.Constant) for one in index.elts)
    is_repeated = not scope.is_cell or bool(scope.loops_around(node)) or not slices
    return len(slices) < len(index.elts) and not (is_open or is_fixed or _is_each(index, node, scope)) and is_repeated


def _is_each(index: ast.Tuple, node: ast.stmt, scope: Scope) -> bool:
    """Whether two loops go through all places: `A[i, j]` where nothing but `for i` and `for j` decides which."""
    loops = [one for one in scope.loops_around(node) if isinstance(one, ast.For)]
    counted = {one.target.id for one in loops if isinstance(one.target, ast.Name) and called_name(one.iter) == "range"}
    is_each = all(isinstance(one, ast.Name) and one.id in counted for one in index.elts)
    inside = loops[0].body if loops else []
    return is_each and node in inside


def made_of_zeros(table: ast.Name, scope: Scope, code: Notebook) -> Call | None:
    """Return the call that made a table of zeros in two dimensions."""
    for one, where in all_origins(table, scope, code):
        if isinstance(one, ast.Call) and code.qualified(one.func, where) == "numpy.zeros":
            shape = (call := Call(one, where, "numpy.zeros")).argument("shape", 0)
            return call if isinstance(shape, ast.Tuple) and len(shape.elts) == 2 else None
    return None


def is_calculated_with(name: str, scope: Scope, code: Notebook) -> bool:
    """Whether a table is solved, multiplied or learned from; one that is returned may be, wherever the code does so."""
    is_returned = any(_mentions(node.value, name) for node in scope.nodes if isinstance(node, ast.Return))
    is_given = not scope.is_cell and any(_own_call(call, name, scope, code) for call in scope.calls)
    for place in (scope, *code.running):
        is_anything = place is not scope and (is_returned or is_given)
        for node in place.nodes:
            match node:
                case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                    if is_anything or _mentions(left, name) or _mentions(right, name):
                        return True
                case ast.Call(func=function, args=given, keywords=words) if last_name(function) in _USES:
                    parts = (function, *given, *(word.value for word in words))
                    if is_anything or any(_mentions(one, name) for one in parts):
                        return True
    return False


def _own_call(call: ast.Call, name: str, scope: Scope, code: Notebook) -> bool:
    """Whether a table is given to a function of the notebook."""
    given = (*call.args, *(word.value for word in call.keywords))
    return code.definition(call.func, scope) is not None and any(_mentions(one, name) for one in given)


def _mentions(node: ast.AST | None, name: str) -> bool:
    return node is not None and any(isinstance(one, ast.Name) and one.id == name for one in walk(node))
