"""Loops that take items out of a queue."""

import ast

from ..code.calls import given_to, last_name
from ..code.deferred_calls import deferred_functions
from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.stores import Store
from ..code.trees import unparse
from ..edits import Changes, import_as, indent_unit, insert_after, replace_by_lines, wrap


def goes_on_after_an_error(code: Notebook, owner: str) -> Changes:
    """Return the edit of the only loop that takes items out of the queue: it goes on after an error."""
    places = [
        (scope, node, around)
        for scope in code.scopes_mentioning(owner)
        for node in scope.nodes
        if isinstance(node, ast.Assign) and _is_read(node.value, owner)
        if isinstance(around := next(scope.around(node), None), ast.While | ast.For | ast.AsyncFor)
    ]
    if len(places) != 1:
        return ()
    scope, taken, loop = places[0]
    rest = loop.body[loop.body.index(taken) + 1 :] if taken in loop.body else []
    done = [n for n, one in enumerate(rest) if unparse(one).endswith(".task_done()") and isinstance(one, ast.Expr)]
    is_told = any(".task_done()" in unparse(one) for one in rest)
    work = rest[: done[0]] if done else rest
    if not work or (is_told and done != [len(rest) - 1]):
        return ()
    return _wrapped(code, scope, taken, work, rest[done[0]] if done else None)


def is_read_meanwhile(store: Store, code: Notebook) -> bool:
    """Whether a thread takes items out while they are put in: else `put` would wait for ever."""
    name = store.container.rpartition(".")[2]
    started = deferred_functions(code)
    readers = {one.function for one in started if any(unparse(call.func).endswith(f"{name}.get") for call in one.calls)}
    for scope in code.scopes_mentioning(*readers) if readers else ():
        for call in scope.calls:
            is_late = scope is store.scope and call.lineno > store.statement.lineno
            if not is_late and any(last_name(one) in readers for one in given_to(call)):
                return True
    return False


def _wrapped(code: Notebook, scope: Scope, taken: ast.Assign, work: list[ast.stmt], done: ast.stmt | None) -> Changes:
    name, imported = import_as(scope, code, "traceback", "traceback")
    unit = indent_unit(scope, work[0])
    read = taken.value.value if isinstance(taken.value, ast.Await) else taken.value
    owner = scope.segment(read).rpartition(".get(")[0]
    lines = (
        "except Exception:",
        f"{unit}{name}.print_exc()  # and on to the next item",
        "finally:",
        f"{unit}{owner}.task_done()",
    )
    end = insert_after(scope, work[-1], *lines) if done is None else replace_by_lines(scope, done, *lines)
    return imported + wrap(scope, work, "try:") + end


def _is_read(value: ast.expr, owner: str) -> bool:
    """Whether an expression takes an item out of a queue of this name."""
    match value:
        case ast.Await(value=inner):
            return _is_read(inner, owner)
        case ast.Call(func=ast.Attribute(attr="get", value=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name == owner
    return False
