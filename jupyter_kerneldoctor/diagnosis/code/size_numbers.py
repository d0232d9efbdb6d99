"""The numbers in the code that say how much a statement makes: `POPULATION = 200`, `num_beams=40`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from .attributes import Origin
from .dict_entries import dict_entries
from .literals import number
from .notebook import Notebook
from .origins import Origins, all_origins
from .scopes import Scope
from .trees import walk

_LEAST = 4
"""Less is a number of dimensions, or of copies."""
_SIZES = re.compile(
    r"(?:^|_)(?:num|nb|max|size|len|length|width|height|bins?|samples?|rows?|cols?|columns?|points?|steps?|beams?"
    r"|depth|degree|features?|channels?|hidden|units|pop|population|resolution|res|grid|capacity|particles?|paths?"
    r"|simulations?|items?|users?|tokens|frames?|sequences|envs?|batch|chunk|block)(?:_|$)",
    re.IGNORECASE,
)
_NO_SIZES = re.compile(
    r"(?:^|_)(?:axis|dim|seed|state|random|port|timeout|workers?|jobs?|threads?|epochs?|iters?|iterations?|rate|lr"
    r"|verbose|level|precision|decimals?|version|freq|year|day|month|patience|stride|padding|ndim|dtype|min|components"
    r"|font|line|value|retries|tries|attempts|test|neighbors|clusters|vocab|classes|folds|splits|estimators)(?:_|$)",
    re.IGNORECASE,
)


class SizeNumber(NamedTuple):
    """A number that is written in a cell under a name, and where."""

    name: str
    value: int
    at: Origin
    is_assigned: bool
    """It stands alone behind `name =`; else it is an argument, a default or an entry."""

    @property
    def sounds_like_a_size(self) -> bool:
        """Whether its name is one of those that people give to sizes and counts."""
        return _SIZES.search(self.name) is not None

    def written(self, value: int) -> str:
        """Return how it would be written with a value: `POPULATION = 200`, `num_beams=40`."""
        return f"{self.name} = {value:_}" if self.is_assigned else f"{self.name}={value:_}"


def size_numbers(statement: ast.stmt | ast.expr, scope: Scope, code: Notebook) -> list[SizeNumber]:
    """Return the numbers that what code makes was worked out of, nearest first. Raises CodeTooLargeError."""
    origins, found = Origins(code), dict[int, SizeNumber]()
    functions = {id(node.func) for node in walk(statement) if isinstance(node, ast.Call)}
    for node in walk(statement):
        if id(node) in functions or not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            continue
        if not isinstance(node, ast.Call) and isinstance(node.ctx, ast.Store):
            continue
        for one in all_origins(node, scope, code, parts=True):
            for size in _named_numbers(one, origins):
                found.setdefault(id(size.at.node), size)
    return list(found.values())


def _named_numbers(origin: Origin, origins: Origins) -> Iterator[SizeNumber]:
    """Yield the number behind a name, and those that a call is given by name."""
    for name, (node, scope) in _named(origin, origins):
        known = origins.number(node, scope, now=True)
        if known is not None and known[0] >= _LEAST and not _NO_SIZES.search(name):
            yield _as_written(name, *known)


def _named(origin: Origin, origins: Origins) -> Iterator[tuple[str, Origin]]:
    node, scope = origin
    if isinstance(node, ast.Name | ast.Attribute):
        yield (node.id if isinstance(node, ast.Name) else node.attr), origin
    elif isinstance(node, ast.Call):
        for word in node.keywords:
            if word.arg is None:
                yield from ((str(one.key), one.at) for one in dict_entries(Origin(word.value, scope), origins))
            elif number(word.value):
                yield word.arg, Origin(word.value, scope)


def _as_written(name: str, value: int, at: Origin) -> SizeNumber:
    match at.scope.statement_of(at.node):
        case ast.Assign(targets=[target], value=written) | ast.AnnAssign(target=target, value=written) if (
            written is at.node
        ):
            return SizeNumber(at.scope.segment(target), value, at, is_assigned=True)
    return SizeNumber(name, value, at, is_assigned=False)
