"""Look-ups that fill a `defaultdict`: `for x in table[key]` makes an entry of each key that it has not."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .calls import last_name
from .notebook import Notebook
from .scopes import Scope
from .stores import container_name, stores
from .trees import unparse, walk

_READING = frozenset(
    {"get", "items", "keys", "values", "index", "count", "copy", "union", "intersection", "difference", "isdisjoint"}
    | {"issubset", "issuperset", "symmetric_difference", "startswith", "endswith", "split", "strip", "lower", "upper"}
)
"""Methods of lists, sets, dicts and texts that put nothing into them."""
_READS = frozenset(
    {
        "any",
        "all",
        "enumerate",
        "iter",
        "len",
        "list",
        "max",
        "min",
        "print",
        "reversed",
        "set",
        "sorted",
        "sum",
        "tuple",
    }
    | {"zip", "bool", "float", "int", "str", "join", "intersection", "union", "difference", "isdisjoint", "get", "next"}
)
_EMPTY = {"list": "[]", "set": "set()", "dict": "{}", "tuple": "()", "str": "''", "int": "0", "float": "0.0"}


class Lookup(NamedTuple):
    """A place that asks for the entry of a key, and only reads it."""

    node: ast.Subscript
    scope: Scope
    is_iterated: bool
    """Whether it goes through the entry, so that any empty one does."""


def lookups(scopes: Iterable[Scope], name: str, code: Notebook) -> Iterator[Lookup]:
    """Yield where the entries of a dict are read, and nothing is put into them, not even a little later."""
    for scope in scopes:
        asked = [one for one in scope.nodes if isinstance(one, ast.Subscript) and _is_same(one.value, name)]
        own = {id(one.statement) for one in stores([scope]) if _is_same_name(one.container, name)} if asked else set()
        uses = _Uses(scope, code)
        reads = [one for one in asked if id(scope.statement_of(one)) not in own and uses.only_read(one)]
        filled = {_round(one, scope) for one in asked if one not in reads}
        for node in reads:
            if _round(node, scope) not in filled:
                above = uses.above(node)
                iterated = isinstance(above, ast.For | ast.AsyncFor | ast.comprehension) and above.iter is node
                yield Lookup(node, scope, iterated)


def empty_entry(name: str, code: Notebook) -> str | None:
    """Return what a `defaultdict` of this name makes, as it is written: `[]`; None where that is not known."""
    last, kinds = name.rpartition(".")[2], set[str]()
    for scope in code.scopes_mentioning("defaultdict"):
        for node in scope.nodes:
            match node:
                case (
                    ast.Assign(targets=[target], value=ast.Call(func=made, args=[kind, *_]))
                    | ast.AnnAssign(target=target, value=ast.Call(func=made, args=[kind, *_]))
                ) if last_name(made) == "defaultdict" and container_name(target).rpartition(".")[2] == last:
                    kinds.add(kind.id if isinstance(kind, ast.Name) else "")
    return _EMPTY.get(kinds.pop()) if len(kinds) == 1 else None


def _round(node: ast.Subscript, scope: Scope) -> tuple[str, tuple[ast.AST, ...]]:
    """Return what is asked for, and the loop that asks: what one statement reads of a round, another may fill."""
    return unparse(node.slice), tuple(scope.loops_around(node)[:1])


def _is_same(node: ast.expr, name: str) -> bool:
    """Whether an expression is the dict of this name: `self.table` in a method is `index.table` outside."""
    return isinstance(node, ast.Name | ast.Attribute) and _is_same_name(container_name(node), name)


def _is_same_name(written: str, name: str) -> bool:
    if "." not in written or "." not in name:
        return written == name
    return written.rpartition(".")[2] == name.rpartition(".")[2]


class _Uses:
    """What the code of a scope does with the value of an expression."""

    def __init__(self, scope: Scope, code: Notebook) -> None:
        self._scope, self._code = scope, code
        self._parents = {id(child): one for one in scope.nodes for child in ast.iter_child_nodes(one)}
        self._names = set[str]()

    def above(self, node: ast.AST) -> ast.AST | None:
        """Return what an expression stands in."""
        return self._parents.get(id(node))

    def only_read(self, node: ast.expr) -> bool:
        """Whether nothing is put into the value there, nor where it goes from there."""
        if isinstance(node, ast.Subscript | ast.Name) and not isinstance(node.ctx, ast.Load):
            return False
        match above := self.above(node):
            case ast.Attribute(attr=attr, ctx=ast.Load()):
                return attr in _READING
            case ast.Subscript(ctx=context):
                return above.value is not node or isinstance(context, ast.Load)
            case ast.Call(func=function, args=given):
                return node in given and last_name(function) in _READS
            case ast.Assign(targets=[ast.Name(id=bound)]):
                return self._is_only_read(bound)
            case ast.Return():
                return not _is_filled_by_callers(self._scope, self._code)
            case ast.IfExp() | ast.BoolOp():
                return getattr(above, "test", None) is node or self.only_read(above)
            case ast.For() | ast.comprehension() | ast.Compare() | ast.BinOp() | ast.If() | ast.While() | ast.UnaryOp():
                return True
            case ast.Starred() | ast.FormattedValue() | ast.AugAssign():
                return True
        return False

    def _is_only_read(self, name: str) -> bool:
        """Whether the value that has a name is nowhere filled by it, or kept elsewhere."""
        if name in self._names:
            return True
        self._names.add(name)
        loads = [one for one in self._scope.names if isinstance(one, ast.Name) and one.id == name]
        is_filled = any(one.container == name for one in stores([self._scope]))
        return not is_filled and all(self.only_read(one) for one in loads if isinstance(one.ctx, ast.Load))


def _is_filled_by_callers(function: Scope, code: Notebook) -> bool:
    """Whether what a function returns is filled where it is called: `index.bucket(key).append(x)`."""
    name = function.function
    for scope in code.scopes_mentioning(name) if name else ():
        for one in scope.nodes:
            match one:
                case ast.Attribute(value=ast.Call(func=called), attr=attr) if last_name(called) == name:
                    if attr not in _READING:
                        return True
                case ast.Assign(targets=[ast.Name(id=bound)], value=value) if any(
                    isinstance(part, ast.Call) and last_name(part.func) == name for part in walk(value)
                ):
                    if any(store.container == bound for store in stores([scope])):
                        return True
    return False
