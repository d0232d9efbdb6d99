"""Data sets that read all of their files in `__init__`, although `__getitem__` could read what it is asked for."""

import ast
import re

from ..code.notebook import Notebook
from ..code.scopes import Scope
from ..code.trees import walk
from ..edits import Changes, replace

_JOINS = frozenset({"numpy.array", "numpy.asarray", "numpy.stack", "torch.stack"})
_OF_BATCHES = ("PyDataset", "Sequence")


def read_when_asked(items: ast.ListComp, scope: Scope, code: Notebook) -> Changes:
    """Return the edit that keeps the files' names and reads them in `__getitem__`; none where that is not clear."""
    statement = scope.statement_of(items)
    own = scope.parameters[:1]
    match statement, items.generators:
        case (
            ast.Assign(targets=[ast.Attribute(attr=kept, value=ast.Name(id=me))], value=value),
            [ast.comprehension(target=ast.Name(id=each), iter=ast.Name(id=files), ifs=[])],
        ) if [me] == own and scope.function == "__init__" and files in scope.parameters:
            join = _join(value, items, scope, code)
        case _:
            return ()
    methods = [one for one in code.scopes(scope.cell) if one.owner == scope.owner and one is not scope]
    served = [one for one in methods if one.function == "__getitem__" and one.parameters[:1] == own]
    local = {*scope.bindings} - {each, me}
    reads = {one.id for one in walk(items.elt) if isinstance(one, ast.Name)}
    counted = {id(one.args[0]) for method in methods for one in method.calls if one.args and _counts(one)}
    found = (one for method in methods for one in method.names if isinstance(one, ast.Attribute) and one.attr == kept)
    uses = [one for one in found if id(one) not in counted]
    if join is None or len(served) != 1 or reads & local or len(uses) != 1 or each not in reads:
        return ()
    (get,) = served
    asked = [one for one in get.nodes if isinstance(one, ast.Subscript) and one.value is uses[0]]
    text, index = scope.segment(items.elt), get.parameters[-1]
    if len(asked) != 1:
        return ()
    entry = get.segment(asked[0])
    if _gives_batches(scope, code):
        new, names = f"{join}([{text} for {each} in {entry}])", f"{join}({files})"
        if not join or join.endswith("stack"):
            return ()
    elif isinstance(asked[0].slice, ast.Name) and asked[0].slice.id == index:
        new, names = re.sub(rf"(?<![\w.]){each}(?!\w)", lambda _: entry, text), f"list({files})"
    else:
        return ()
    return replace(scope, value, names) + replace(get, asked[0], new)


def _join(value: ast.expr, items: ast.ListComp, scope: Scope, code: Notebook) -> str | None:
    """Return how the items are put together, `np.array`, or "" for a list; None for what else is done with them."""
    match value:
        case ast.ListComp() if value is items:
            return ""
        case ast.Call(func=function, args=[inner], keywords=[]) if inner is items:
            return scope.segment(function) if code.qualified(function, scope) in _JOINS else None
    return None


def _counts(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "len"


def _gives_batches(init: Scope, code: Notebook) -> bool:
    """Whether the class is one of Keras, whose `__getitem__` gives a batch."""
    return any(name.endswith(_OF_BATCHES) for name in code.bases_of(init))
