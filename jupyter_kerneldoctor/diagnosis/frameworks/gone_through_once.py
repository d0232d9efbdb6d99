"""Lists that are made whole, only for one loop to go through them: across functions, arguments and what they return."""

import ast
from itertools import chain

from ..code.calls import plain_names
from ..code.notebook import Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.stores import stores
from ..code.trees import walk
from ..edits import Changes, remove, replace

_ONCE = frozenset(
    (
        *(f"builtins.{name}" for name in ("sum", "min", "max", "any", "all")),
        *(f"statistics.{name}" for name in ("mean", "fmean", "stdev", "pstdev", "variance", "mode")),
        *("math.fsum", "collections.Counter", "heapq.nlargest", "heapq.nsmallest", "functools.reduce"),
    )
)
"""Functions that take one item after the other, and keep few of them."""
_WRITERS = frozenset(("writerows", "executemany", "writelines"))
_ONE_BY_ONE = frozenset(
    (
        *(f"builtins.{name}" for name in ("enumerate", "map", "filter", "zip", "iter")),
        *(f"itertools.{name}" for name in ("islice", "chain", "takewhile", "starmap", "groupby")),
        *("tqdm.tqdm", "tqdm.auto.tqdm"),
    )
)
"""Functions that hand on one item after the other."""
_DEEPEST = 6
_MOST_CALLS = 4


def is_gone_through_once(node: ast.expr, scope: Scope, code: Notebook, depth: int = 0) -> bool:
    """Whether all that happens to a list is that one loop, or a function like `sum`, takes its items one by one.

    It is not where the loop keeps the items, another cell names the list, or the loop runs again and again.
    """
    statement = scope.statement_of(node)
    if statement is None or depth > _DEEPEST:
        return False
    parents = {child: one for one in scope.inside(statement) for child in ast.iter_child_nodes(one)}
    user = parents.get(node)
    if isinstance(user, ast.keyword):
        user = parents.get(user)
    match user:
        case ast.For(iter=taken) if taken is node:
            return not keeps_items(user, scope)
        case ast.comprehension(iter=taken) if taken is node and isinstance(whole := parents[user], ast.GeneratorExp):
            return whole.generators[0] is user and is_gone_through_once(whole, scope, code, depth)
        case ast.Call(func=function):
            name = code.qualified(function, scope)
            if name in _ONCE or (isinstance(function, ast.Attribute) and function.attr in _WRITERS):
                return not isinstance(parents.get(node), ast.keyword)
            if name in _ONE_BY_ONE:
                return is_gone_through_once(user, scope, code, depth + 1)
            return _is_argument(node, user, scope, code, depth + 1)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            return _is_name(name, user, scope, code, depth + 1)
        case ast.Return() | ast.YieldFrom():
            return is_result_gone_through_once(scope, code, depth + 1)
    return False


def is_result_gone_through_once(function: Scope, code: Notebook, depth: int = 0) -> bool:
    """Whether each call of a function or method goes through its result once, and it is only called."""
    name, calls = function.function, Origins(code).calls_of(function)
    if function.decorators or not 0 < len(calls) <= _MOST_CALLS or not isinstance(function.node, ast.FunctionDef):
        return False
    called = {call.func for call, _ in calls}
    for scope in code.scopes_mentioning(name):
        for one in scope.names:
            is_it = one.id == name if isinstance(one, ast.Name) else one.attr == name
            if is_it and one not in called:
                return False
    return all(is_gone_through_once(call, scope, code, depth) for call, scope in calls)


def _is_argument(node: ast.expr, call: ast.Call, scope: Scope, code: Notebook, depth: int) -> bool:
    """Whether the user's function that is given a list goes through it once."""
    origins = Origins(code)
    function = origins.called(call.func, scope)
    if function is None:
        return False
    found = [name for name, given in origins.arguments(call, function).items() if given is node]
    return len(found) == 1 and _is_name(found[0], None, function, code, depth)


