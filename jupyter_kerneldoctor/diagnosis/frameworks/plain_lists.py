"""Lists of Python that are made by repeating a number: what is done with them, and put into them."""

import ast
import contextlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.stores import container_name
from ..code.trees import walk

_TAKE = ("len", "sum", "min", "max", "any", "all", "enumerate", "zip", "sorted", "list")
_DEEPEST = 12
_MOST = 1 << 31
"""An item of an array of whole numbers is smaller."""
_KINDS = {bool: "bool", int: "int32", float: "float32"}


def repeated_list(value: ast.expr) -> ast.BinOp | None:
    """Return the list that is repeated, `[0] * n`, by itself or as each row of a table."""
    match value:
        case ast.ListComp(elt=ast.BinOp() as inner):
            return repeated_list(inner)
        case ast.BinOp(left=ast.List(elts=[ast.Constant(value=int())]), op=ast.Mult()):
            return value
    return None


def is_of_truths(made: ast.BinOp) -> bool:
    return any(isinstance(one, ast.Constant) and isinstance(one.value, bool) for one in walk(made.left))


def stores_in(node: ast.AST, name: str) -> bool:
    """Whether a statement puts something into a list: `dp[i][j] = …`, `seen[i] += 1`."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(one, ast.Subscript) and container_name(one) == name for one in targets)


class PlainList(NamedTuple):
    """What is done with a list, and put into it."""

    name: str
    scope: Scope
    code: Notebook

    @property
    def is_like_an_array(self) -> bool:
        """Whether all that is done with it an array can do: it is made once, indexed, gone through, returned."""
        name, scope, code = self.name, self.scope, self.code
        scopes = set(code.scopes_mentioning(name) if scope.is_cell else ())
        named = [one for other in scopes - {scope} for one in other.names if isinstance(one, ast.Name)]
        if len(scope.bindings.get(name, ())) != 1 or any(one.id == name for one in named):
            return False
        return all(map(self._is_fine, scope.named(name)))

    def _is_fine(self, use: ast.expr) -> bool:
        inside = list(self.scope.inside(self.scope.tree.statements[use]))
        match next(one for one in inside if use in ast.iter_child_nodes(one)):
            case ast.Subscript(slice=ast.Slice(), ctx=ast.Load()) as part:
                return self._is_fine(part)
            case ast.Subscript(value=owner, ctx=ast.Load()) as item if owner is use and self._has_rows(use):
                return self._is_fine(item)
            case ast.Subscript() | ast.For() | ast.comprehension():
                return True
            case ast.Return():
                return all(PlainList.is_result_like_an_array(*one, self.code) for one in self._calls())
            case ast.Call(func=ast.Name(id=called)) if called in _TAKE:
                return True
            case ast.Assign(targets=[target]):
                return target is use
        return False

    def _has_rows(self, use: ast.expr) -> bool:
        """Whether it is the table itself that is used, whose items are lists."""
        made = self.scope.bindings[self.name][0].value
        return isinstance(made, ast.ListComp) and isinstance(use, ast.Name)

    def _calls(self) -> Iterable[tuple[ast.Call, Scope]]:
        return Origins(self.code).calls_of(self.scope)

    @staticmethod
    def is_result_like_an_array(call: ast.Call, scope: Scope, code: Notebook) -> bool:
        """Whether all that is done with what a function returns an array can do as well."""
        statement = scope.statement_of(call)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
                return PlainList(name, scope, code).is_like_an_array
        inside = () if statement is None else scope.inside(statement)
        match next((one for one in inside if call in ast.iter_child_nodes(one)), None):
            case ast.Subscript(slice=item):
                return not isinstance(item, ast.Slice)
            case ast.For() | ast.comprehension():
                return True
            case ast.Call(func=ast.Name(id=called)):
                return called in _TAKE
        return False

    def holds(self, store: ast.AST) -> bool:
        """Whether what a statement puts in is surely a whole number, or a truth value where those are kept."""
        value = store.value if isinstance(store, ast.Assign | ast.AugAssign) else None
        binding = self.scope.bindings[self.name][0].value
        made = None if binding is None else repeated_list(binding)
        if value is None or made is None:
            return False
        if isinstance(store, ast.AugAssign) and not isinstance(value, ast.Constant | ast.Compare):
            return False  # sums may grow beyond what an item holds
        if (again := repeated_list(value)) is not None:
            return is_of_truths(made) == is_of_truths(again)
        is_truth = isinstance(value, ast.Compare) or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
        return is_truth if is_of_truths(made) else self._is_whole(value)

    def _is_whole(self, value: ast.expr, depth: int = 0) -> bool:
        parts: list[ast.expr] = []
        match value:
            case ast.Constant(value=int(number)):
                return abs(number) < _MOST
            case ast.Compare() | ast.Call(func=ast.Name(id="len" | "int" | "ord")):
                return True
            case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
                is_step = any(isinstance(one, ast.Constant | ast.Compare) for one in (left, right))
                sums = any(container_name(one) == self.name for one in walk(value) if isinstance(one, ast.Name))
                parts = [left, right] if is_step or not sums else []  # a sum of items has no bound
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod() | ast.BitAnd() | ast.RShift(), left=left, right=right):
                parts = [left, right]
            case ast.Call(func=ast.Name(id="min" | "max" | "abs"), args=given, keywords=[]):
                parts = given
            case ast.IfExp(body=one, orelse=other):
                parts = [one, other]
            case ast.UnaryOp(operand=one):
                parts = [one]
            case ast.Subscript():
                return container_name(value) == self.name
            case ast.Name(id=name):
                return self._counts(name) or self._is_whole_name(name, depth)
        return depth < _DEEPEST and bool(parts) and all(self._is_whole(one, depth + 1) for one in parts)

    def _is_whole_name(self, name: str, depth: int) -> bool:
        values = [one.value for one in self.scope.bindings.get(name, ()) if name not in self.scope.parameters]
        known = [one for one in values if one is not None and depth < _DEEPEST]
        return len(known) == len(values) > 0 and all(self._is_whole(one, depth + 1) for one in known)

    def _counts(self, name: str) -> bool:
        """Whether a name goes through a range."""
        for node in self.scope.nodes:
            match node:
                case ast.For(target=ast.Name(id=target), iter=ast.Call(func=ast.Name(id="range"))) if target == name:
                    return True
        return False


def filled_array(name: str, lengths: Sequence[str], number: bool | float) -> str:
    """Return the array that a repeated list, or a list of such lists, becomes."""
    shape = lengths[0] if len(lengths) == 1 else f"({', '.join(lengths)})"
    more = "  # float32 for fractions, int64 above 2e9" if type(number) is int else ""
    return f"{name} = np.full({shape}, {number!r}, dtype='{_KINDS[type(number)]}'){more}"


def repeated_number(node: ast.BinOp) -> tuple[bool | int | float, ast.expr] | None:
    """Return the number that a list repeats, and how often: `[-1] * n`, `n * [0]`."""
    match node:
        case ast.BinOp(left=ast.List(elts=[item]), right=count) | ast.BinOp(left=count, right=ast.List(elts=[item])):
            with contextlib.suppress(ValueError):  # no number that is written down
                value = ast.literal_eval(item)
                return (value, count) if type(value) in _KINDS else None
    return None


def is_list(node: ast.expr) -> bool:
    """Whether an item is a list of its own: `[0] * n`, `[f(x) for x in xs]`."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
    return isinstance(node, ast.ListComp | ast.List)
