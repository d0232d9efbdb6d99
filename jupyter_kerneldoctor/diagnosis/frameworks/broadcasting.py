"""Expressions that spread an array out against another, `a[:, None] - b`, and keep a number for each of its rows."""

import ast
import copy

from ..code.scopes import Scope
from ..code.trees import unparse, walk

_NEW_AXIS = ("None", "np.newaxis", "numpy.newaxis")
_REDUCE = ("sum", "mean", "min", "max", "argmin", "argmax", "any", "all", "std", "var", "prod", "median")


class Names(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        """Take what each name stands for."""
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.known.get(node.id, node))


def is_by_row(call: ast.Call) -> bool:
    """Whether a call reduces the last axes of something: `x.sum(axis=-1)`, `np.min(x, 1)`."""
    match call:
        case ast.Call(func=ast.Attribute(attr=name), args=given, keywords=[] | [ast.keyword(arg="axis")] as words):
            axes = [*given[-1:], *(word.value for word in words)] if name in _REDUCE else []
            return len(given) + len(words) <= 2 and bool(axes) and unparse(axes[-1]) in ("-1", "1", "2")
    return False


def written_out(call: ast.Call, scope: Scope) -> tuple[ast.expr, ast.Assign | None]:
    """Return a call with what one of its names stands for, and the statement that gives only this call the name."""
    for one in walk(call):
        bound = scope.bindings.get(one.id, ()) if isinstance(one, ast.Name) else ()
        uses = [use for use in scope.names if isinstance(one, ast.Name) and getattr(use, "id", "") == one.id]
        value = bound[0].value if len(bound) == 1 and len(uses) == 2 else None
        if isinstance(one, ast.Name) and value is not None and spread(value):
            statement = scope.tree.statements[value]
            if isinstance(statement, ast.Assign) and statement.value is value:
                return Names({one.id: value}).visit(copy.deepcopy(call)), statement
    return copy.deepcopy(call), None


def spread(whole: ast.expr) -> list[ast.Subscript]:
    """Return where an expression spreads out one array, `a[:, None]`, which it uses by the row nowhere else."""
    found: dict[str, list[ast.Subscript]] = {}
    fine: list[ast.expr] = []
    for node in walk(whole):
        match node:
            case ast.Subscript(value=base, slice=ast.Tuple(elts=[ast.Slice(None, None, None), new, *_])):
                if unparse(new) in _NEW_AXIS:
                    found.setdefault(unparse(base), []).append(node)
                    fine.append(base)
            case ast.Subscript(value=base, slice=ast.Tuple(elts=[new, *_]) | new) if unparse(new) in _NEW_AXIS:
                fine.append(base)
    uses = [one for one in walk(whole) if isinstance(one, ast.Name) and one.id in found]
    is_one = len(found) == 1 and all(isinstance(one.value, ast.Name) for one in next(iter(found.values())))
    is_by_row = is_one and all(one in fine for one in uses) and _fits_parts(whole, next(iter(found.values())))
    return next(iter(found.values())) if is_by_row else []


def _fits_parts(whole: ast.expr, places: list[ast.Subscript]) -> bool:
    """Whether what stands beside the array fits a part of its rows, too: a mask of all pairs does not."""
    around = {node for node in walk(whole) if any(one in places for one in walk(node))}
    for node in around - {*places}:
        beside = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr) and one not in around]
        if isinstance(node, ast.Call):
            beside = [one for one in beside if one is not node.func]
            beside += [word.value for word in node.keywords if word.value not in around]
        for one in beside:
            match one:
                case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
                    pass
                case ast.Subscript(slice=ast.Tuple(elts=[new, *_]) | new) if unparse(new) in _NEW_AXIS:
                    pass
                case ast.Name() if any(part in places for part in ast.iter_child_nodes(node)):
                    pass
                case _:
                    return False
    return True
