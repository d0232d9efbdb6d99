"""Files that the code maps into memory, and cuts or writes anew while they are mapped."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .calls import last_name
from .endless_reads import opening_calls
from .notebook import Call, Notebook, Running
from .origins import all_origins
from .scopes import Scope
from .trees import unparse

_MAPS = ("numpy.memmap", "numpy.load", "numpy.lib.format.open_memmap", "mmap.mmap")
_CUTS = ("builtins.open", "io.open", "numpy.save", "os.truncate")
_CUTTING_METHODS = ("tofile", "write_bytes", "write_text")


class Cut(NamedTuple):
    """A file that is mapped by one call and cut by another."""

    mapped: Call
    by: ast.Call
    scope: Scope
    """Where the call stands that cuts it."""


def cut_while_mapped(code: Notebook) -> Cut | None:
    """Return the newest call that cuts a file to nothing which had been mapped before; None where no cell does."""
    mapped = {path: call for call in _maps(code) if (path := _path(call.argument(*_names(call)), call.scope, code))}
    ran = [code.at(cell).running for cell in code.cells[: code.last + 1]] if mapped else []
    for at in reversed(range(len(ran))):
        for scope in ran[at]:
            for call in scope.calls:
                for node in _cut_by(call, scope, code):
                    found = mapped.get(_path(node, scope, code) or "")
                    if found is not None and _is_before(found, call, scope, ran[: at + 1]):
                        return Cut(found, call, scope)
    return None


def is_only_read(mapped: Call) -> bool:
    """Whether a call of NumPy maps a file that it does not write to, and no copy is made of it at once."""
    mode = mapped.argument("mmap_mode") if mapped.name == "numpy.load" else mapped.argument("mode", 2)
    is_copied = any(mapped.node in one.args and last_name(one.func) == "array" for one in mapped.scope.calls)
    return isinstance(mode, ast.Constant) and mode.value in ("r", "c") and not is_copied


def _is_before(mapped: Call, by: ast.Call, scope: Scope, ran: list[Running]) -> bool:
    """Whether a file was mapped in an earlier cell than the last one, or in that, and not below what cuts it."""
    if any(one.node is mapped.scope.node for running in ran[:-1] for one in running):
        return True
    is_below = mapped.scope.node is scope.node and mapped.node.lineno >= by.lineno
    return not is_below and any(one.node is mapped.scope.node for one in ran[-1])


def _maps(code: Notebook) -> Iterator[Call]:
    for call in code.calls(*_MAPS):
        mode = call.argument("mmap_mode", 1) if call.name == "numpy.load" else call.argument("mode", 2)
        if call.name == "mmap.mmap" or (
            isinstance(mode, ast.Constant | None) and (mode is not None or call.name != "numpy.load")
        ):
            yield call


def _names(call: Call) -> tuple[str | int, ...]:
    return ({"numpy.load": "file", "mmap.mmap": "fileno"}.get(call.name, "filename"), 0)


def _cut_by(call: ast.Call, scope: Scope, code: Notebook) -> Iterator[ast.expr]:
    """Yield the file that a call cuts to nothing, or may."""
    name, owner = code.qualified(call.func, scope), None if isinstance(call.func, ast.Name) else call.func
    if name in _CUTS and call.args:
        mode = Call(call, scope, name).argument("mode", 1)
        if not name.endswith("open") or (isinstance(mode, ast.Constant) and "w" in str(mode.value)):
            yield call.args[0]
    elif isinstance(owner, ast.Attribute) and owner.attr in _CUTTING_METHODS:
        yield from call.args[:1] if owner.attr == "tofile" else (owner.value,)


def _path(node: ast.expr | None, scope: Scope, code: Notebook) -> str | None:
    """Return a file's path as it is written at the end of the chain of names; else the code that stands for it."""
    match node:
        case None:
            return None
        case ast.Call(func=ast.Attribute(attr="fileno", value=owner)):
            opened = opening_calls(code, scope, owner)
            return _path(opened[0].args[0], scope, code) if opened and opened[0].args else None
    last = all_origins(node, scope, code)[-1]
    match last.node:
        case ast.Constant(value=str(path)) | ast.Call(args=[ast.Constant(value=str(path))], keywords=[]):
            return path
    return unparse(last.node)
