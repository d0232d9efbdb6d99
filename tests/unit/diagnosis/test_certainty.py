"""How sure an answer is: five words with one number each, and what speaks against a cause."""

from dataclasses import replace

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.certainty import Certainty
from jupyter_kerneldoctor.diagnosis.examples import MIB, Group, crash_in, recording

CELL = "v.sum()"
CRASH = crash_in(CELL, ("/venv/lib/python3.12/site-packages/numpy/_core/_methods.py", 51, "_sum"))
ABORTED = "free(): invalid pointer\n"


def test_the_surest_comes_first_and_each_is_worth_less_than_the_one_before():
    assert [one.word for one in Certainty] == ["proven", "strong", "likely", "possible", "weak"]
    assert sorted(Certainty, reverse=True) == list(Certainty)


def test_one_word_less_and_no_further_than_the_last():
    assert Certainty.STRONG.lowered() == Certainty.LIKELY
    assert Certainty.POSSIBLE.lowered(9) == Certainty.WEAK


def test_what_is_left_for_others_is_a_word_or_nothing():
    assert Certainty.up_to(0.6) == Certainty.POSSIBLE
    assert Certainty.up_to(1 - Certainty.LIKELY) == Certainty.WEAK
    assert Certainty.up_to(1 - Certainty.STRONG) is None


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (recording("f()", signal="SIGABRT", output=ABORTED), ("heap-corruption", "proven")),
        (recording("f()", end="status-unknown", output=ABORTED), ("heap-corruption", "likely")),
        (recording(CELL, signal="SIGSEGV", crash=CRASH), ("segfault", "likely")),
        (recording(CELL, end="status-unknown", crash=CRASH), ("segfault", "possible")),
        (recording("import os\nos.kill(os.getpid(), 11)", signal="SIGSEGV"), ("self-kill", "proven")),
    ],
)
def test_without_an_exit_status_less_is_sure_and_a_call_that_ends_the_kernel_leaves_little(made, said):
    cause = diagnose(made).cause
    assert (cause.id, cause.certainty.word) == said


def test_the_public_form_has_the_word_beside_its_number():
    document = diagnose(recording(CELL, signal="SIGSEGV", crash=CRASH)).to_json()
    assert (document["certainty"], document["confidence"], document["general"]) == ("likely", 0.7, True)
    assert document["causes"][0]["not_known"] == "Why the address was wrong is not known."
    assert {"text", "check"} == set(document["causes"][0]["usual_reasons"][0])


def test_each_piece_of_evidence_says_how_far_it_carries():
    counted = recording(
        "f()", signal="SIGKILL", memory=(200 * MIB, 990 * MIB), groups=[Group(1000 * MIB, oom_kills=(0, 1))]
    )
    said = {one["source"]: one["certainty"] for one in diagnose(counted).to_json()["causes"][0]["evidence"]}
    assert said["memory.events: oom_kill"] == "proven"
    assert (said["samples"], said["journal"]) == ("likely", "weak")
    assert said["/proc/4242/stat exit_code"] == "possible"  # others send that signal, too


def test_what_speaks_against_a_cause_lowers_its_evidence():
    unseen = diagnose(recording("f()", end="status-unknown", output=ABORTED)).to_json()
    assert {one["certainty"] for one in unseen["causes"][0]["evidence"]} <= {"likely", "possible", "weak"}


@pytest.mark.parametrize(("lasts_s", "word"), [(2, "strong"), (30, "likely")])
def test_that_a_cell_of_long_ago_will_ever_be_done_is_only_likely(lasts_s, word):
    running = recording("f()", alive=True, memory=(200 * MIB,))
    last = running.samples[-1]._replace(mono_s=running.cells[-1].started_mono_s + lasts_s)
    later = replace(running, samples=(last,))
    cause = diagnose(later).cause
    assert (cause.id, cause.certainty.word) == ("no-death", word)
