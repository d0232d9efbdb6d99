"""Names what a statement fills bit by bit, where nobody saw the object itself grow."""

import ast
from collections.abc import Iterator

from ..code.notebook import CodeTooLargeError, Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.stores import Store, stores
from ..code.trees import walk
from ..postmortem import Grown, Statement
from ..units import cell_name

_HOLDERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr)


def filled_in_a_loop(code: Notebook, blamed: Statement | None) -> Grown | None:
    """Return the list, dict or text that a statement in a loop adds to, or that a comprehension makes.

    None for numbers, and for what is made anew in each round.
    """
    try:
        for scope in () if blamed is None else code.scopes_of(blamed.cell_source):
            filled = [(one.statement, one.container) for one in stores([scope]) if _goes_on(one, code)]
            for statement, name in (*filled, *_made_of_many(scope)):
                if blamed is not None and statement.lineno == blamed.line:
                    where = f"local of {scope.function}, " if scope.function else "variable of the notebook, "
                    return Grown(name, where=f"{where}{cell_name(blamed.execution_count)}")
    except (CodeTooLargeError, RecursionError):
        pass
    return None


def _made_of_many(scope: Scope) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements that make a list, set or dict of items that come one by one, with its name."""
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() | ast.SetComp() | ast.DictComp()):
                yield node, name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=made), args=[ast.Call()])):
                if made in ("list", "set", "tuple", "dict", "sorted"):
                    yield node, name


def _goes_on(store: Store, code: Notebook) -> bool:
    loops = store.scope.loops_around(store.statement)
    made = (node for loop in loops for node in walk(loop) if isinstance(node, ast.Assign))
    is_made_anew = any(isinstance(one, ast.Name) and one.id == store.container for at in made for one in at.targets)
    if not loops or is_made_anew:
        return False
    if isinstance(store.statement, ast.Expr):
        return True
    target: ast.expr | None = None
    match store.statement:
        case ast.AugAssign(target=target) | ast.Assign(targets=[ast.Subscript(value=target)]):
            pass
    origins = [] if target is None else all_origins(target, store.scope, code)
    return any(isinstance(one.node, _HOLDERS) or _is_text(one.node) for one in origins)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
