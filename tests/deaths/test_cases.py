"""A dozen of the real deaths, played; `make deaths` plays them all and keeps the score."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from deaths import calibration
from deaths.case import BENIGN, Case, load
from deaths.conditions import CannotRunHereError
from deaths.play import play

CASES = load()


def test_the_cases_are_well_formed() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(case.own for case in CASES) >= 15
    assert all(case.ends in ("lives", "hangs", "restarted") for case in CASES if set(case.cause) <= BENIGN)


def test_of_each_death_a_fix_is_asked_for() -> None:
    assert not [case.name for case in CASES if case.fix is None and not set(case.cause) & BENIGN]


def test_the_guilty_statement_is_in_its_cell() -> None:
    for case in CASES:
        for cell, first, last in case.guilty:
            assert 1 <= first <= last <= len(case.cells[cell - 1].split("\n")), case.name


def test_no_fresh_case_is_a_near_copy() -> None:
    """A rule may have been written with that other case in sight, and the first try would then prove nothing."""
    sequences = {case.name: _sequences_of_tokens(case) for case in CASES}
    found_in = defaultdict(list)
    for name, own in sequences.items():
        for sequence in own:
            found_in[sequence].append(name)
    for case in filter(lambda case: case.fresh, CASES):
        own = sequences[case.name]
        common = Counter(other for sequence in own for other in found_in[sequence] if other != case.name)
        too_many = max(30, 2 / 3 * len(own))
        assert not [other for other, count in common.most_common(1) if count >= too_many], (case.name, common)


def _sequences_of_tokens(case: Case, length: int = 6) -> set[tuple[str, ...]]:
    tokens = re.findall(r"\w+|[^\w\s]", "\n".join(case.cells))
    return {tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)}


def test_few_cases_allow_a_wide_interval() -> None:
    low, high = calibration.interval(27, 27)
    assert (round(low, 3), high) == (0.875, 1.0)
    assert [round(one, 3) for one in calibration.interval(5, 10)] == [0.237, 0.763]


def test_the_calibration_has_a_row_for_each_word() -> None:
    lines = calibration.table([calibration.Answer("proven", general=False, right=True)])
    assert "| proven | 0.98 | 1 | 1 of 1 | 21% to 100% | 98% |" in lines
    assert "| weak | 0.25 | 0 | - | - | - |" in lines


def test_nothing_is_left_of_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as place:  # pytest's own is too long a name for the sockets in it
        monkeypatch.setattr(tempfile, "tempdir", place)
        leaves = "import os\nfrom multiprocessing import util\nprint(util.get_temp_dir())\nos._exit(3)"
        played = play(Case("leaves", "test", (leaves,), "exit 3", ("exit-call",)))

        assert (played.ended, list(Path(place).iterdir())) == ("exit 3", [])


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
