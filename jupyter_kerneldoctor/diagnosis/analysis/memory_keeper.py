"""What keeps the memory that grew: the statement that puts things into a container, again and again."""

import ast
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.model import Cell

from ..code.added_numbers import adds_to_numbers
from ..code.calls import last_name
from ..code.loop_changes import called_name
from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.stores import Store, container_name, stores
from ..code.trees import walk
from ..postmortem import Grown, Statement
from .growth import INNER, LITTLE, MOST, Growth
from .history_of_steps import history_of_steps
from .statements import is_at, is_in, lines_in, statement_with

_NUMBERS = ("item", "float", "int", "len", "round", "str")
_NUMBER_FORMATS = ("d", "e", "f", "g", "n", "E", "F", "G", "%")
_TRAINS = ("fit", "partial_fit", "train", "train_on_batch", "compile", "build")


def largest_statement(growth: Growth) -> Statement | None:
    """Return the statement in which most of it grew; None where several share it."""
    largest = next(iter(growth.charged), None)
    return largest.statement if largest is not None and largest.bytes >= MOST * growth.known_bytes else None


def store_that_grew(growth: Growth) -> Store | None:
    """Return what puts things into the container that grew; None where there is none, or it is not clear."""
    running = growth.code.running
    if (cached := _cached(growth)) is not None:
        return cached
    if growth.container is not None:
        words = {growth.container.name.rpartition(".")[2], growth.container.type or ""} - {""}
        near = [one for word in words for cell in growth.code.with_words(word) for one in growth.code.scopes(cell)]
        container, holder = growth.container, growth.container.name.rpartition(".")[0]
        named = _making_nodes(growth, container)
        named = named or [one for one in stores(running) if _is_same(one.container, container.name)]
        named = named or [one for one in stores(near) if _is_same(one.container, container.name)]
        named = named or [one for one in stores(running) if one.container == holder]  # `self.metric.update(y)`
        named = named or [*_by_another_name(near, container)]
        nearest = max(named, key=lambda one: _nearness(growth, one, container), default=None)
        return nearest and (_filled_item(growth, nearest) or nearest)
    largest = next(iter(growth.objects), None)
    if largest is not None and growth.held_share(largest) >= LITTLE and largest.length is None and not largest.shape:
        found = [one for one in stores(_charged_functions(growth)) if one.container.startswith("self.")]
    elif growth.goes_on or growth.is_ramp:
        top = largest_statement(growth)
        at = [one.statement for one in growth.charged] if top is None else [top]
        found = [one for one in growth.graphs if any(_outlives_a_step(growth.code, one, statement) for statement in at)]
        if not found and top is not None and growth.goes_on:
            others = (one for one in stores(running) if _outlives_a_step(growth.code, one, top))
            found = [one for one in others if _keeps(growth, one, top)]
    else:
        return None
    of_graphs = {one.statement for one in growth.graphs}
    found = [one for one in found if one.statement in of_graphs or not adds_to_numbers(one, growth.code)]
    if not found and growth.goes_on:
        return history_of_steps(growth)
    return found[0] if len({one.container for one in found}) == 1 else None


def _cached(growth: Growth) -> Store | None:
    """Return the `return` of a function whose cache is the container: that keeps each of its results."""
    container = growth.container
    if container is None or not (container.type or "").endswith("_lru_cache_wrapper"):
        return None
    for scope in growth.code.functions_named(container.name.rpartition(".")[2]):
        returns = [node for node in scope.nodes if isinstance(node, ast.Return) and node.value is not None]
        if len(returns) == 1 and scope.decorators:
            return Store(returns[0], scope, container.name, ())
    return None


def _by_another_name(near: list[Scope], container: Grown) -> Iterator[Store]:
    """Yield what fills a container that is called otherwise there: `node = trie`, or `self` in its own class."""
    for scope in near:
        names = {"self"} if scope.owner == container.type else set()
        for node in scope.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
                    names |= {name} if _is_same(container_name(value), container.name) else set()
        yield from (one for one in stores([scope]) if one.container in names)


def _making_nodes(growth: Growth, container: Grown) -> list[Store]:
    """Return what hangs more nodes into a tree or a chain: `node.children.append(Node())`, rather than `root = Node()`.

    The type of a tree is that of its items.
    """
    found: list[tuple[int, Store]] = []
    for cell in growth.code.with_words(container.type or "") if container.item_type == container.type else ():
        for scope in growth.code.scopes(cell):
            for call in scope.calls:
                statement = scope.statement_of(call) if last_name(call.func) == container.type else None
                if statement is not None:
                    names = {one.id for one in getattr(statement, "targets", ()) if isinstance(one, ast.Name)}
                    hung = (
                        one for one in stores([scope]) if names & {getattr(each, "id", None) for each in one.values}
                    )
                    store = next(hung, Store(statement, scope, container.name, ()))
                    is_repeated = bool(store.values or scope.owner == container.type or scope.loops_around(statement))
                    found.append((2 if is_repeated else int(scope.function not in ("", "__init__")), store))
    most = max((often for often, _ in found), default=0)
    return [one for often, one in found if often == most > 0]


