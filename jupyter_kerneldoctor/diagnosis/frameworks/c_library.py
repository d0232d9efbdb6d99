"""The functions of a C library as the cells declare them, and as the C code in the cells has them."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from ..code.c_prototypes import c_library, prototypes
from ..code.notebook import Notebook, Scope
from ..code.origins import all_origins
from ..code.raw_addresses import RAW
from ..code.trees import unparse
from ..edits import Changes, import_as, insert_after

_C_LIBRARY = re.compile(r"\(None\)|\blibc\b|find_library\(['\"]c['\"]\)")
"""How the C library is loaded."""
_LOADED = ("ctypes.CDLL(", "ctypes.cdll.", "ctypes.PyDLL(")
_PERMISSIONS = {"WRITE": 2, "EXEC": 4}
"""PROT_WRITE and PROT_EXEC of mmap(2)."""


def declared(functions: set[str], code: Notebook) -> set[str]:
    """Return which declarations the cells make of a function that goes by these names."""
    found = set[str]()
    for scope in code.scopes_mentioning("argtypes", "restype"):
        for node in scope.names:
            match node:
                case ast.Attribute(attr="argtypes" | "restype" as what, ctx=ast.Store(), value=ast.Call()):
                    found.add(what)  # getattr(lib, name), of whichever
                case ast.Attribute(attr=what, ctx=ast.Store(), value=ast.Attribute(attr=name) | ast.Name(id=name)):
                    found |= {what} if name in functions else set()
    return found


def cut_address(code: Notebook, is_there: Callable[[ast.Call, Scope], bool]) -> str | None:
    """Return the function of a library whose address ctypes took for a C int, where such a call reads from that."""

    def is_library(node: ast.expr, where: Scope) -> bool:
        return (code.described(node, where) or "").startswith(_LOADED)

    for scope in code.running:
        for call in scope.calls:
            if not call.args or code.qualified(call.func, scope) not in RAW or not is_there(call, scope):
                continue
            for made, where in undeclared_makers(call.args[0], scope, code, is_library):
                return where.segment(made.func)
    return None


def undeclared_makers(
    given: ast.expr, scope: Scope, code: Notebook, is_library: Callable[[ast.expr, Scope], bool]
) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls of a library's functions that gave an argument, and that nobody declared to give addresses."""
    for one, where in all_origins(given, scope, code):
        match one:
            case ast.Call(func=ast.Attribute(attr=name, value=library)):
                if is_library(library, where) and "restype" not in declared({name}, code):
                    yield one, where


def as_written(node: ast.Call, scope: Scope, makers: Iterable[str], code: Notebook) -> tuple[list[str], Changes]:
    """Return the declarations of a library's functions, and the edit that makes them.

    They are known where the cells hold the C code, and for an address that the C library itself gave.
    """
    owner, _, name = scope.segment(node.func).rpartition(".")
    made = [one.rpartition(".") for one in makers]
    loads = [
        (where, statement)
        for one, where in all_origins(node.func, scope, code)
        if isinstance(one, ast.Call)
        and isinstance(statement := where.statement_of(one), ast.Assign)
        and unparse(statement.targets[0]) == owner
    ]
    is_of_c = bool(made and loads) and _C_LIBRARY.search(unparse(loads[-1][1].value)) is not None
    known = {**(c_library() if is_of_c else {}), **prototypes(code)}
    if name not in known or any(at != owner or one not in known for at, _, one in made):
        return [], ()
    lines = []
    for one in dict.fromkeys((name, *(maker for _, _, maker in made), *_called_on(owner, scope, code))):
        if (written := known.get(one)) is None:
            continue
        told = declared({one}, code)
        values = {"argtypes": f"[{', '.join(written.arguments)}]", "restype": written.result}
        lines += [f"{owner}.{one}.{what} = {values[what]}" for what in sorted({*values} - told)]
    if not loads:
        return lines, ()
    alias, imported = import_as(loads[-1][0], code, "ctypes", "ctypes")
    lines = [one.replace("ctypes.", f"{alias}.") for one in lines]
    return lines, imported + insert_after(*loads[-1], *lines)


def _called_on(owner: str, own: Scope, code: Notebook) -> list[str]:
    """Return the other functions of the library that are called by the same name of it: a whole address needs them."""
    return [
        node.func.attr
        for scope in code.scopes_mentioning(owner.rpartition(".")[2])
        for node in scope.calls
        if isinstance(node.func, ast.Attribute) and unparse(node.func.value) == owner
        if not owner.startswith("self.") or scope.owner == own.owner
    ]


def none_of(given: ast.expr, scope: Scope, code: Notebook) -> str | None:
    """Return the code by which an argument may be None; None where it is not, or None itself is written there."""
    for one, where in all_origins(given, scope, code):
        match one:
            case ast.Constant(value=None) if one is not given:
                statement = where.statement_of(one)
                return where.segment(statement or one).partition("\n")[0]
            case ast.Call(func=ast.Attribute(attr="get"), args=[_], keywords=[]):
                return where.segment(one)
            case ast.Name(id=name):
                for loop in (node for node in where.nodes if isinstance(node, ast.For)):
                    of_name = all_origins(loop.iter, where, code) if unparse(loop.target) == name else ()
                    if any(_holds_none(values) for values, _ in of_name):
                        return f"for {name} in {where.segment(loop.iter)}"
    return None


def _holds_none(values: ast.expr) -> bool:
    return isinstance(values, ast.List | ast.Tuple) and any(unparse(one) == "None" for one in values.elts)


def is_permitted(prot: ast.expr | None, what: str) -> bool:
    """Whether memory of mmap(2) is asked for with a permission, "WRITE" or "EXEC", or that cannot be told.

    Without any, Python's `mmap` may be read and written.
    """
    match prot:
        case None:
            return what != "EXEC"
        case ast.Constant(value=int() as value):
            return bool(value & _PERMISSIONS[what])
        case _:
            return what in unparse(prot) or "PROT" not in unparse(prot)
