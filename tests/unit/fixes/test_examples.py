"""Every fix does what its own examples say, on the cells they show."""

import dataclasses

import pytest

from jupyter_kerneldoctor.diagnosis import fixes
from jupyter_kerneldoctor.diagnosis.code.cellsource import parse
from jupyter_kerneldoctor.diagnosis.fixes._rule import HEADINGS

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in fixes.fixes()
    for number, example in enumerate(rule.examples)
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example(rule, example):
    proposals = [one for one in fixes.propose(example.context()) if one.id == rule.id]
    assert bool(proposals) == example.fires
    if not example.fires:
        return
    proposal = proposals[0]
    assert {edit.execution_count: edit.new_source for edit in proposal.edits} == example.changed
    assert proposal.applicability == (rule.applicability if example.changed else "advice")
    text = "\n".join([proposal.title, proposal.why, proposal.snippet or ""])
    assert [part for part in example.says if part not in text] == []


@pytest.mark.parametrize(("rule", "example"), [case for case in EXAMPLES if case.values[1].fires])
@pytest.mark.parametrize("cause", ["ordinary-end", "no-death", "unknown", "abort", "hang"])
def test_nothing_is_proposed_for_what_is_no_such_death(rule, example, cause):
    assert rule.id not in [one.id for one in fixes.propose(dataclasses.replace(example, cause=cause).context())]


@pytest.mark.parametrize("rule", fixes.fixes(), ids=lambda rule: rule.id)
def test_rule_is_complete(rule):
    assert {example.fires for example in rule.examples} == {True, False}
    lines = [line.strip() for line in rule.__doc__.split("\n")]
    assert [line for line in lines if line in HEADINGS] == list(HEADINGS)
    assert not rule.title.endswith((".", "!"))
    assert "!" not in rule.__doc__


@pytest.mark.parametrize(("rule", "example"), [case for case in EXAMPLES if case.values[1].fires])
def test_words_are_plain(rule, example):
    for proposal in fixes.propose(example.context()):
        assert proposal.why.endswith(".")
        assert "None" not in proposal.why
        assert "!" not in proposal.why.replace("!=", "")
        if proposal.snippet and "journalctl" not in proposal.snippet:
            assert parse(proposal.snippet.replace("if …:", "if x:").replace("…", "...")) is not None
