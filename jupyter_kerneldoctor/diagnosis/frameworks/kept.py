"""What a loop keeps of each round: values that are appended, added up or stored in what outlives the round."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..code.calls import last_name
from ..code.notebook import Scope
from ..code.origins import Origins
from ..code.trees import walk
from .gradients import Backward, backward_below, backward_calls, is_of_lightning

KEEPERS = frozenset({"append", "appendleft", "add", "extend", "insert", "put"})
UNNAMED = "the list"
"""Stands for what a comprehension makes on the way to something else."""
_NUMBERS = ("len", "int", "float", "sum", "hash")
_MOST_CALLERS = 3  # from a function that keeps something to the loop around the call of it


@dataclass(frozen=True)
class Kept:
    """A value that a loop keeps in each round."""

    value: ast.expr
    container: str
    """The name of what outlives a round: `losses`, `self.losses`."""
    loops: tuple[ast.AST, ...]
    """Innermost first. A comprehension is one; so is a loop that calls the function in which the value is kept."""
    scope: Scope
    caller: Scope
    """The scope of the loops: another one where the value is kept in a function."""
    is_added_to: bool = True
    """The container gets longer by it: not where it is a number that is added up, or an entry that is replaced."""

    @property
    def is_trained(self) -> bool:
        """Whether a trainer of a library runs the backward pass of each round."""
        return self.scope.function == "training_step" and self.loops[:1] == (self.scope.node,)

    def backward_calls(self, origins: Origins) -> list[Backward]:
        """Return the backward passes of a round."""
        inner = [] if self.scope is self.caller else backward_calls(self.scope.node, self.scope)
        return [*inner, *(backward_below(self.loops[0], self.caller, origins) if self.loops else ())]


def kept_values(scopes: Iterable[Scope], origins: Origins) -> Iterator[Kept]:
    """Yield what the loops of these scopes keep, also in the functions that they call."""
    for scope in scopes:
        for statement in scope.nodes:
            if not isinstance(statement, ast.stmt):
                continue
            yield from _in_comprehensions(statement, scope)
            for value, container, is_added_to in stored(statement, scope):
                loops, caller = _repeated(statement, container, scope, origins)
                if loops and not is_bound_anew(container, loops[0], statement, caller):
                    yield Kept(value, container, loops, scope, caller, is_added_to)


def keeps_its_rounds(loop: ast.AST, scope: Scope, origins: Origins) -> bool:
    """Whether a loop, or a comprehension, keeps more than a number of each round."""
    made = (one for one in scope.nodes if isinstance(one, ast.ListComp | ast.SetComp | ast.DictComp))
    if any(loop in one.generators for one in made):
        return True
    found = (one for one in kept_values([scope], origins) if loop in one.loops and one.is_added_to)
    return any(last_name(getattr(one.value, "func", None)) not in _NUMBERS for one in found)


def _repeated(
    statement: ast.stmt, container: str, scope: Scope, origins: Origins, depth: int = 0
) -> tuple[tuple[ast.AST, ...], Scope]:
    """Return the loops that run a statement again and again; of a function, those that call it."""
    if loops := scope.loops_around(statement):
        return loops, scope
    if scope.function.endswith("_step") and is_of_lightning(scope, origins.code):
        return (scope.node,), scope
    is_local = container in scope.bindings and container not in scope.parameters
    if not scope.is_cell and not is_local and depth < _MOST_CALLERS:
        for call, caller in origins.calls_of(scope):
            around = caller.statement_of(call)
            if around is not None and caller is not scope:
                found = _repeated(around, "" if depth else container, caller, origins, depth + 1)
                if found[0]:
                    return found
    return (), scope


def _in_comprehensions(statement: ast.stmt, scope: Scope) -> Iterator[Kept]:
    if hasattr(statement, "body"):
        return
    for node in scope.inside(statement):
        match node:
            case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.DictComp(value=value):
                named = isinstance(statement, ast.Assign) and statement.value is node
                name = root(statement.targets[0]) if named and isinstance(statement, ast.Assign) else None
                yield Kept(value, name or UNNAMED, (node, *scope.loops_around(statement)), scope, scope)


def outliving(scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    """Yield what a function adds to something that is there after its call, and the name of that."""
    for statement in scope.nodes:
        for value, container, is_longer in stored(statement, scope) if isinstance(statement, ast.stmt) else ():
            if is_longer and (container not in scope.bindings or container in scope.parameters):
                yield value, container


def stored(statement: ast.stmt, scope: Scope) -> Iterator[tuple[ast.expr, str, bool]]:
    """Yield what a statement adds to something, the name of that, and whether that gets longer by it."""
    match statement:
        case ast.Assign(targets=[target], value=ast.IfExp(body=one, orelse=other)):  # x if kept is None else kept + x
            for branch, first in ((one, other), (other, one)):
                found = [*_stored(ast.copy_location(ast.Assign([target], branch), statement), scope)]
                yield from found
                yield from ((first, name, is_longer) for _, name, is_longer in found[:1] if not is_longer)
        case _:
            yield from _stored(statement, scope)


def _stored(statement: ast.stmt, scope: Scope) -> Iterator[tuple[ast.expr, str, bool]]:
    is_longer = True
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):  # old, kept[i] = kept[i], out
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Subscript) and (name := root(target)) is not None:
                    yield value, name, not isinstance(target.slice, ast.Constant)
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method, value=owner), args=given)) if method in KEEPERS:
            added, name = given, root(owner)
        case ast.AugAssign(op=ast.Add(), target=target, value=value):
            added, name, is_longer = [value], root(target), isinstance(value, ast.List | ast.Tuple)
        case ast.Assign(targets=[ast.Subscript(slice=key) as target], value=value):
            added, name, is_longer = [value], root(target), not isinstance(key, ast.Constant)
        case ast.Assign(targets=[target], value=value) if (parts := _put_together(value)) is not None:
            text = scope.segment(target)  # kept = torch.cat([kept, out])
            others = [one for one in parts if scope.segment(one) != text]
            added, name = others if len(others) < len(parts) else [], root(target)
        case ast.Assign(
            targets=[target],
            value=ast.BinOp(op=ast.Add(), left=left, right=right)
            | ast.BinOp(op=ast.Div(), left=ast.BinOp(op=ast.Add(), left=left, right=right)),  # a running mean
        ):
            same = [scope.segment(target) in _terms(side, scope) for side in (left, right)]
            added, name = [right if same[0] else left] if same[0] != same[1] else [], root(target)
            is_longer = any(isinstance(one, ast.List | ast.Tuple) for one in added)
        case _:
            return
    if name is not None:
        yield from ((part, name, is_longer) for one in added for part in _parts(one))


def _put_together(value: ast.expr) -> list[ast.expr] | None:
    """Return the list that a call is given, also where only a part of its result is taken: `cat([new, kept])[:99]`."""
    while isinstance(value, ast.Subscript):
        value = value.value
    match value:
        case ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_]):
            return parts
    return None


def _terms(side: ast.expr, scope: Scope) -> set[str]:
    """Return the texts of what a side of a sum is: `avg`, also of `0.9 * avg`."""
    factors = [side.left, side.right] if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult) else []
    return {scope.segment(one) for one in (side, *factors)}


def _parts(value: ast.expr) -> list[ast.expr]:
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return [inner for part in parts for inner in _parts(part)]
    return [value]


def root(node: ast.expr) -> str | None:
    """Return the name of what an expression reaches into: `log` for `log["loss"]`; of `self`, the attribute."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return f"self.{name}"
            case ast.Call(func=ast.Attribute(attr="setdefault", value=node)):
                continue
            case ast.Call():
                return None
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def is_bound_anew(name: str, loop: ast.AST, statement: ast.stmt | None, scope: Scope) -> bool:
    """Whether each round starts the container afresh."""
    for node in scope.inside(loop):
        if isinstance(node, ast.Assign) and node is not statement:
            targets = [one for target in node.targets for one in getattr(target, "elts", [target])]
            plain = [root(target) for target in targets if not isinstance(target, ast.Subscript)]
            if name in plain and name not in names_in(node.value):
                return True
    return False


def names_in(node: ast.AST) -> set[str]:
    found = (root(one) for one in walk(node) if isinstance(one, ast.Name | ast.Attribute))
    return {name for name in found if name is not None} - {"self"}
