"""The statement to blame for a memory that ran out: the one that took it, or the one that keeps what others made.

A container that keeps what another statement made is to blame in its place: `kept.append(y)`, not `y = net(x)`. So is a
comprehension that collects what its function returns.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.model import Cell

from ..code.calls import last_name
from ..code.cycles import cycle_of
from ..code.deferred_calls import deferred_store
from ..code.notebook import CodeTooLargeError, Notebook
from ..code.origins import Origins, adds_to_numbers
from ..code.scopes import Scope
from ..code.stores import Store, container_name, stores
from ..postmortem import Caller, Grown, Statement
from ..units import cell_name
from .awaited_statement import awaited_statement
from .growth import INNER, Growth, is_queue
from .statements import is_at, is_in, is_same_function, lines_in, statement_at

_MOST = 0.5  # of the growth
_LITTLE = 0.25
_OVERLAP = 1.1  # more than all of the growth: what one statement made is what the container holds
_SEVERAL = 3
_MOST_CALLS = 5
_NUMBERS = ("item", "float", "int", "len", "round", "str")
_TRAINS = ("fit", "partial_fit", "train", "train_on_batch", "compile", "build")
_FIGURES = "open figures"
_MAKES_FIGURES = ("matplotlib.pyplot.figure", "matplotlib.pyplot.subplots", "matplotlib.pyplot.subplot_mosaic")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


def guilty_statement(growth: Growth, last: Statement | None) -> Statement | None:
    """Return the statement that took most of the growth, or that keeps it.

    `last` is where the kernel was last seen. That stands where it took a good part itself: only a statement of the same
    loop, one that keeps what `last` made, or one that took most while `last` took little is blamed in its place.
    """
    if growth.shape is not None and growth.shape.is_in_files:
        return last if last is not None and last.function is not None else _largest(growth) or last
    try:
        if growth.memory.grows_by_itself and (store := deferred_store(growth.code)) is not None:
            return statement_at(growth.code, growth.code.cells[store.scope.cell], store.statement.lineno)
        found = next((one for one in _suspects(growth) if _outweighs(growth, one, last)), last)
        found = found or _largest_of_a_function(growth)
        return found and awaited_statement(growth.code, found)
    except (CodeTooLargeError, RecursionError):
        return last


def keeps_what_grew(growth: Growth, last: Statement | None) -> bool:
    """Whether the statement to blame is one that puts things into a container: a smaller step only makes it slower."""
    found = guilty_statement(growth, last)
    store = None if found is None else _store(growth)
    if found is None or store is None:
        return False
    return is_at(found, statement_at(growth.code, growth.code.cells[store.scope.cell], store.statement.lineno))


def grown_objects(growth: Growth) -> tuple[Grown, ...]:
    """Return the objects to name: those that were seen to grow, else what the code keeps, and what was held before."""
    known = growth.container is not None or any(growth.held_share(one) >= _LITTLE for one in growth.objects)
    try:
        store = None if known else _store(growth)
    except (CodeTooLargeError, RecursionError):
        store = None
    if store is None and growth.objects:
        return growth.objects
    if store is None:
        return (*_first_used(growth), *growth.grown)
    cell = cell_name(growth.code.cells[store.scope.cell].execution_count)
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
    store = _store(growth)
    if store is not None:
        at = statement_at(growth.code, growth.code.cells[store.scope.cell], store.statement.lineno)
        yield replace(at, via=next(_calls_of(growth, store, at), ()) or _calls_in_code(growth.code, store.scope))
    if (top := _largest(growth)) is not None:
        if growth.goes_on and (cycle := cycle_of(growth.code, top.function)) is not None:
            at = statement_at(growth.code, growth.code.cells[cycle.scope.cell], cycle.statement.lineno)
            made = Store(cycle.statement, cycle.scope, "", ())
            yield replace(at, via=next(_calls_of(growth, made, at), ()))
        if growth.goes_on and (collecting := _collecting(growth.code, top)) is not None:
            yield collecting
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


def _largest(growth: Growth) -> Statement | None:
    largest = next(iter(growth.charged), None)
    return largest.statement if largest is not None and largest.bytes >= _MOST * growth.known_bytes else None


def _dispatching(growth: Growth) -> Iterator[Statement]:
    """Yield the one statement that called the several functions in which most of it grew: `df = step(df)`."""
    called: dict[Caller, set[str | None]] = {}
    for one in growth.charged:
        if one.statement.via:
            called.setdefault(one.statement.via[-1], set()).add(one.statement.function)
    for caller, functions in called.items():
        below = [one for one in growth.charged if one.statement.via[-1:] == (caller,)]
        cell = next((cell for cell in reversed(growth.code.cells) if is_in(caller, cell)), None)
        most = sum(one.bytes for one in below) >= _MOST * growth.known_bytes
        if most and len(functions) >= _SEVERAL and cell is not None and caller.function is not None:
            yield replace(statement_at(growth.code, cell, caller.line), via=below[0].statement.via[:-1])


def _largest_of_a_function(growth: Growth) -> Statement | None:
    """Return the largest statement of the function in which most of it grew, a little in each of its statements."""
    for top in growth.charged:
        same = [one for one in growth.charged if is_same_function(one.statement, top.statement)]
        if top.statement.function is not None and sum(one.bytes for one in same) >= _MOST * growth.known_bytes:
            return top.statement
    return None


def _outweighs(growth: Growth, found: Statement, last: Statement | None) -> bool:
    if last is None or growth.share_of(last) < _LITTLE:
        return True
    container, keeps = growth.container, found != _largest(growth)
    if keeps and any(is_at(found, one) for one in last.via):
        return True
    held, gained = (0.0, 0) if container is None else (growth.held_share(container), growth.items_gained(container))
    gets_longer = gained > 1 or (container is not None and is_queue(container))
    if keeps and held >= _MOST and gets_longer:  # again and again while the cell ran, whatever repeated that
        return True
    return held + growth.share_of(last) >= _OVERLAP or _shares_loop(growth.code, found, last)


# What keeps memory


def _store(growth: Growth) -> Store | None:
    """Return what puts things into the container that grew; None where there is none, or it is not clear."""
    running = growth.code.running
    if growth.container is not None:
        word = growth.container.name.rpartition(".")[2]
        near = [scope for cell in growth.code.with_words(word) for scope in growth.code.scopes(cell)]
        named = [one for one in stores(running) if _is_same(one.container, growth.container.name)] or [
            one for one in stores(near) if _is_same(one.container, growth.container.name)
        ]
        return max(named, key=lambda one: _nearness(growth, one, growth.container), default=None)
    largest = next(iter(growth.objects), None)
    if largest is not None and growth.held_share(largest) >= _LITTLE and largest.length is None and not largest.shape:
        found = [one for one in stores(_charged_functions(growth)) if one.container.startswith("self.")]
    elif growth.goes_on and (top := _largest(growth)) is not None:
        found = [one for one in growth.graphs(growth.code) if _outlives_a_step(growth.code, one, top)]
        others = () if found else stores(running)
        found += [one for one in others if _outlives_a_step(growth.code, one, top) and _keeps(growth, one, top)]
    else:
        return None
    of_graphs = {one.statement for one in growth.graphs(growth.code)}
    found = [one for one in found if one.statement in of_graphs or not adds_to_numbers(one, growth.code)]
    return found[0] if len({one.container for one in found}) == 1 else None


def _outlives_a_step(code: Notebook, store: Store, top: Statement) -> bool:
    """Whether a store is repeated, and what it fills is not made anew each time."""
    owner = store.container.partition(".")[0]
    is_local = owner in store.scope.bindings and owner != "self" and not store.scope.is_cell
    if store.scope.loops_around(store.statement):
        return not (is_local and store.scope.function in INNER)
    return not is_local and any(True for cell in code.cells for _ in _loops(code, cell, set(lines_in(top, cell))))


def _charged_functions(growth: Growth) -> Iterator[Scope]:
    """Yield the functions in which memory grew, but those that make an object."""
    for at, cell in enumerate(growth.code.cells):
        functions = {one.statement.function for one in growth.charged if is_in(one.statement, cell)} - {None}
        for scope in growth.code.scopes(at) if functions else ():
            if scope.name in functions and scope.function != "__init__":
                yield scope


def _nearness(growth: Growth, store: Store, container: Grown | None) -> tuple[bool, bool, int]:
    """Prefer what stands in the function that holds the container, in a loop, and where memory grew."""
    here = container is not None and f" {store.scope.function}," in f"{container.where}"
    at = statement_at(growth.code, growth.code.cells[store.scope.cell], store.statement.lineno)
    own = sum(one.bytes for one in growth.charged if is_at(one.statement, at))
    return here, bool(store.scope.loops_around(store.statement)), own


def _keeps(growth: Growth, store: Store, top: Statement) -> bool:
    """Whether a store keeps a name that a statement bound, or the one that called it; or what it returned."""
    returns = (top.source or "").lstrip().startswith("return ")
    if returns and any(_called(value) == (top.function or "").rpartition(".")[2] for value in store.values):
        return True
    lines = set(lines_in(top, growth.code.cells[store.scope.cell]))
    made = {
        container_name(target)
        for node in store.scope.nodes
        if isinstance(node, ast.Assign) and node.lineno in lines
        for target in node.targets
    }
    calls = (one.func for one in store.scope.calls if one.lineno in lines)  # `net.fit(x)` makes `net` larger
    made |= {container_name(one.value) for one in calls if isinstance(one, ast.Attribute) and one.attr in _TRAINS}
    kept = [value for value in store.values if not isinstance(value, ast.Call)]
    return any(isinstance(node, ast.Name) and node.id in made for value in kept for node in _but_numbers(value))


def _called(node: ast.AST) -> str:
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def _but_numbers(node: ast.AST) -> Iterator[ast.AST]:
    """Walk an expression, but not into what is made a number of: `loss.item()`, `len(rows)`."""
    if _called(node) not in _NUMBERS:
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _but_numbers(child)


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


def _names(node: ast.AST) -> set[str]:
    inner = [*ast.walk(node)]
    called = {one.attr for one in inner if isinstance(one, ast.Attribute)}
    return called | {one.id for one in inner if isinstance(one, ast.Name)}


# Places


def _shares_loop(code: Notebook, found: Statement, last: Statement) -> bool:
    """Whether the last statement was reached from a loop that repeats another one."""
    return any(
        low <= line <= high
        for cell in code.cells
        for low, high in _loops(code, cell, set(lines_in(found, cell)))
        for line in lines_in(last, cell)
    )


def _loops(code: Notebook, cell: Cell, lines: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of the loops around the statements at some lines of a cell."""
    for scope in code.scopes(code.index(cell)) if lines else ():
        for node in scope.nodes:
            if isinstance(node, ast.stmt) and node.lineno in lines:
                own = (node,) if isinstance(node, ast.For | ast.AsyncFor | ast.While) else ()
                yield from ((one.lineno, one.end_lineno or one.lineno) for one in (*own, *scope.loops_around(node)))


def _is_same(written: str, name: str) -> bool:
    """Whether a container in the code is the one of this name: `self.seen` in a method is `trainer.seen` outside."""
    if "." not in written or "." not in name:
        return written == name
    return written.rpartition(".")[2] == name.rpartition(".")[2]
