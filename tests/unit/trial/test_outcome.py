"""What came of a trial, in words: its exceptions by their whole names, and whether it got past the old failure."""

from pathlib import Path

import pytest

from jupyter_kerneldoctor.trial.failure import how_it_ended
from jupyter_kerneldoctor.trial.outcome import Outcome, names_error
from jupyter_kerneldoctor.trial.plan import Plan, PlannedCell


@pytest.mark.parametrize(
    ("error", "is_meant"),
    [
        ("MemoryError", True),
        ("OutOfMemoryError", True),
        ("OSError", False),
        ("Error", False),
        ("E", False),
        ("", False),
        (None, False),
    ],
)
def test_an_exception_is_meant_where_the_title_has_its_name(error, is_meant):
    assert names_error("Raise `MemoryError` (torch.OutOfMemoryError, WinOSError) in its place", error) is is_meant


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ("Ended: memory was refused", "memory was refused"),
        ("Killed by Linux at the memory limit", "killed by Linux at the memory limit"),
        ("SIGSEGV: crash in native code", "SIGSEGV: crash in native code"),
    ],
)
def test_how_it_ended_before_fits_into_a_sentence(summary, said):
    assert how_it_ended({"headline": "", "incidents": [], "state": "died", "end": {"summary": summary}}) == said


def cut_off(**more):
    """A trial of a server: cell [2] went on until the time was over."""
    cells = (PlannedCell("import x", 1), PlannedCell("serve()", 2, is_changed=True))
    known = {"copies": True, "limit_bytes": 1 << 30, "patience_s": 60.0, "before": "MemoryError", **more}
    return Plan("a", cells, "python", Path(), **known)


def outcome(plan, **more):
    return Outcome("still running", plan, "nothing", 1 << 20, 60.0, execution_count=2, **more)


def test_a_trial_that_is_still_at_work_lived_where_it_got_past_the_place_of_the_death():
    past = outcome(cut_off(failed_in=2, failed_after_s=14.0), got_past=True)

    assert past.lived
    assert past.text.startswith("Lived past the place where it failed: still running after 1 min in cell [2], peak")
    assert "Before, it failed in cell [2] after 14 s: MemoryError." in past.text
    assert "`jupyter kerneldoctor try --seconds 240 ...`" in past.text


def test_a_trial_that_was_cut_off_before_that_decides_nothing():
    early = outcome(cut_off(failed_in=2, failed_after_s=400.0))
    nowhere = outcome(cut_off())

    assert not early.lived
    assert not nowhere.lived
    assert early.text.startswith("Not decided: still running after 1 min in cell [2]")
    assert "--seconds 1380" in early.text
    assert nowhere.text.startswith("Not decided: still running after 1 min in cell [2]")
