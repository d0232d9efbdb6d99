"""Every cause, by what it says of itself: the examples in its class, its page, its id."""

import inspect
import json
import re
from functools import cache
from pathlib import Path

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.causes import all_causes, examine
from jupyter_kerneldoctor.diagnosis.certainty import Certainty
from jupyter_kerneldoctor.kernel.signatures import SIGNATURES

CAUSES = {cause.id: cause for cause in all_causes()}
POSITIVE = [(name, number) for name, cause in CAUSES.items() for number, _ in enumerate(cause.fires_on())]
NEGATIVE = [(name, number) for name, cause in CAUSES.items() for number, _ in enumerate(cause.silent_on())]

JARGON = re.compile(r"SIG[A-Z]{3}|cgroup|RSS|\boom|!|\n")
"""Words that belong in the evidence, and signs of excitement."""


INCIDENTS = {signature.kind for signature in SIGNATURES} | {"no-memory-for-process", "interrupted-by-openblas"}
"""The kinds of incidents that are recorded, and those told by an error's number or what was written."""


def asked(cause, recording):
    """What the cause itself says of a recording. What it raises is raised here, and not swallowed as in a diagnosis."""
    death = examine(recording)
    incidents = [one for one in recording.incidents if one.kind in cause.incidents]
    found = [cause.judge(death), *(cause.explain(death.at(one), one) for one in incidents)]
    return [one for one in found if one is not None]


@cache
def example(name, number):
    """An example of a cause, and the answer to it."""
    made = list(CAUSES[name].fires_on())[number]
    return made, diagnose(made)


@pytest.mark.parametrize("name", CAUSES)
def test_incidents_are_of_known_kinds(name):
    assert CAUSES[name].incidents <= INCIDENTS


@pytest.mark.parametrize("name", CAUSES)
def test_id_is_the_name_of_its_file(name):
    assert inspect.getmodule(type(CAUSES[name])).__name__.endswith("." + name.replace("-", "_"))


@pytest.mark.parametrize("name", CAUSES)
def test_docstring_is_a_page_of_the_reference(name):
    text = inspect.getdoc(type(CAUSES[name]))
    assert text.partition("\n\n")[0].endswith(".")
    assert re.findall(r"\n\n(\w[^:`.]+): ", text) == [*CAUSES[name].headings]


@pytest.mark.parametrize(("name", "number"), POSITIVE)
def test_fires_on_its_example(name, number):
    made, answer = example(name, number)
    said = asked(CAUSES[name], made)
    assert answer.cause.id == name, f"by itself it said {said}"
    assert answer.cause.certainty >= (Certainty.WEAK if name == "unknown" else Certainty.POSSIBLE)
    if answer.cause.general:
        assert answer.cause.certainty <= Certainty.LIKELY
        assert answer.cause.not_known
        assert answer.cause.usual_reasons
    assert all(other.certainty < answer.cause.certainty for other in answer.causes[1:])


@pytest.mark.parametrize(("name", "number"), NEGATIVE)
def test_is_silent_on_what_only_looks_like_it(name, number):
    made = list(CAUSES[name].silent_on())[number]
    asked(CAUSES[name], made)  # it does not keep silent by failing
    assert diagnose(made).cause.id != name


@pytest.mark.parametrize(("name", "number"), POSITIVE)
def test_headline_is_a_plain_sentence(name, number):
    _, answer = example(name, number)
    words = re.sub(r"`[^`]*`", "", answer.cause.headline)  # what is quoted is the user's
    named = words.replace("the signal SIGBUS", "")  # of a signal without a rule there is nothing else to say
    assert not JARGON.search(named)
    assert words.endswith(".")
    assert words[0].isupper() or answer.cause.headline.startswith("`")


@pytest.mark.parametrize(("name", "number"), POSITIVE)
def test_evidence_is_made_of_sentences_and_the_answer_is_json(name, number):
    _, answer = example(name, number)
    document = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert document["causes"][0]["evidence"]
    for evidence in document["causes"][0]["evidence"]:
        assert re.search(r"[.`]$", evidence["text"])
        assert (evidence["unit"] is None) or (evidence["value"] is not None)
    for sentence in document["ruled_out"]:
        assert sentence.endswith(".")


def test_every_cause_can_be_asked_about_every_example():
    for name, number in POSITIVE:
        death = examine(list(CAUSES[name].fires_on())[number])
        for cause in CAUSES.values():
            cause.judge(death)


def test_causes_md_lists_these_ids_when_it_is_at_hand():
    text = Path(__file__).parents[3].joinpath("docs/causes.md").read_text()
    assert all(f"`{name}`" in text for name in CAUSES)
