"""Functions that call themselves and gather all results in lists: how they hand out one after the other."""

import ast
from collections.abc import Iterator

from ..code.recursion import names_itself
from ..code.scopes import Scope
from ..code.stores import Store
from .kept_rows import Less

_GATHERED = Less(
    "def {function}({parameters}):  # a generator now: each result is made when it is asked for\n    ...\n"
    "    {handed}  # in place of {store}\n    ...\n"
    "    {ends}\n\n"
    "for one in {function}({parameters}):  # look at one after the other; `break` at the first\n    ...\n"
    "count = sum(1 for one in {function}({parameters}))  # where only their number is wanted",
    "Hand out one result after the other: yield, no list of all",
    "Each call of {function} puts its results into one list, and there are several times more with each step deeper.",
)


_TABLE = Less(
    "row = np.zeros(width, dtype='int64')  # the results for one value of {first}, in place of {plain}\n"
    "for {first} in range(1, largest + 1):  # from the smallest up, no recursion\n    new = row.copy()\n"
    "    ...  # new[{second}] = what {function} works out, with row[...] in place of its own calls\n    row = new\n\n"
    "row[...]  # in place of {call}",
    "Work it out from the smallest up, and keep the last row only",
    "It keeps an entry for each pair that was asked for. Of the entries, most are needed for the next {first} only.",
)
_LINE = Less(
    "from array import array\n\n{plain} = array('q', [0]) * (largest + 1)  # 8 bytes for each; a list above 9e18\n"
    "for {first} in range(1, largest + 1):  # from the smallest up, no recursion\n"
    "    {plain}[{first}] = ...  # what {function} works out, with {plain}[...] in place of its own calls",
    "Work it out from the smallest up, in an array",
    "An entry of a dict takes a hundred bytes with its key. A cache that forgets them would work them out again.",
)
_POSITIONS = Less(
    "# in {function}, pass on where the rest begins, not the rest: no part is copied, and numbers are cached\n"
    "def {function}({positions}):\n    ...  # {firsts}\n"
    "    ...  # {function}({steps}) in place of {call}",
    "Pass positions to the function, not slices",
    "The cache keeps what each call was given: a copy of the rest of {first} for each of its results.",
)


def of_recursion(store: Store) -> Less | None:
    """Return how a function hands out its results that calls itself and puts them into one list."""
    scope, call = store.scope, next(_own_calls(store.scope), None)
    if call is not None and isinstance(store.statement, ast.Assign):
        return _of_table(store, store.statement, call)
    is_list = isinstance(store.statement, ast.Expr) and len(store.values) == 1
    is_local = store.container in scope.bindings and store.container not in scope.parameters
    if call is None or not is_list or (is_local and not _is_returned(store.container, scope)):
        return None
    value, own = " ".join(scope.segment(store.values[0]).split()), " ".join(scope.segment(call).split())
    is_own = store.values[0] is call
    names = {
        "function": scope.function,
        "parameters": ", ".join(scope.parameters[1:] if scope.owner else scope.parameters),
        "handed": f"yield from {value}" if is_own else f"yield {value}",
        "ends": "yield one; return  # in place of `return [one]`"
        if is_own
        else f"for one in {own}: ...  # goes through them as they come, as now"
        if is_local
        else f"yield from {own}  # in place of {own}",
        "store": " ".join(scope.segment(store.statement).split()),
    }
    return Less(_GATHERED.code.format(**names), _GATHERED.title, _GATHERED.told.format(**names))


def _of_table(store: Store, statement: ast.Assign, call: ast.Call) -> Less | None:
    """Return how results are worked out that a function keeps under what it was given: `memo[i, w] = ...`."""
    scope, names = store.scope, {"plain": store.container, "function": store.scope.function}
    match statement.targets:
        case [ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]))]:
            less = _TABLE
        case [ast.Subscript(slice=ast.Name(id=first))]:
            less, second = _LINE, ""
        case _:
            return None
    if not {first, second} - {""} <= set(scope.parameters):
        return None
    names |= {"first": first, "second": second, "call": " ".join(scope.segment(call).split())}
    return less._replace(code=less.code.format(**names), told=less.told.format(**names))


