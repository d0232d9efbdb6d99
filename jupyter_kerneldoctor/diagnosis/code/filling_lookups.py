"""Look-ups that fill a `defaultdict`: `for x in table[key]` makes an entry of each key that it has not."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .calls import last_name
from .notebook import Notebook
from .scopes import Scope
from .stores import container_name, stores
from .trees import walk

_ADDERS = frozenset(
    {"append", "appendleft", "add", "extend", "insert", "update", "setdefault", "put", "push", "sort", "remove", "pop"}
)
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
    """Yield where the entries of a dict are read, and nothing is put into them."""
    for scope in scopes:
        own = {id(one.statement) for one in stores([scope]) if _is_same_name(one.container, name)}
        parents = {id(child): one for one in scope.nodes for child in ast.iter_child_nodes(one)}
        for node in scope.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_same(node.value, name):
                above = parents.get(id(node))
                if above is None or id(scope.statement_of(node)) in own:
                    continue
                if _only_reads(node, above, scope, code):
                    iterated = isinstance(above, ast.For | ast.AsyncFor | ast.comprehension) and above.iter is node
                    yield Lookup(node, scope, iterated)


def empty_entry(name: str, code: Notebook) -> str | None:
    """Return what a `defaultdict` of this name makes, as it is written: `[]`; None where that is not known."""
    last = name.rpartition(".")[2]
    for scope in code.scopes_mentioning("defaultdict"):
        for node in scope.nodes:
            match node:
                case (
                    ast.Assign(targets=[target], value=ast.Call(func=made, args=[ast.Name(id=kind), *_]))
                    | ast.AnnAssign(target=target, value=ast.Call(func=made, args=[ast.Name(id=kind), *_]))
                ) if last_name(made) == "defaultdict" and container_name(target).rpartition(".")[2] == last:
                    return _EMPTY.get(kind)
    return None


def _is_same(node: ast.expr, name: str) -> bool:
    """Whether an expression is the dict of this name: `self.table` in a method is `index.table` outside."""
    return isinstance(node, ast.Name | ast.Attribute) and _is_same_name(container_name(node), name)


def _is_same_name(written: str, name: str) -> bool:
    if "." not in written or "." not in name:
        return written == name
    return written.rpartition(".")[2] == name.rpartition(".")[2]


def _only_reads(node: ast.Subscript, above: ast.AST, scope: Scope, code: Notebook) -> bool:
    match above:
        case ast.Attribute(attr=attr):
            return attr not in _ADDERS
        case ast.Subscript(ctx=context):
            return above.value is not node or isinstance(context, ast.Load)
        case ast.Call(func=function, args=given):
            return node in given and last_name(function) in _READS
        case ast.AugAssign(target=target):
            return target is not node
        case ast.Assign(targets=[ast.Name(id=bound)]):
            return not any(one.container == bound for one in stores([scope])) and not _is_handed_on(bound, scope)
        case ast.Return():
            return not _is_filled_by_callers(scope, code)
        case ast.For() | ast.comprehension() | ast.Compare() | ast.BinOp() | ast.If() | ast.While() | ast.UnaryOp():
            return True
        case ast.BoolOp() | ast.IfExp() | ast.Starred() | ast.FormattedValue() | ast.Expr():
            return True
    return False


def _is_handed_on(name: str, scope: Scope) -> bool:
    """Whether an entry that has a name is given to what may fill it, or kept elsewhere."""
    for one in scope.nodes:
        match one:
            case ast.Call(func=function, args=given):
                if last_name(function) not in _READS and any(getattr(part, "id", None) == name for part in given):
                    return True
            case ast.Return(value=ast.Name(id=found)) | ast.Assign(value=ast.Name(id=found)) if found == name:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=attr)) if found == name and attr in _ADDERS:
                return True
    return False


def _is_filled_by_callers(function: Scope, code: Notebook) -> bool:
    """Whether what a function returns is filled where it is called: `index.bucket(key).append(x)`."""
    name = function.function
    for scope in code.scopes_mentioning(name) if name else ():
        for one in scope.nodes:
            match one:
                case ast.Attribute(value=ast.Call(func=called), attr=attr) if last_name(called) == name:
                    if attr in _ADDERS:
                        return True
                case ast.Assign(targets=[ast.Name(id=bound)], value=value) if any(
                    isinstance(part, ast.Call) and last_name(part.func) == name for part in walk(value)
                ):
                    if any(store.container == bound for store in stores([scope])):
                        return True
    return False
