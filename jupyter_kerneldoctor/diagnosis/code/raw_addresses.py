"""The calls of ctypes that use a number of the code as a memory address."""

import ast
from collections.abc import Callable

from .notebook import Call, Notebook
from .origins import all_origins
from .scopes import Scope

RAW = tuple(f"ctypes.{name}" for name in ("string_at", "wstring_at", "memmove", "memset", "memoryview_at"))
"""What uses an address as it is."""


def raw_addresses(code: Notebook, is_there: Callable[[ast.expr, Scope], bool]) -> list[tuple[Call, int]]:
    """Return the calls that may have been running and whose address the code itself gives, and that address."""
    found = []
    for call in code.running.calls(*RAW) if code.imports("ctypes") else ():
        is_it = code.is_at_line(call.node, call.scope) and is_there(call.node, call.scope)
        given = all_origins(call.node.args[0], call.scope, code) if is_it and call.node.args else []
        match [one.node for one in given if not isinstance(one.node, ast.Name | ast.Attribute)]:
            case [ast.Constant(value=int() | None as address)]:
                found.append((call, address or 0))
    return found
