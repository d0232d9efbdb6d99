"""Scores of all pairs, kept row by row: the best few of each are kept in their place."""

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.examples import MIB
from jupyter_kerneldoctor.diagnosis.proposals import propose
from jupyter_kerneldoctor.recording.events import NamedObject

_HELD = NamedObject("near", "dict", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0, item_type="dict")
_BEST = "near[a] = heapq.nlargest(10, scores"


def _snippets(cell: str) -> str:
    return "\n".join(one.snippet or "" for one in propose(Case(cell, grew=_HELD).death()))


def test_the_best_few_of_each_are_kept():
    assert _BEST in _snippets("near = {}\nfor a in xs:\n    near[a] = {b: alike(a, b) for b in xs if a != b}")


@pytest.mark.parametrize("body", ["{b: 0 for b in xs}", "{b: name(b) for b in xs}"])
def test_what_is_no_score_of_a_pair_is_left_alone(body):
    assert "nlargest" not in _snippets(f"near = {{}}\nfor a in xs:\n    near[a] = {body}")