def _is_name(name: str, made: ast.stmt | None, scope: Scope, code: Notebook, depth: int) -> bool:
    """Whether a name is bound once and used once, where its list is made or in its function, to go through it."""
    if len(scope.bindings.get(name, ())) != 1 or scope.outside.get(name) is not None:
        return False
    uses = scope.named(name)
    uses = [one for one in uses if not isinstance(one.ctx, ast.Store)]
    if len(uses) != 1:
        return False
    for other in chain(scope.tree.scopes, code.scopes_mentioning(name) if scope.is_cell else ()):
        reads = (scope.is_cell or _is_inside(other, scope)) and not _is_its_own(name, other)
        names_it = reads and any(isinstance(one, ast.Name) and one.id == name for one in other.names)
        if names_it and other is not scope:  # of a day's cells no more are parsed
            return False
    around = [set() if made is None else set(scope.around(made)), set(scope.around(uses[0]))]
    begun, ended = ({one for one in some if isinstance(one, ast.For | ast.While | ast.With)} for some in around)
    loops = {one for one in ended if not isinstance(one, ast.With)}
    files = {one for one in begun if isinstance(one, ast.With)}
    return loops <= begun and files <= ended and is_gone_through_once(uses[0], scope, code, depth)


def _is_its_own(name: str, function: Scope) -> bool:
    """Whether a name is a parameter or a local variable of a function, whatever else has the same name."""
    is_bound = name in function.bindings and function.outside.get(name) is None
    return name in function.parameters or (is_bound and not function.is_cell)


def _is_inside(inner: Scope, outer: Scope) -> bool:
    """Whether a function is defined inside of another."""
    parent = inner.parent
    while parent is not None and parent is not outer:
        parent = parent.parent
    return parent is outer


def keeps_items(loop: ast.For, scope: Scope) -> bool:
    """Whether a loop puts its items, or what it makes of them, into something that gets longer with each."""
    targets = plain_names(loop.target)
    inside = set(scope.inside(loop))
    for store in stores([scope]):
        if store.statement in inside:
            match store.statement:
                case ast.Expr():
                    names = plain_names(*store.values)
                case ast.Assign() | ast.AugAssign(value=ast.List() | ast.Tuple()):
                    names = {one.id for one in store.values if isinstance(one, ast.Name)}
                    names |= {
                        one.id
                        for value in store.values
                        if isinstance(value, ast.List | ast.Tuple | ast.Dict)
                        for one in walk(value)
                        if isinstance(one, ast.Name)
                    }
                case _:
                    names = set()
            if names & targets:
                return True
    return False


def instead_of_list(node: ast.expr, scope: Scope, text: str) -> Changes:
    """Return the edit that puts what gives one item after the other in the place of a list.

    What a function returns out of a file that is open there is handed out before the file is closed: `yield from`.
    None where the function returns in other places, too.
    """
    statement = scope.statement_of(node)
    is_open = statement is not None and any(isinstance(one, ast.With) for one in scope.around(statement))
    if isinstance(statement, ast.Return) and statement.value is node and is_open:
        if sum(isinstance(one, ast.Return) for one in scope.nodes) > 1:
            return ()
        return replace(scope, statement, f"yield from {text}")
    return replace(scope, node, text)


def yielded(function: Scope) -> Changes:
    """Return the edit that makes a function hand out what it puts into a list, and the list goes; none where it cannot.

    The list is made empty, appended to, and returned in the last line; nothing else happens to it.
    """
    match function.body:
        case [*_, ast.Return(value=ast.Name(id=name)) as returned]:
            pass
        case _:
            return ()
    uses = function.named(name)
    leaves = [one for one in function.nodes if isinstance(one, ast.Return | ast.Yield | ast.YieldFrom)]
    changes: Changes = remove(function, returned)
    stores_of_it = 0
    for node in function.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=made)], value=ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"))):
                if made == name:
                    stores_of_it += 1
                    changes += remove(function, node)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="append" | "extend" as how))):
                match node.value:
                    case ast.Call(args=[item], keywords=[]) if of == name and function.loops_around(node):
                        word = "yield" if how == "append" else "yield from"
                        changes += replace(function, node, f"{word} {function.segment(item)}")
    is_all = len(uses) == len(changes) and stores_of_it == 1 and len(changes) > 2 and leaves == [returned]
    return changes if is_all else ()
