"""Figures of pyplot: where they are made again and again, and where they can be closed."""

import ast
from collections.abc import Iterator

from ..code.notebook import Call, Notebook
from ..code.origins import Origins
from ..code.scopes import Loop, Scope
from ..code.trees import walk
from ..edits import Changes, import_as, insert_after, insert_before, replace

_CLOSES = frozenset({"close", "clf", "clear", "cla"})
_CLOSE_IT = ("add_figure",)
"""The `SummaryWriter` of TensorBoard closes what it is given, unless it is told not to."""
_KEEPS = frozenset({"append", "add", "extend", "insert", "setdefault", "put"})


def close(scope: Scope, where: ast.stmt | ast.Call, name: str, code: Notebook) -> Changes:
    """Return the edit that closes a figure behind a statement, before a `return`, or as soon as a call gives it."""
    plt, imported = import_as(scope, code, "matplotlib.pyplot", "plt")
    gc, also = import_as(scope, code, "gc", "gc")
    lines = f"{plt}.close({name})", f"{gc}.collect()"
    match where:
        case ast.Call():
            closed = replace(scope, where, f"{plt}.close({scope.segment(where)}{name})")
            statement = scope.statement_of(where)
            return imported + also + closed + (insert_after(scope, statement, lines[1]) if statement else ())
        case ast.Return():
            return imported + also + insert_before(scope, where, *lines)
    return imported + also + insert_after(scope, where, *lines)


def is_made_again(call: Call, code: Notebook) -> bool:
    """Whether a loop or a comprehension makes figure after figure, also around its function."""
    origins = Origins(code)
    callers = () if call.scope.is_cell else origins.calls_of(call.scope)
    inner = (
        part
        for used, caller in callers
        for one in caller.nodes
        if isinstance(one, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp)
        for part in walk(one)
        if part is used
    )
    return origins.is_repeated(call.node, call.scope) or any(inner)


def closings(call: Call, code: Notebook) -> Iterator[tuple[Scope, ast.stmt | ast.Call, str]]:
    """Yield where the figures of a call can be closed, and how they are named there; nothing where they are kept."""
    scope, name = call.scope, _name(call)
    number = call.argument("num", 0) if call.name.endswith((".figure", ".subplots")) else None
    is_one = call.name.endswith(".figure") and isinstance(number, ast.Constant) and number.value is not None
    if is_one or _is_closed_or_kept(scope, name):
        return
    if loops := scope.loops_around(call.node):
        yield scope, loops[0].body[-1], name
        return
    last = scope.body[-1]
    at = _returned_at(scope, name)
    if at is None:
        results = (one.value for one in scope.nodes if isinstance(one, ast.Return) and one.value is not None)
        if any(part is call.node for one in results for part in walk(one)):
            return
        if not isinstance(last, ast.If | ast.Try) and all(
            one is last for one in scope.nodes if isinstance(one, ast.Return)
        ):
            yield scope, last, name
        return
    for used, caller in Origins(code).calls_of(scope):
        if loops := caller.loops_around(used):
            yield from _closing_what_is_given(used, caller, loops[0], at)


def _closing_what_is_given(
    used: ast.Call, caller: Scope, loop: Loop, at: str
) -> Iterator[tuple[Scope, ast.stmt | ast.Call, str]]:
    """Yield where the figure that a function gives can be closed, in the loop that calls it."""
    statement = caller.statement_of(used)
    if statement is not None and _is_handed_on(used, statement):
        if not any(closes(one) for one in walk(loop)):
            yield caller, statement, ""  # the newest
        return
    match statement:
        case ast.Expr(value=value) if value is used:
            yield caller, used, at
        case ast.Assign(targets=[target], value=value) if value is used:
            given = _first_name(target) if at in ("", "[0]") else ""
            if given and not _is_closed_or_kept(caller, given) and _returned_at(caller, given) is None:
                yield caller, loop.body[-1], given


def _is_handed_on(made: ast.Call, statement: ast.stmt) -> bool:
    """Whether a figure goes straight into a call that neither keeps nor closes it: `wandb.Image(draw(x))`."""
    calls = (one for one in walk(statement) if isinstance(one, ast.Call))
    given = [one for one in calls if made in (*one.args, *(word.value for word in one.keywords))]
    is_simple = isinstance(statement, ast.Expr | ast.Assign)
    return is_simple and any(getattr(one.func, "attr", "") not in (*_KEEPS, *_CLOSE_IT) for one in given)


def _returned_at(scope: Scope, name: str) -> str | None:
    """Return how a figure is got from what its function returns: "", or "[0]" of several; None for no such figure."""
    for node in scope.nodes:
        match node:
            case ast.Return(value=ast.Name(id=given)) if given == name:
                return ""
            case ast.Return(value=ast.Tuple(elts=[*elements])):
                for place, one in enumerate(elements):
                    if isinstance(one, ast.Name) and one.id == name:
                        return f"[{place}]"
            case ast.Return(value=ast.expr() as value) if any(
                getattr(one, "id", None) == name or getattr(one, "attr", "") == "gcf" for one in walk(value)
            ):
                return "?"
    return None


def _first_name(target: ast.expr) -> str:
    """Return "fig" of `fig`, and of `fig, ax`."""
    match target:
        case ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_]):
            return name
    return ""


def _name(call: Call) -> str:
    """Return the name that the figure has: "fig" of `fig, ax = plt.subplots()`."""
    statement = call.statement
    return _first_name(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def closes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _CLOSES


def _is_closed_or_kept(scope: Scope, name: str) -> bool:
    """Whether something clears the figures, or keeps this one for later."""
    for node in scope.nodes:
        match node:
            case ast.Call() if closes(node):
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "add"), args=[ast.Name(id=kept)]) if kept == name:
                return True
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()], value=ast.Name(id=kept)) if kept == name:
                return True
    return False
