"""Every fix does what its own cases say, on the cells they show."""

import contextlib
import copy
import inspect
import re

import pytest

from jupyter_kerneldoctor.diagnosis import proposals
from jupyter_kerneldoctor.diagnosis.causes import all_causes, examine
from jupyter_kerneldoctor.diagnosis.certainty import Certainty
from jupyter_kerneldoctor.diagnosis.code.cellsource import mask
from jupyter_kerneldoctor.diagnosis.edits import EditRefusedError
from jupyter_kerneldoctor.diagnosis.examples import MIB, recording
from jupyter_kerneldoctor.diagnosis.family import Family
from jupyter_kerneldoctor.diagnosis.fixes import all_fixes
from jupyter_kerneldoctor.diagnosis.postmortem import CauseFinding
from jupyter_kerneldoctor.diagnosis.proposals import ask, propose

each_fix = pytest.mark.parametrize("fix", all_fixes(), ids=lambda fix: fix.id)
"""One test for all cases of a fix: there are thousands, and each test costs as much again as what it asks."""


@pytest.fixture(autouse=True)
def _no_rule_fails(monkeypatch):
    """A user gets the other fixes where one fails; here that would hide its mistake on the code of others."""

    def offered(fix, death):
        with contextlib.suppress(EditRefusedError):
            return ask(fix, death)[0]

    monkeypatch.setattr(proposals, "_offered", offered)


def is_proposed(fix, case):
    with contextlib.suppress(EditRefusedError):
        return ask(fix, case.death())[0] is not None
    return False


@each_fix
def test_fires_in_plain_words(fix):
    for case in fix.FIRES:
        is_as_it_says(fix, case)


def is_as_it_says(fix, case):
    proposal, wrong = ask(fix, case.death())
    assert proposal is not None, wrong
    assert {edit.execution_count: edit.new_source for edit in proposal.edits} == case.changed, wrong
    assert (proposal.applicability == "advice") == (not case.changed)
    text = "\n".join([proposal.title, proposal.why, proposal.snippet or ""])
    assert [part for part in case.says if part not in text] == []
    is_plain(proposal)


def is_plain(proposal):
    assert proposal.why.endswith(".")
    assert "None" not in re.sub("`[^`]*`", "", proposal.why)
    assert "!" not in re.sub("`[^`]*`", "", proposal.why)
    snippet = proposal.snippet
    if snippet and not snippet.startswith("# in a terminal") and "journalctl" not in snippet:
        assert mask(snippet.replace("if …:", "if x:").replace("…", "...")) is not None


@pytest.mark.slow
@each_fix
def test_is_proposed_beside_others_that_are_plain_too(fix):
    for case in fix.FIRES:
        found = propose(case.death())
        assert fix.id in [one.id for one in found]
        for one in found:
            is_plain(one)


@each_fix
def test_is_silent(fix):
    assert not [case.sources for case in fix.SILENT if is_proposed(fix, case)]  # and raises what the fix raises


@pytest.mark.parametrize("cause", ["ordinary-end", "no-death", "unknown", "abort", "hang"])
def test_nothing_is_proposed_for_what_is_no_such_death(cause):
    fix = next(one for one in all_fixes() if one.id == "svd-full-matrices")
    other = copy.copy(fix.FIRES[0])
    other.cause = cause
    assert not is_proposed(fix, other)


@pytest.mark.slow
@each_fix
def test_no_fix_has_anything_to_say_about_a_kernel_that_is_well(fix):
    for case in fix.FIRES:
        made = recording(*case.sources, memory=[200 * MIB] * 20, alive=True, end="not-seen")
        finding = CauseFinding("oom-cgroup", "Memory", Certainty.PROVEN, "It died.", family=Family.MEMORY)
        assert [one.id for one in propose(examine(made).judged((finding,)))] == []


@each_fix
def test_page_is_complete(fix):
    assert set(fix.causes) <= {cause.id for cause in all_causes()} | set(Family)
    assert re.findall(r"\n\n(\w[^:`.]+): ", inspect.cleandoc(fix.__doc__)) == [*fix.headings]
    assert fix.SILENT
    assert fix.FIRES
    assert not fix.title.endswith((".", "!"))
    assert "!" not in fix.__doc__
    assert fix.id.replace("-", "_") == type(fix).__module__.rpartition(".")[2]
