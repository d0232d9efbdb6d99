"""Comprehensions that make far more than they go through: all pairs, and a copy of a part for each place."""

import ast
from typing import NamedTuple

from ..code.calls import plain_names
from ..code.scopes import Scope
from ..code.trees import walk

_PAIRS = (
    "for {outer} in {items}:\n    row = [{element} for {inner} in {others}{condition}]  # the pairs of one item\n"
    "    best = max(row)  # of these only what you need: the best, a count, those above a threshold\n\n"
    "# and no pairs of what cannot belong together: group by a key first, compare within the groups"
)
_PARTS = (
    "starts = range(...)  # the numbers of the places, as in the comprehension: no copy of any part\n"
    "part = {part}  # when it is looked at, one at a time\n\n"
    "order = sorted(starts, key=lambda {place}: {part})  # sorted by the parts, with one number for each\n"
    "seen = {{hash({part}) for {place} in starts}}  # or 8 bytes of each, to count different ones"
)


class Large(NamedTuple):
    """What it makes, and how less is made."""

    title: str
    why: str
    code: str


def large_comprehension(made: ast.expr, scope: Scope) -> Large | None:
    """Return how less is made than a list or a set of all pairs or parts; None for another comprehension."""
    return _of_pairs(made, scope) or _of_parts(made, scope) if isinstance(made, ast.ListComp | ast.SetComp) else None


def _of_pairs(made: ast.ListComp | ast.SetComp, scope: Scope) -> Large | None:
    if len(made.generators) != 2:
        return None
    first, second = made.generators
    of_first, of_second, named = (plain_names(one) for one in (first.target, second.target, made.elt))
    if not named & of_first or not named & of_second or plain_names(second.iter) & of_first:
        return None
    tests = [_text(test, scope) for test in (*first.ifs, *second.ifs)]
    return Large(
        "Look at the pairs of one item at a time, and keep the best",
        "It makes an item for each pair: of 10,000 there are 100 million.",
        _PAIRS.format(
            outer=_text(first.target, scope),
            items=_text(first.iter, scope),
            inner=_text(second.target, scope),
            others=_text(second.iter, scope),
            element=_text(made.elt, scope),
            condition=f" if {' and '.join(tests)}" if tests else "",
        ),
    )


def _of_parts(made: ast.ListComp | ast.SetComp, scope: Scope) -> Large | None:
    places = {name for one in made.generators for name in plain_names(one.target)}
    parts = [one for one in walk(made.elt) if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice)]
    found = {name for one in parts for name in plain_names(one.slice)} & places
    if not found or not isinstance(made.elt, ast.Subscript | ast.BinOp | ast.Call):
        return None
    return Large(
        "Keep where each part begins, not a copy of each",
        "It copies a part for each place: the parts overlap, and hold the same many times.",
        _PARTS.format(part=_text(made.elt, scope), place=min(found)),
    )


def _text(node: ast.expr, scope: Scope) -> str:
    return " ".join(scope.segment(node).split())
