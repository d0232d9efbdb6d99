"""What a dict holds that a call takes its arguments from, as `generate(**self.options)` does."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from .attributes import Origin
from .origins import Origins
from .scopes import Scope

_DEEPEST = 5  # dicts in dicts


class Entry(NamedTuple):
    """A key that is written, and what it stands for."""

    key: object
    at: Origin
    is_sure: bool
    """It has this value in every call, wherever the dict comes from."""


def dict_entries(table: Origin, origins: Origins, depth: int = 0, *, is_sure: bool = True) -> Iterator[Entry]:
    """Yield the entries of a dict, also of those that it takes in with `**`; nothing without a dict."""
    inner, scope = list[Origin](), table.scope
    match table.node:
        case ast.Dict(keys=keys, values=values) if depth <= _DEEPEST:
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield Entry(key.value, Origin(value, scope), is_sure)
                elif key is None:
                    yield from dict_entries(Origin(value, scope), origins, depth + 1, is_sure=is_sure)
        case ast.BoolOp(values=values) if depth <= _DEEPEST:  # which of them it was, is not known
            inner, is_sure = [Origin(value, scope) for value in values], False
        case ast.Name() | ast.Attribute() as node if depth < _DEEPEST:
            inner = origins.of(node, scope)
            is_sure = is_sure and len(inner) == 1
            if isinstance(node, ast.Name) and node.id == _rest_of_arguments(scope):
                for call, caller in origins.calls_of(scope):
                    given = (word for word in call.keywords if word.arg and word.arg not in scope.parameters)
                    yield from (Entry(word.arg, Origin(word.value, caller), is_sure=False) for word in given)
    for one in inner:
        yield from dict_entries(one, origins, depth + 1, is_sure=is_sure)


def _rest_of_arguments(scope: Scope) -> str | None:
    """Return the name of the parameter that takes all other arguments, `**options`."""
    rest = scope.node.args.kwarg if isinstance(scope.node, ast.FunctionDef) else None
    return None if rest is None else rest.arg
