"""Comprehensions that make far more than they go through: all pairs."""

import ast
from typing import NamedTuple

from ..code.calls import plain_names
from ..code.scopes import Scope

_PAIRS = (
    "for {outer} in {items}:\n    row = [{element} for {inner} in {others}{condition}]  # the pairs of one item\n"
    "    best = max(row)  # of these only what you need: the best, a count, those above a threshold\n\n"
    "# and no pairs of what cannot belong together: group by a key first, compare within the groups"
)


class Large(NamedTuple):
    """What it makes, and how less is made."""

    title: str
    why: str
    code: str


def large_comprehension(made: ast.expr, scope: Scope) -> Large | None:
    """Return how less is made than a list or a set of all pairs; None for another comprehension."""
    return _of_pairs(made, scope) if isinstance(made, ast.ListComp | ast.SetComp) else None


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


def _text(node: ast.expr, scope: Scope) -> str:
    return " ".join(scope.segment(node).split())
