"""Names what a statement fills bit by bit or was about to make, where nobody saw the object itself grow."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..code.notebook import CodeTooLargeError, Notebook
from ..code.origins import all_origins
from ..code.scopes import Scope
from ..code.stores import Store, container_name, stores
from ..code.trees import walk
from ..postmortem import Grown, Statement
from ..units import cell_name
from .growth import Growth
from .memory_keeper import loops_around
from .statements import is_at, is_in, lines_in

_NEARLY_ALL = 0.97  # of the growth
_HOLDERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr)
_RESERVES = ("numpy.zeros", "numpy.empty", "numpy.zeros_like", "numpy.empty_like", "torch.empty")
"""What takes memory only when it is written to."""
_IN_PASSING = frozenset(
    (
        *(
            "sum",
            "mean",
            "std",
            "var",
            "min",
            "max",
            "prod",
            "all",
            "any",
            "median",
            "count",
            "nunique",
            "argmax",
            "len",
        ),
        *("int", "float", "bool", "round", "item", "corr", "score", "evaluate", "train", "run", "main", "result"),
    )
)
"""What gives something small: the memory is taken on the way there. So it is with `fit`, `fit_predict` and the like."""


def named_in_code(growth: Growth, blamed: Statement | None) -> Grown | None:
    """Return the list, dict or text that a statement in a loop adds to, or what a statement was about to make.

    None for numbers, and for what is made anew in each round.
    """
    code = growth.code
    try:
        is_once = blamed is not None and _ran_once(growth, blamed)
        for number, (scope, line) in enumerate(() if blamed is None else _places(code, blamed)):
            filled = [(one.statement, one.container) for one in stores([scope]) if _goes_on(one, code)]
            made = [*_made_at_once(scope, returned=number > 0)] if is_once else []
            for statement, name in (*filled, *_made_of_many(scope), *made):
                is_new = (statement, name) not in made or not growth.was_large(name)
                if is_new and statement.lineno <= line <= (statement.end_lineno or 0):
                    kind = "attribute used in" if "." in name else "local of"
                    where = f"{kind} {scope.function}, " if scope.function else "variable of the notebook, "
                    return Grown(name, where=f"{where}{cell_name(code.cells[scope.cell].execution_count)}")
    except (CodeTooLargeError, RecursionError):
        pass
    return None


def _places(code: Notebook, blamed: Statement) -> Iterator[tuple[Scope, int]]:
    """Yield where the blamed statement stands; of what a function returns, also where that was called."""
    yield from ((scope, blamed.line) for scope in code.scopes_of(blamed.cell_source))
    returns = (blamed.source or "").lstrip().startswith("return ")
    for caller in reversed(blamed.via):
        cell = next((one for one in reversed(code.cells) if is_in(caller, one)), None)
        if not returns or cell is None:
            return
        scopes = code.scopes(code.index(cell))
        yield from ((scope, caller.line) for scope in scopes)
        at = (node for scope in scopes for node in scope.nodes if isinstance(node, ast.Return))
        returns = any(node.lineno <= caller.line <= (node.end_lineno or 0) for node in at)


def _ran_once(growth: Growth, blamed: Statement) -> bool:
    """Whether the statement stands in no loop, or all of it grew there before a first round had made anything."""
    code = growth.code
    if not any(True for cell in code.cells for _ in loops_around(code, cell, set(lines_in(blamed, cell)))):
        return True
    own = sum(one.bytes for one in growth.charged if is_at(one.statement, blamed))
    return own >= _NEARLY_ALL * growth.known_bytes > 0


def _made_of_many(scope: Scope) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements that make a list, set or dict of items that come one by one, with its name."""
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.ListComp() | ast.SetComp() | ast.DictComp()):
                yield node, container_name(target)
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=made), args=[ast.Call()])):
                if made in ("list", "set", "tuple", "dict", "sorted"):
                    yield node, container_name(target)


def _made_at_once(scope: Scope, *, returned: bool) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements that give a name to what a call or an operation makes, or what a function has returned."""
    for node in scope.nodes:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.Call(func=function)):
                called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                if returned or (called not in _IN_PASSING and not called.startswith("fit")):
                    yield node, container_name(target)
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.BinOp()):
                yield node, container_name(target)


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
    return any(
        isinstance(one.node, _HOLDERS) or _is_text(one.node) or _is_reserved(one.node, one.scope, code)
        for one in origins
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_reserved(node: ast.expr, scope: Scope, code: Notebook) -> bool:
    return isinstance(node, ast.Call) and code.qualified(node.func, scope) in _RESERVES


def outer_name(code: Notebook, one: Grown) -> Grown:
    """Return an object that is known as `self` by the one variable of the notebook that its class was called for."""
    if one.name != "self":
        return one
    names = {
        (target.id, cell.execution_count)
        for at, cell in enumerate(code.cells)
        for module in (code.module(at),)
        for node in (() if module is None else module.nodes)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and container_name(node.value.func) == one.type
    }
    if len({name for name, _ in names}) != 1:
        return one
    name, count = max(names, key=lambda pair: pair[1] or 0)
    return replace(one, name=name, where=f"variable of {cell_name(count)}")
