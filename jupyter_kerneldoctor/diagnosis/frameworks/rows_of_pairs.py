"""Loops that keep a score of each item with each other, row by row: `sim[a] = {b: score(a, b) for b in items}`."""

import ast

from ..code.calls import plain_names
from ..code.notebook import Notebook
from ..code.stores import Store
from .kept_rows import Less

_BEST = Less(
    "import heapq\n\nscores = (({score}, {other}) for {other} in {items})  # one after the other\n"
    "{target} = heapq.nlargest(10, scores, key=lambda one: one[0])  # the ten best of each; nsmallest for distances\n\n"
    "# or those above a threshold: [one for one in scores if one[0] >= threshold]; numbers: np.array(..., 'float32')",
    "Keep the best few of each, not a score for each pair",
    "There is an entry of some hundred bytes for each pair: of 10,000 items 100 million.",
)


def of_rows_of_pairs(store: Store, code: Notebook) -> Less | None:  # noqa: ARG001 - as the others
    """Return how only the best scores of each item are kept; None where it is no score of each pair."""
    match store.statement:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(), slice=ast.Name(id=one)) as target],
            value=ast.DictComp(
                key=ast.Name(id=other), value=score, generators=[ast.comprehension(ast.Name(id=named), iter=items)]
            ),
        ) if other == named:
            pass
        case _:
            return None
    if one == other or not isinstance(score, ast.Call | ast.BinOp) or not {one, other} <= plain_names(score):
        return None
    segment = store.scope.segment
    named_texts = {"score": segment(score), "other": other, "items": segment(items), "target": segment(target)}
    return _BEST._replace(code=_BEST.code.format(**named_texts))