def _filled_item(growth: Growth, store: Store) -> Store | None:
    """Return what fills an item in a loop beside the store of the item, where most of it grew in that loop.

    For `nights.append(night)` it is `night.pictures.append(picture)`.
    """
    items = {value.id for value in store.values if isinstance(value, ast.Name)}
    top, cell = largest_statement(growth), growth.code.cells[store.scope.cell]
    if top is None or not items:
        return None
    for one in stores([store.scope]):
        if one.container.partition(".")[0] in items and one.container not in items:
            loops = store.scope.loops_around(one.statement)[:1]
            if any(loop.lineno <= line <= (loop.end_lineno or 0) for loop in loops for line in lines_in(top, cell)):
                return one
    return None


def _outlives_a_step(code: Notebook, store: Store, top: Statement) -> bool:
    """Whether a store is repeated, and what it fills is not made anew each time."""
    owner = store.container.partition(".")[0]
    is_local = owner in store.scope.bindings and owner != "self" and not store.scope.is_cell
    if store.scope.loops_around(store.statement):
        return not (is_local and store.scope.function in INNER and _is_derived(store.scope, code))
    return not is_local and any(True for cell in code.cells for _ in loops_around(code, cell, set(lines_in(top, cell))))


def _is_derived(method: Scope, code: Notebook) -> bool:
    """Whether the class of a method has a base, as all networks and layers have."""
    own = code.class_around(method)
    return own is not None and isinstance(own.definition, ast.ClassDef) and bool(own.definition.bases)


def _charged_functions(growth: Growth) -> Iterator[Scope]:
    """Yield the functions in which memory grew, but those that make an object."""
    for at, cell in enumerate(growth.code.cells):
        functions = {one.statement.function for one in growth.charged if is_in(one.statement, cell)} - {None}
        for scope in growth.code.scopes(at) if functions else ():
            if scope.name in functions and scope.function != "__init__":
                yield scope


def _nearness(growth: Growth, store: Store, container: Grown) -> tuple[bool, bool, bool, int]:
    """Prefer what keeps graphs, what stands in the function that holds the container, in a loop, where memory grew."""
    of_graphs = container.with_graph and any(one.statement is store.statement for one in growth.graphs)
    here = f" {store.scope.function}," in f"{container.where}"
    at = statement_with(growth.code, store.statement, store.scope)
    own = sum(one.bytes for one in growth.charged if is_at(one.statement, at))
    return of_graphs, here, bool(store.scope.loops_around(store.statement)), own


def _keeps(growth: Growth, store: Store, top: Statement) -> bool:
    """Whether a store keeps a name that a statement bound, or the one that called it; or what it returned."""
    returns = (top.source or "").lstrip().startswith("return ")
    if returns and any(called_name(value) == (top.function or "").rpartition(".")[2] for value in store.values):
        return True
    lines = set(lines_in(top, growth.code.cells[store.scope.cell]))
    for loop in store.scope.loops_around(store.statement)[:1]:  # what was made before it is no more in each round
        lines -= {one.lineno for one in store.scope.nodes if isinstance(one, ast.stmt)} - set(
            range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
        )
    made = {
        container_name(target)
        for node in store.scope.nodes
        if isinstance(node, ast.Assign) and node.lineno in lines
        for target in node.targets
    }
    calls = (one.func for one in store.scope.calls if one.lineno in lines)  # `net.fit(x)` makes `net` larger
    made |= {container_name(one.value) for one in calls if isinstance(one, ast.Attribute) and one.attr in _TRAINS}
    functions = {(one or "").rpartition(".")[2] for one in (top.function, *(caller.function for caller in top.via))}
    for loop in store.scope.loops_around(store.statement):  # `for row in rows(path): kept.append(row)`
        if isinstance(loop, ast.For) and any(called_name(one) in functions - {""} for one in walk(loop.iter)):
            made |= {one.id for one in walk(loop.target) if isinstance(one, ast.Name)}
    made -= {name for node in store.scope.nodes if (name := _number_printed(node))}
    kept = [value for value in store.values if not isinstance(value, ast.Call)]
    return any(isinstance(node, ast.Name) and node.id in made for value in kept for node in _but_numbers(value))


def _number_printed(node: ast.AST) -> str | None:
    """Return the name that an f-string shows as a number: `{score:.3f}`."""
    match node:
        case ast.FormattedValue(
            value=ast.Name(id=name), format_spec=ast.JoinedStr(values=[ast.Constant(value=str(form))])
        ):
            return name if form.endswith(_NUMBER_FORMATS) else None
    return None


def _but_numbers(node: ast.AST) -> Iterator[ast.AST]:
    """Walk an expression, but not into what is made a number of: `loss.item()`, `len(rows)`."""
    if called_name(node) not in _NUMBERS:
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _but_numbers(child)


def loops_around(code: Notebook, cell: Cell, lines: set[int]) -> Iterator[tuple[int, int]]:
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
