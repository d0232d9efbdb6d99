"""The statement to blame for a memory that ran out: the one that took it, or the one that keeps what others made.

A container that keeps what another statement made is to blame in its place: `kept.append(y)`, not `y = net(x)`. So is a
comprehension that collects what its function returns.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..code.calls import last_name
from ..code.cycles import cycle_of
from ..code.deferred_calls import deferred_store
from ..code.notebook import CodeTooLargeError, Notebook
from ..code.origins import Origins
from ..code.scopes import Scope
from ..code.stores import Store
from ..code.trees import walk
from ..postmortem import Caller, Grown, Statement
from ..units import cell_name
from .awaited_statement import awaited_statement
from .filling_lookup import filling_lookup
from .growth import LITTLE, MOST, Growth, is_of_containers, is_queue
from .memory_keeper import largest_statement, loops_around, store_that_grew
from .statements import is_at, is_in, is_same_function, lines_in, statement_at, statement_with

_OVERLAP = 1.1  # more than all of the growth: what one statement made is what the container holds
_SEVERAL = 3
_MOST_CALLS = 5
_FIGURES = "open figures"
_MAKES_FIGURES = ("matplotlib.pyplot.figure", "matplotlib.pyplot.subplots", "matplotlib.pyplot.subplot_mosaic")
_YIELDS = (ast.Yield, ast.YieldFrom)
_TAKES_ONE_BY_ONE = (
    "sum",
    "min",
    "max",
    "any",
    "all",
    "next",
    "fsum",
    "mean",
    "enumerate",
    "zip",
    "map",
    "filter",
    "iter",
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


def guilty_statement(growth: Growth, last: Statement | None) -> Statement | None:
    """Return the statement that took most of the growth, or that keeps it.

    `last` is where the kernel was last seen. That stands where it took a good part itself: only a statement of the same
    loop, one that keeps what `last` made, or one that took most while `last` took little is blamed in its place.
    """
    if growth.shape is not None and growth.shape.is_in_files:
        return last if last is not None and last.function is not None else largest_statement(growth) or last
    try:
        if growth.memory.grows_by_itself and (store := deferred_store(growth.code)) is not None:
            return statement_with(growth.code, store.statement, store.scope)
        found = next((one for one in _suspects(growth) if _outweighs(growth, one, last)), last)
        found = found or _largest_of_a_function(growth)
        return found and awaited_statement(growth.code, found)
    except (CodeTooLargeError, RecursionError):
        return last


def keeps_what_grew(growth: Growth, last: Statement | None) -> bool:
    """Whether the statement to blame is one that puts things into a container: a smaller step only makes it slower."""
    found = guilty_statement(growth, last)
    store = None if found is None else store_that_grew(growth)
    if found is None or store is None:
        return False
    return is_at(found, statement_with(growth.code, store.statement, store.scope))


def grown_objects(growth: Growth) -> tuple[Grown, ...]:
    """Return the objects to name: those that were seen to grow, else what the code keeps, and what was held before."""
    try:
        store = None if growth.is_held(LITTLE) else store_that_grew(growth)
    except (CodeTooLargeError, RecursionError):
        store = None
    if store is None and growth.objects:
        return growth.objects
    if store is None:
        return (*_first_used(growth), *growth.grown)
    cell = growth.code.cell_name(store.scope.cell)
    kind = "attribute used in" if "." in store.container else "local of"
    is_local = "." in store.container or store.container in store.scope.bindings
    where = (
        f"{kind} {store.scope.function}, {cell}" if is_local and store.scope.function else "variable of the notebook"
    )
    return (Grown(store.container, where=where), *growth.grown)


def _first_used(growth: Growth) -> Iterator[Grown]:
    """Yield the arrays that were reserved in earlier cells, and take memory only as this one fills them."""
    for one in growth.shape.touched if growth.shape is not None else ():
        yield Grown(one.name, "ndarray", bytes=one.bytes, where=f"made in {cell_name(one.execution_count)}")


def _suspects(growth: Growth) -> Iterator[Statement]:
    if growth.container is not None and growth.container.name == _FIGURES:
        yield from _making_figures(growth)
    if (looked_up := filling_lookup(growth, growth.code)) is not None:
        yield looked_up[0]
    store = store_that_grew(growth)
    if store is not None:
        at = statement_with(growth.code, store.statement, store.scope)
        yield replace(at, via=next(_calls_of(growth, store, at), ()) or _calls_in_code(growth.code, store.scope))
    top = largest_statement(growth)
    if top is not None and growth.goes_on and (cycle := cycle_of(growth.code, top.function)) is not None:
        at = statement_with(growth.code, cycle.statement, cycle.scope)
        made = Store(cycle.statement, cycle.scope, "", ())
        yield replace(at, via=next(_calls_of(growth, made, at), ()))
    maker = top or _largest_of_a_function(growth)
    if maker is not None and growth.goes_on:
        found = (find(growth.code, maker) for find in (_collecting, _consuming))
        yield from (one for one in found if one is not None)
    if top is not None:
        yield top
    elif growth.goes_on:
        yield from _dispatching(growth)


def _making_figures(growth: Growth) -> Iterator[Statement]:
    """Yield the one statement of the running code that makes figures: pyplot keeps each until it is closed."""
    code = growth.code
    made = {(call.cell, call.statement.lineno) for call in code.running.calls(*_MAKES_FIGURES)}
    for cell, line in made if len(made) == 1 else ():
        at = statement_at(code, code.cells[cell], line)
        near = (one.statement.via for one in growth.charged if is_same_function(one.statement, at))
        yield replace(at, via=next(near, ()))


def _calls_of(growth: Growth, store: Store, at: Statement) -> Iterator[tuple[Caller, ...]]:
    """Yield the calls that led to the function of a store, as the stacks show them in which memory grew."""
    cell = growth.code.cells[store.scope.cell]
    for one in growth.charged:
        if is_same_function(one.statement, at):
            yield one.statement.via
        for number, caller in enumerate(one.statement.via):
            if is_in(caller, cell) and caller.function == store.scope.function:
                yield one.statement.via[:number]


def _calls_in_code(code: Notebook, scope: Scope) -> tuple[Caller, ...]:
    """Return the calls that lead to a function of a cell, outermost first, where each is called in one place only."""
    found: list[Caller] = []
    while not scope.is_cell and len(found) < _MOST_CALLS:
        calls = Origins(code).calls_of(scope)
        if len(calls) != 1:
            break
        ((call, scope),) = calls
        cell = code.cells[scope.cell]
        found.insert(0, Caller(cell.execution_count, cell.cell_id, call.lineno, scope.name or None, None))
    return tuple(found)


def _dispatching(growth: Growth) -> Iterator[Statement]:
    """Yield the one statement that called the several functions in which most of it grew: `df = step(df)`."""
    called: dict[Caller, set[str | None]] = {}
    for one in growth.charged:
        if one.statement.via:
            called.setdefault(one.statement.via[-1], set()).add(one.statement.function)
    for caller, functions in called.items():
        below = [one for one in growth.charged if one.statement.via[-1:] == (caller,)]
        cell = next((cell for cell in reversed(growth.code.cells) if is_in(caller, cell)), None)
        most = sum(one.bytes for one in below) >= MOST * growth.known_bytes
        if most and len(functions) >= _SEVERAL and cell is not None and caller.function is not None:
            yield replace(statement_at(growth.code, cell, caller.line), via=below[0].statement.via[:-1])


def _largest_of_a_function(growth: Growth) -> Statement | None:
    """Return the largest statement of the function in which most of it grew, a little in each of its statements."""
    for top in growth.charged:
        same = [one for one in growth.charged if is_same_function(one.statement, top.statement)]
        if top.statement.function is not None and sum(one.bytes for one in same) >= MOST * growth.known_bytes:
            return top.statement
    return None


def _outweighs(growth: Growth, found: Statement, last: Statement | None) -> bool:
    if last is None or growth.share_of(last) < LITTLE:
        return True
    container, keeps = growth.container, found != largest_statement(growth)
    if keeps and any(is_at(found, one) for one in last.via):
        return True
    held, gained = (0.0, 0) if container is None else (growth.held_share(container), growth.items_gained(container))
    gets_longer = gained > 1 or (container is not None and (is_queue(container) or is_of_containers(container)))
    if keeps and held >= MOST and gets_longer:  # again and again while the cell ran, whatever repeated that
        return True
    if growth.goes_on and any(is_at(found, one) for one in _keeping_graphs(growth)):  # no look shows what they hold
        return True
    return held + growth.share_of(last) >= _OVERLAP or _shares_loop(growth.code, found, last)


def _keeping_graphs(growth: Growth) -> Iterator[Statement]:
    return (statement_with(growth.code, one.statement, one.scope) for one in growth.graphs)


def _collecting(code: Notebook, top: Statement) -> Statement | None:
    """Return the innermost of the calls that led to a statement that stands in a comprehension."""
    called = [*(one.function for one in top.via[1:]), top.function]
    for at, one in reversed([*enumerate(top.via)]):
        cell = next((cell for cell in reversed(code.cells) if is_in(one, cell)), None)
        for scope in () if cell is None else code.scopes(code.index(cell)):
            for node in scope.nodes:
                if not isinstance(node, _COMPREHENSIONS) or not node.lineno <= one.line <= (node.end_lineno or 0):
                    continue
                name = (called[at] or "").rpartition(".")[2]
                beside = _names(scope.statement_of(node) or node) - _names(node)
                if name not in beside:
                    return replace(statement_at(code, code.cells[scope.cell], one.line), via=top.via[:at])
    return None


def _consuming(code: Notebook, top: Statement) -> Statement | None:
    """Return the statement that makes one thing of all that a generator yields: `frame = DataFrame(rows(path))`."""
    function = top.function
    for at, caller in reversed([*enumerate(top.via)]):
        last = (function or "").rpartition(".")[2]
        yields = (one for scope in code.functions_named(last) for one in scope.nodes if isinstance(one, _YIELDS))
        cell = next((cell for cell in reversed(code.cells) if is_in(caller, cell)), None)
        if cell is None or not any(yields):
            return None
        function = caller.function
        for scope in code.scopes(code.index(cell)):
            for call in scope.calls if scope.name == (function or "") else ():
                given = {last_name(one.func) for part in call.args for one in walk(part) if isinstance(one, ast.Call)}
                is_there = call.lineno <= caller.line <= (call.end_lineno or 0)
                if is_there and last in given and last_name(call.func) not in _TAKES_ONE_BY_ONE:
                    return replace(statement_with(code, call, scope), via=top.via[:at])
    return None


def _names(node: ast.AST) -> set[str]:
    inner = [*walk(node)]
    called = {one.attr for one in inner if isinstance(one, ast.Attribute)}
    return called | {one.id for one in inner if isinstance(one, ast.Name)}


def _shares_loop(code: Notebook, found: Statement, last: Statement) -> bool:
    """Whether the last statement was reached from a loop that repeats another one."""
    return any(
        low <= line <= high
        for cell in code.cells
        for low, high in loops_around(code, cell, set(lines_in(found, cell)))
        for line in lines_in(last, cell)
    )
