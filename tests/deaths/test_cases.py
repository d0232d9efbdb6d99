"""A dozen of the real deaths, played; `make deaths` plays them all and keeps the score."""

from __future__ import annotations

import importlib.util
import shutil

import pytest
from deaths.case import BENIGN, Case, load
from deaths.conditions import CannotRunHereError
from deaths.play import play

CASES = load()


def test_the_cases_are_well_formed() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(case.own for case in CASES) >= 15
    assert all(case.ends in ("lives", "hangs", "restarted") for case in CASES if set(case.cause) <= BENIGN)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES if case.quick])
def test_the_post_mortem_is_right(case: Case) -> None:
    if missing := [name for name in case.needs if importlib.util.find_spec(name) is None]:
        pytest.skip(f"cannot run here: {missing} are not installed")
    if case.compiler and shutil.which("cc") is None:
        pytest.skip("cannot run here: no C compiler")
    try:
        played = play(case)
    except CannotRunHereError as error:
        pytest.skip(f"cannot run here: {error}")

    report = played.best(case)
    assert played.ended == case.ends
    assert report["cause"] in case.cause, report["causes"]
    if case.culprit is not None:
        assert report["cell"]["execution_count"] == case.culprit
