"""Ways and tables that are made of those before: `paths[v] = paths[u] + [v]`, `table[i][j] = table[i - 1][j] + x`."""

import ast
from collections.abc import Iterator

from ..code.calls import last_name, plain_names
from ..code.scopes import Scope
from ..code.stores import Store, container_name
from ..code.trees import unparse, walk
from .kept_rows import Less

_TAKES = ("pop", "popleft", "get", "heappop", "get_nowait")
_COPIES = ("list", "tuple", "copy", "deepcopy")
_TITLE = "Keep for each only the one before it (its parent), and walk back: no whole way for each"
_TOLD = "Each new way is a copy of the one before, one step longer: of ways of n steps, n times n in all."
_PARENT = (
    "parent = {{start: None}}  # in place of {plain}: of each the one before, and what was seen: `not in parent`\n"
    "parent[{node}] = {before}  # in the loop; {queue}\n\n"
    "way = [goal]  # behind it: back from the goal, one parent after the other\n"
    "while parent[way[-1]] is not None:\n    way.append(parent[way[-1]])\nway.reverse()"
)
_ROWS = Less(
    "previous = [...]  # in place of {plain}: the row before is all that a new one reads\n"
    "for i in range(1, n):\n    row = [...]  # worked out of `previous`, in place of {plain}[i - 1]\n"
    "    previous = row  # two rows, not the whole table\n\n"
    "# where the steps are wanted, too: a small number in each place, and walk back from the last one\n"
    "lengths = np.zeros((n, m), dtype='int32')  # or bytes that say where each came from: dtype='uint8'",
    "Keep the previous row only, or small numbers in an array and walk back",
    "Each row is worked out of the one before it. What is joined together in each place is copied there.",
)


def of_ways(store: Store) -> Less | None:
    """Tell how each way, or each row, is kept without those before; None for what is not made of them."""
    for value in store.values:
        for part in _whole(value):
            if _is_row_before(part, store):
                return _ROWS._replace(code=_ROWS.code.format(plain=store.container))
            before, added = _longer(part, store.scope)
            if before is not None and added is not None and _is_earlier(before, store):
                return _of_a_way(store, before, added)
    return None


def _whole(value: ast.expr) -> Iterator[ast.expr]:
    """Yield a value, and the parts of a tuple; of a name what it was given."""
    yield value
    yield from value.elts if isinstance(value, ast.Tuple) else ()


def _longer(value: ast.expr, scope: Scope) -> tuple[ast.expr | None, ast.expr | None]:
    """Return what a list is made of, and what is put behind that: `path`, `v` of `path + [v]`."""
    match value:
        case ast.BinOp(op=ast.Add(), left=before, right=ast.List(elts=[added]) | ast.Tuple(elts=[added])):
            return before, added
        case ast.List(elts=[ast.Starred(value=before), added]) | ast.Tuple(elts=[ast.Starred(value=before), added]):
            return before, added
        case ast.Name(id=name):  # new = list(path); new.append(v)
            made = [one.value for one in scope.bindings.get(name, ()) if one.value is not None]
            puts = [
                one.args[0]
                for one in scope.calls
                if last_name(one.func) == "append"
                and isinstance(one.func, ast.Attribute)
                and len(one.args) == 1
                and getattr(one.func.value, "id", "") == name
            ]
            match made, puts:
                case [ast.Call(func=function, args=given)], [added] if last_name(function) in _COPIES:
                    owner = getattr(function, "value", None) if last_name(function) == "copy" and not given else None
                    return owner or next(iter(given), None), added
                case [ast.BinOp() | ast.List() | ast.Tuple() as one], []:
                    return _longer(one, scope)
    return None, None


def _is_earlier(before: ast.expr, store: Store) -> bool:
    """Whether it is an entry of the same container, or was taken out of it."""
    if container_name(before) == store.container and isinstance(before, ast.Subscript):
        return True
    taken = _taken(before, store)
    return taken is not None and not any(_asks_the_way(one, before) for one in store.scope.nodes)


def _taken(before: ast.expr, store: Store) -> ast.expr | None:
    """Return the names that an item of the container gets where it is taken out: `(node, path)`."""
    for node in store.scope.nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.Call(func=function, args=given)) if (
                last_name(function) in _TAKES
            ):
                owner = given[0] if last_name(function) == "heappop" and given else getattr(function, "value", None)
                is_its = owner is not None and container_name(owner) == store.container
                if is_its and plain_names(before) & plain_names(target):
                    return target
    return None


def _asks_the_way(node: ast.AST, way: ast.expr) -> bool:
    """Whether it is asked what is on the way so far: then all ways are looked for, and a node has several parents."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[asked]):
            return bool(plain_names(asked) & plain_names(way))
    return False


def _of_a_way(store: Store, before: ast.expr, added: ast.expr) -> Less:
    segment, target = store.scope.segment, _taken(before, store)
    node = " ".join(segment(added).split())
    if isinstance(before, ast.Subscript):
        last = segment(before.slice)
    else:
        others = [one for one in getattr(target, "elts", ()) if not plain_names(one) & plain_names(before)]
        last = segment(others[-1]) if others else f"{segment(before)}[-1]"
    queue = "the queue holds nodes, no ways" if target is not None else "a node, not a list of all before it"
    return Less(_PARENT.format(plain=store.container, node=node, before=last, queue=queue), _TITLE, _TOLD)


def _is_row_before(value: ast.expr, store: Store) -> bool:
    """Whether a place of a table is worked out of the row before: `table[i][j] = table[i - 1][j] + x`."""
    match store.statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Subscript(slice=row)) as target]) if isinstance(row, ast.Name):
            earlier = f"{row.id} - 1"
            rows = [
                one for one in walk(value) if isinstance(one, ast.Subscript) and container_name(one) == store.container
            ]
            return container_name(target) == store.container and any(unparse(one.slice) == earlier for one in rows)
    return False