def of_cached_recursion(scope: Scope) -> Less | None:
    """Return how a function is worked out from the smallest up that calls itself and whose results are all cached."""
    call = next(_own_calls(scope), None)
    if (sliced := _sliced(scope)) is not None:
        return sliced
    if call is None or len(scope.parameters) not in (1, 2):
        return None
    first, second = (*scope.parameters, "")[:2]
    names = {"plain": "values", "function": scope.function, "first": first, "second": second}
    names["call"] = " ".join(scope.segment(call).split())
    less = _TABLE if second else _LINE
    return less._replace(code=less.code.format(**names), told=less.told.format(**names))


def _sliced(scope: Scope) -> Less | None:
    """Return how a function calls itself with positions that calls itself with slices: `lcs(a[1:], b)`."""
    for call in _own_calls(scope):
        rests = {
            one.value.id: one
            for one in call.args
            if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice) and isinstance(one.value, ast.Name)
        }
        if not rests or not rests.keys() <= set(scope.parameters):
            continue
        at = dict(zip(scope.parameters, "ijkl", strict=False))
        steps = [f"{at.get(name, name)} + 1" if name in rests else at.get(name, name) for name in scope.parameters]
        names = {"function": scope.function, "first": next(iter(rests)), "call": scope.segment(call)}
        names |= {"positions": ", ".join(at.values()), "steps": ", ".join(steps)}
        firsts = ", ".join(f"{name}[{where}] in place of {name}[0]" for name, where in at.items())
        return _POSITIONS._replace(
            code=_POSITIONS.code.format(**names, firsts=firsts), told=_POSITIONS.told.format(**names)
        )
    return None


def returned_one_by_one(scope: Scope) -> str | None:
    """Return a function that yields what it returned as lists of its own results; None where it does not."""
    if not isinstance(scope.node, ast.FunctionDef) or next(_own_calls(scope), None) is None:
        return None
    returns = [one for one in scope.nodes if isinstance(one, ast.Return)]
    lines = [line for one in returns for line in _yielded(one, scope)]
    if (
        len(returns) < 2
        or not any("for " in line for line in lines)
        or not all(_yielded(one, scope) for one in returns)
    ):
        return None
    body = "\n".join(f"    {line}" for line in lines)
    parameters = ", ".join(scope.parameters)
    head = f"def {scope.function}({parameters}):  # each result is made when it is asked for"
    use = f"for one in {scope.function}({parameters}):  # look at one after the other; len() is sum(1 for one in ...)"
    return f"{head}\n    # what it returned, in the same places:\n{body}\n\n{use}\n    ..."


def _is_returned(name: str, scope: Scope) -> bool:
    """Whether a function returns what stands under a name."""
    returned = (one.value for one in scope.nodes if isinstance(one, ast.Return))
    return any(isinstance(one, ast.Name) and one.id == name for one in returned)


def _own_calls(scope: Scope) -> Iterator[ast.Call]:
    if scope.function and names_itself(scope):
        yield from (
            one for one in scope.calls if getattr(one.func, "attr", getattr(one.func, "id", "")) == scope.function
        )


def _yielded(statement: ast.Return, scope: Scope) -> list[str]:
    """Return the lines that hand out what a statement returns as a list."""
    match statement.value:
        case ast.List(elts=items):
            return [f"yield {scope.segment(one)}; return" for one in items] or ["return"]
        case ast.ListComp(elt=element, generators=generators):
            lines = list[str]()
            for one in generators:
                lines.append(f"{'    ' * len(lines)}for {scope.segment(one.target)} in {_made(one.iter, scope)}:")
                lines += [f"{'    ' * len(lines)}if {scope.segment(test)}:" for test in one.ifs]
            return [*lines, f"{'    ' * len(lines)}yield {' '.join(scope.segment(element).split())}"]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [_yielded(ast.Return(one), scope) or [f"yield from {_made(one, scope)}"] for one in (left, right)]
            return [line for part in parts for line in part]
    return []


def _made(node: ast.expr, scope: Scope) -> str:
    """Return the text of an expression; of a name for a call that call: a generator can be gone through once."""
    bound = scope.bindings.get(node.id, []) if isinstance(node, ast.Name) else []
    calls = [one.value for one in bound if isinstance(one.value, ast.Call)]
    return scope.segment(calls[0] if len(calls) == len(bound) == 1 else node)
