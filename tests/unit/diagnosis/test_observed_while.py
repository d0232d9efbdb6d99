"""The loop that a cell at work was in whenever it was looked at, and what brings it to its end."""

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.examples import MIB, recording
from jupyter_kerneldoctor.diagnosis.examples.stuck import at_work, frame

STEADY = (100 * MIB,) * 3
UNTIL = "while error(x) > tol:\n    x = step(x)"
DRAWS = "while True:\n    crop = draw()\n    if crop.sum() > 0:\n        break"


def told(source, line, *inner, looks=3):
    stacks = at_work(source, line, *inner)[-looks:]
    answer = diagnose(recording(source, alive=True, memory=STEADY, stacks=stacks))
    assert answer.cause.id == "no-death"
    return [one.text for one in answer.cause.evidence if "looks" in one.text]


def test_the_loop_and_what_it_asks():
    assert told(UNTIL, 2, frame("random.py", "randint")) == [
        "At 3 looks within 8.0 s it was in the loop `while error(x) > tol` (cell [1], line 1)."
    ]


def test_the_ways_out_of_a_loop_without_a_condition():
    (text,) = told(DRAWS, 2)
    assert text.endswith("in the loop `while True` (cell [1], line 1). It is left where `crop.sum() > 0`.")


@pytest.mark.parametrize(("source", "line"), [("for x in xs:\n    f(x)", 2), ("f()", 1), (f"{UNTIL}\ng(x)", 3)])
def test_no_loop_of_which_this_is_worth_telling(source, line):
    assert told(source, line) == []


def test_a_loop_that_was_seen_for_a_moment_only():
    assert told(UNTIL, 2, looks=1) == []
