"""Searches through a graph: a loop that takes a node out of a queue, and puts its neighbours in."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .calls import plain_names
from .scopes import Scope
from .stores import container_name
from .trees import walk

_TAKES = ("pop", "popleft", "get", "get_nowait", "heappop")
_PUTS = ("append", "appendleft", "extend", "put", "put_nowait", "heappush")
_SEEN = ("visited", "seen", "explored", "closed", "discovered", "done", "marked")


class GraphSearch(NamedTuple):
    """A search that notes nowhere which nodes it has seen."""

    scope: Scope
    loop: ast.While
    queue: str
    """As it is written there: `queue`, `self.open`."""
    named: ast.Assign
    """The statement from which on the node has a name."""
    node: str
    """The node by which it looks for neighbours: `node`, or `(x, y)` for a place on a grid."""
    is_sure: bool
    """Whether it ends with the first way to its goal, and nothing else comes of a node that is seen again."""


def graph_searches(scope: Scope) -> Iterator[GraphSearch]:
    """Yield the searches of a function or a cell that take the same nodes again and again."""
    for loop in (one for one in scope.nodes if isinstance(one, ast.While)):
        inside = scope.inside(loop)
        for taken in inside:
            match taken:
                case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(attr=method)) as take) if (
                    method in _TAKES and (queue := _queue(take)) and not _notes_what_was_seen(inside, queue)
                ):
                    found = _neighbours(inside, queue, target, scope, taken)
                    if found is not None:
                        named, node, is_key = found
                        is_first_in_first_out = method in ("popleft", "get") or bool(take.args and method == "pop")
                        is_sure = is_key and is_first_in_first_out and _ends_at_its_goal(loop, inside, queue, node)
                        yield GraphSearch(scope, loop, queue, named, node, is_sure)


def _queue(call: ast.Call) -> str:
    """Return what a node is taken out of, or put into: `queue.popleft()`, `heappop(queue)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("heap"):
        return container_name(call.args[0]) if call.args else ""
    return container_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _puts(node: ast.AST, queue: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=method)) if method in _PUTS:
            return _queue(node) == queue
        case ast.AugAssign(target=target):
            return container_name(target) == queue
    return False


def _notes_what_was_seen(inside: list[ast.AST], queue: str) -> bool:
    """Whether the loop keeps a set, or a mark of each node, that it asks."""
    for node in inside:
        match node:
            case ast.Call(func=ast.Attribute(attr="add" | "discard")):
                return True
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.Delete():
                return True  # a table of distances, a mark of the node
            case ast.Name(id=name) | ast.Attribute(attr=name) if name.lower().startswith(_SEEN):
                return True
            case ast.Compare(ops=[ast.NotIn() | ast.In()], comparators=[asked]):
                name = container_name(asked)
                if name == queue or (name and any(_grows(one, name) for one in inside)):
                    return True
    return False


def _grows(node: ast.AST, name: str) -> bool:
    """Whether a list gets one more item: a list can note what was seen, too."""
    match node:
        case ast.Call(func=ast.Attribute(attr=method, value=owner)):
            return method in ("append", "extend", "insert", "setdefault", "update") and container_name(owner) == name
        case ast.AugAssign(target=target):
            return container_name(target) == name
    return False


def _neighbours(
    inside: list[ast.AST], queue: str, target: ast.expr, scope: Scope, taken: ast.Assign
) -> tuple[ast.Assign, str, bool] | None:
    """Return where the node got its name, that, and whether it is surely the key of a dict or the index of a list."""
    named = {one.id: taken for one in walk(target) if isinstance(one, ast.Name)}
    for node in inside:
        match node:
            case ast.Assign(targets=[part], value=ast.Subscript(value=ast.Name(id=whole)) | ast.Name(id=whole)):
                if whole in named:  # node = path[-1]
                    named |= {one.id: node for one in walk(part) if isinstance(one, ast.Name)}
    for loop in inside:
        if not isinstance(loop, ast.For) or not any(_puts(one, queue) for one in scope.inside(loop)):
            continue
        of_node = [name for name in named if name in plain_names(loop.iter)]
        match loop.iter:
            case (
                ast.Subscript(slice=ast.Name(id=name))
                | ast.Call(func=ast.Attribute(attr="get"), args=[ast.Name(id=name), *_])
            ) if of_node == [name]:
                return named[name], name, True
        if len(of_node) == 1:
            return named[of_node[0]], of_node[0], False
        moved = [name for name in named if _is_moved(name, loop, scope)]
        if not of_node and len(moved) > 1 and len({id(named[name]) for name in moved}) == 1:
            return named[moved[0]], f"({', '.join(moved)})", True
    return None


def _is_moved(name: str, loop: ast.For, scope: Scope) -> bool:
    """Whether a step of the loop is added to a name: `x + dx`."""
    steps = plain_names(loop.target)
    sums = (one for one in scope.inside(loop) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add))
    return any({name} == plain_names(one.left, one.right) - steps and plain_names(one) & steps for one in sums)


def _ends_at_its_goal(loop: ast.While, inside: list[ast.AST], queue: str, node: str) -> bool:
    """Whether the loop returns at the first way found, does nothing else, and asks of a node nothing but itself."""
    carried = {
        name for one in inside if isinstance(one, ast.Assign) for name in plain_names(*one.targets)
    } - plain_names(ast.parse(node))
    steps = {name for one in inside if isinstance(one, ast.For) for name in plain_names(one.target)}
    for one in inside:
        match one:
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                continue
            case ast.Expr(value=ast.Call() as call) if not _puts(call, queue):
                return False
            case ast.Assign(targets=targets, value=value) if plain_names(*targets) & plain_names(value):
                return False  # it counts the nodes that come
            case ast.AugAssign() | ast.Yield() | ast.YieldFrom() | ast.With() | ast.Try():
                return False
            case ast.If(test=ast.Compare(ops=[ast.NotIn()], comparators=[ast.Name()])):
                continue  # `not in path`: the first way has no node twice
            case ast.If(test=test) if plain_names(test) & (carried - _of_steps(inside, steps)):
                return False
    return any(isinstance(one, ast.Return | ast.Break) for one in walk(loop))


def _of_steps(inside: list[ast.AST], steps: set[str]) -> set[str]:
    """Return the names that the inner loop gives to the next place: `nx = x + dx`."""
    made = [one for one in inside if isinstance(one, ast.Assign) and plain_names(one.value) & steps]
    return {name for one in made for name in plain_names(*one.targets)}
