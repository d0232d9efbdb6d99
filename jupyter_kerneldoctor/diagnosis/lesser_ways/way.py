"""What an entry is: calls that make too much, what is wrong with them, and a snippet that makes less.

`calls` are full names; or `.fetchall`, any method of that name, or `.()`, any object that is called. A snippet may name
`{owner}` (what a method is called on, or the object), `{table}` (where that begins), `{column}` (without `.str`), and
`{a0}`, `{a1}`: the call's first arguments as they are written.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..calls import calls_at
from ..case import Case
from ..code.notebook import Call
from ..code.origins import all_origins
from ..death import Death


class LesserWay(NamedTuple):
    """What a function makes too much of, and another way."""

    calls: tuple[str, ...]
    title: str
    makes: str
    """What is wrong with the call, as a sentence that follows it."""
    snippet: str
    example: Case
    """In which it is proposed."""
    fits: Callable[[Call, Death], bool] = lambda _call, _death: True


def running(way: LesserWay, death: Death) -> Iterator[Call]:
    """Yield the calls of an entry that may have been running at the death, where the cell took the memory."""
    known = [one for one in way.calls if not one.startswith(".")]
    methods = {one[1:] for one in way.calls} if not known else set()
    found = [*calls_at(death, *known)] if known else []
    for scope in death.code.running if methods and death.is_of_this_cell else ():
        found += [Call(node, scope, way.calls[0]) for node in scope.calls if methods & set(_called(node))]
    at_work = (one for one in found if known or death.was_running(one.node, one.scope))
    yield from (one for one in at_work if way.fits(one, death))


def _called(node: ast.Call) -> tuple[str, ...]:
    """Return the method that is called, "()" for an object, and both where an attribute of `self` may be either."""
    match node.func:
        case ast.Attribute(attr=method, value=ast.Name(id="self")):
            return method, "()"
        case ast.Attribute(attr=method):
            return (method,)
    return ("()",)


def names(call: Call) -> dict[str, str]:
    """Return what the texts of an entry may name of a call."""
    segment, function = call.scope.segment, call.node.func
    owner = segment(function.value) if isinstance(function, ast.Attribute) else segment(function)
    given = {f"a{at}": segment(one) for at, one in enumerate(call.node.args[:2])}
    table = owner.split(".")[0].split("[")[0] if not owner.startswith("self.") else owner.split("[")[0]
    owner = segment(function) if call.name.startswith("jax.") else owner
    return {"owner": owner, "column": owner.removesuffix(".str"), "table": table, "a0": "data", "a1": "other", **given}


def is_made_by(*makers: str) -> Callable[[Call, Death], bool]:
    """Return a test whether what a method is called on, or an object that is called, was made by one of these."""

    def test(call: Call, death: Death) -> bool:
        function = call.node.func
        owner = function.value if isinstance(function, ast.Attribute) else function
        return any(name.endswith(makers) for name in made_by(owner, call, death))

    return test


def made_by(node: ast.expr, call: Call, death: Death) -> Iterator[str]:
    for one, where in all_origins(node, call.scope, death.code):
        if isinstance(one, ast.Call) and (name := death.code.qualified(one.func, where)):
            yield name
