"""Loops that ask for the end of the data in the wrong type: in binary mode that is b"", and in text mode ""."""

import ast
from typing import NamedTuple

from .endless_reads import OPENERS, READS, asked_for_being_empty, opening_calls
from .loop_changes import called_name
from .notebook import Notebook
from .scopes import Loop, Scope
from .trees import unparse, walk

_BINARY_BY_ITSELF = frozenset({"urlopen", "socket", "create_connection"})
_COMPRESSED = ("gzip", "bz2", "lzma", "zipfile")
_TEXT_OF_POPEN = frozenset({"text", "universal_newlines", "encoding", "errors"})


class MistypedEnd(NamedTuple):
    """The end that a loop asks for, and why it never comes."""

    why: str
    at: ast.expr
    text: str
    """What is to be asked for."""


def mistyped_end(code: Notebook, scope: Scope, loop: Loop) -> MistypedEnd | None:
    """Return what is wrong with `iter(p.stdout.readline, "")` or `while line != "":`, where bytes are read."""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="iter"), args=[reads, ast.Constant(value="" | b"") as mark])):
            parts: list[ast.AST] = [reads]
        case ast.While(
            test=ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value="" | b"") as mark])
        ):
            parts = [left, *loop.body]
        case ast.While():
            return _never_none(code, scope, loop)
        case _:
            return None
    asks = [one.test for part in loop.body for one in walk(part) if isinstance(one, ast.If)]
    if any(map(asked_for_being_empty, asks)):
        return None  # it leaves otherwise
    owners = [one.value for part in parts for one in walk(part) if isinstance(one, ast.Attribute) and one.attr in READS]
    kinds = {_is_binary(code, scope, one) for one in owners}
    if len(kinds) != 1 or (is_binary := kinds.pop()) in (None, isinstance(mark.value, bytes)):
        return None
    what, end = ("bytes", 'b""') if is_binary else ("text", '""')
    told = f"what is read is {what}: at the end of the data it is {end}, which is never equal to {mark.value!r}"
    return MistypedEnd(told, mark, end)


def _never_none(code: Notebook, scope: Scope, loop: ast.While) -> MistypedEnd | None:
    """Return what is wrong with `while line is not None:` and `if line is None: break`, where a file is read."""
    ways = [one.test for one in loop.body if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Break)]
    leaves = sum(isinstance(one, ast.Break | ast.Return | ast.Raise) for part in loop.body for one in walk(part))
    asked = ways if isinstance(loop.test, ast.Constant) else [loop.test]
    if len(asked) != 1 or leaves != len(ways) or (ways and asked != ways):
        return None
    match asked[0]:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]):
            goes_on = isinstance(op, ast.IsNot | ast.NotEq)
        case _:
            return None
    reads = [
        one.value.func.value
        for part in loop.body
        for one in walk(part)
        if isinstance(one, ast.Assign) and [unparse(target) for target in one.targets] == [name]
        if isinstance(one.value, ast.Call)
        and isinstance(one.value.func, ast.Attribute)
        and one.value.func.attr in READS
    ]
    stores = [one for part in loop.body for one in walk(part) if isinstance(one, ast.Name) and one.id == name]
    is_once = sum(not isinstance(one.ctx, ast.Load) for one in stores) == len(reads) == 1
    if not is_once or goes_on == bool(ways) or (is_binary := _is_binary(code, scope, reads[0])) is None:
        return None
    end = 'b""' if is_binary else '""'
    why = f"at the end of the data `{name}` is `{end}`, which is not `None`: the loop goes on with that for ever"
    return MistypedEnd(why, asked[0], name if goes_on else f"not {name}")


def _is_binary(code: Notebook, scope: Scope, owner: ast.expr) -> bool | None:
    """Whether bytes are read; None where the code does not tell."""
    of_program = isinstance(owner, ast.Attribute) and owner.attr in ("stdout", "stderr")
    opened = opening_calls(code, scope, owner.value if isinstance(owner, ast.Attribute) and of_program else owner)
    calls = [one for one in opened if called_name(one) in OPENERS]
    if len(calls) != 1:
        return None
    call, name = calls[0], called_name(calls[0])
    if of_program:
        return None if name != "Popen" else not any(one.arg in (*_TEXT_OF_POPEN, None) for one in call.keywords)
    if name != "open" or any(word in (code.qualified(call.func, scope) or "") for word in _COMPRESSED):
        return True if name in _BINARY_BY_ITSELF else None
    given = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "mode")]
    if isinstance(call.func, ast.Attribute) and call.args:  # Path.open(mode)
        given = [*call.args[:1], *given]
    if any(not isinstance(one, ast.Constant) or not isinstance(one.value, str) for one in given):
        return None
    return any("b" in str(one.value) for one in given if isinstance(one, ast.Constant))
