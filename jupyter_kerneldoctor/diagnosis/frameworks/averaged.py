"""Lists of arrays of which the code takes nothing but sums and means over all of them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..edits import Changes, EditRefusedError, indent_unit, remove, replace, replace_by_lines

_REDUCES = frozenset({"mean", "average", "sum", "std", "var"})
_BEGIN = "count, total, squares = 0, 0.0, 0.0"
_ADD = (
    "one = {np}.asarray({item}, dtype='float64')",
    "count, total, squares = count + 1, total + one, squares + one * one",
)
_NEW = frozenset({"count", "total", "squares", "one"})
_RESULTS = {
    "sum": "total",
    "mean": "total / count",
    "average": "total / count",
    "var": "{np}.maximum(squares / count - (total / count) ** 2, 0)",
    "std": "{np}.sqrt({np}.maximum(squares / count - (total / count) ** 2, 0))",
}
_STACKS = frozenset({"numpy.stack", "numpy.array", "numpy.asarray"})


@dataclass(frozen=True)
class Averaged:
    """One of them."""

    name: str
    scope: Scope
    made: ast.stmt
    """Where it is made: a comprehension, or `p = []`."""
    appended: ast.stmt | None
    """Where a loop puts an array into it."""
    item: ast.expr
    loop: str
    """The head of the loop or of the comprehension, without its colon."""
    results: tuple[tuple[ast.Call, str], ...]
    """The calls that add it up, and what they do."""
    stacked: tuple[ast.stmt, ...]
    """Where it is stacked under another name: `q = np.stack(p)`."""
    numpy: str
    """How the cells call NumPy."""

    @property
    def statements(self) -> list[ast.stmt]:
        """The statements that need all arrays at once."""
        found = [self.made, self.appended, *(self.scope.statement_of(one) for one, _ in self.results)]
        return [one for one in found if one is not None]

    @property
    def text(self) -> str:
        """The item as it is written, on one line."""
        return " ".join(self.scope.segment(self.item).split())

    @property
    def uses(self) -> str:
        """What is taken of it, in words: "mean and std"."""
        return " and ".join(dict.fromkeys(word for _, word in self.results))

    @property
    def is_of_numpy(self) -> bool:
        """Whether each item surely is something that NumPy adds up: `net(x).numpy()`, `net.predict(x)`."""
        function = self.item.func if isinstance(self.item, ast.Call) else None
        return isinstance(function, ast.Attribute) and function.attr in ("numpy", "predict", "predict_proba")


def add_up(found: Averaged) -> Changes:
    """Put sums in the place of the list.

    Raises EditRefusedError at the top level of a cell, whose names others may use, and where it is not clear that NumPy
    adds the items up.
    """
    scope = found.scope
    if scope.is_cell or not found.is_of_numpy or _NEW & {one.id for one in scope.nodes if isinstance(one, ast.Name)}:
        raise EditRefusedError("the list may be needed, or its items are not of NumPy")
    add = [one.format(np=found.numpy, item=found.text) for one in _ADD]
    edits: Changes = tuple(change for one in found.stacked for change in remove(scope, one))
    if found.appended is None:
        unit = indent_unit(scope, found.made)
        edits += replace_by_lines(scope, found.made, _BEGIN, f"{found.loop}:", *(unit + one for one in add))
    else:
        edits += replace_by_lines(scope, found.made, _BEGIN) + replace_by_lines(scope, found.appended, *add)
    for call, word in found.results:
        new = _RESULTS[word].format(np=found.numpy)
        statement = scope.statement_of(call)
        is_alone = isinstance(statement, ast.Return | ast.Assign) and (
            statement.value is call or (isinstance(statement.value, ast.Tuple) and call in statement.value.elts)
        )
        edits += replace(scope, call, new if is_alone else f"({new})")
    return edits


def averaged_lists(code: Notebook) -> Iterator[Averaged]:
    """Yield those of the running cell and the functions that it calls."""
    imports = (pair for one in code.mentioning("numpy") for pair in one.bindings.items())
    numpy = next((name for name, bound in imports if bound[-1].imported == "numpy"), "")
    for statement, scope in code.running.nodes(ast.AST) if numpy else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if len(scope.bindings.get(name, ())) == 1:
                made = _unstacked(value, scope, code)
            case _:
                continue
        aliases = dict(found for one in scope.nodes if (found := _stacked(one, name, scope, code)))
        names = {name, *aliases}
        results = tuple(_results(names, scope, code))
        stores = [one for one in scope.nodes if _appends(one, name)]
        loads = [one for one in scope.nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        reads = sum(one.id in names for one in loads)
        if not results or reads != len(results) + len(stores) + len(aliases):
            continue
        match made, stores:
            case ast.ListComp(elt=item, generators=[ast.comprehension(ifs=[], is_async=0) as one]), []:
                head = f"for {scope.segment(one.target)} in {scope.segment(one.iter)}"
                yield Averaged(name, scope, statement, None, item, head, results, (*aliases.values(),), numpy)
            case ast.List(elts=[]), [ast.Expr(value=ast.Call(args=[item])) as store]:
                loops = scope.loops_around(store)
                if len(loops) == 1 and isinstance(loops[0], ast.For):
                    head = f"for {scope.segment(loops[0].target)} in {scope.segment(loops[0].iter)}"
                    yield Averaged(name, scope, statement, store, item, head, results, (*aliases.values(),), numpy)


def _results(names: set[str], scope: Scope, code: Notebook) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls that reduce a list, or a stack of it, along the first axis: `p.mean(axis=0)`, `np.std(p, 0)`."""
    for call in scope.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _REDUCES:
            continue
        is_function = code.qualified(call.func, scope) == f"numpy.{call.func.attr}"
        owner, axes = (call.args[:1], call.args[1:]) if is_function else ([call.func.value], call.args)
        given = [*axes, *(one.value for one in call.keywords if one.arg == "axis")]
        is_first = [getattr(one, "value", None) for one in given] == [0] and len(call.keywords) <= 1
        if is_first and owner and getattr(_unstacked(owner[0], scope, code), "id", "") in names:
            yield call, call.func.attr


def _unstacked(node: ast.expr, scope: Scope, code: Notebook) -> ast.expr:
    """Return the list of `np.stack(list)`, of `np.array(list)`; else the expression itself."""
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]) if code.qualified(function, scope) in _STACKS:
            return inner
    return node


def _stacked(node: ast.AST, name: str, scope: Scope, code: Notebook) -> tuple[str, ast.stmt] | None:
    """Return the name that a stack of the list gets, and the statement; None for other statements."""
    match node:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call):
            is_new = target != name and len(scope.bindings.get(target, ())) == 1
            return (target, node) if is_new and getattr(_unstacked(call, scope, code), "id", "") == name else None
    return None


def _appends(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=owner)), args=[_])):
            return owner == name
    return False
