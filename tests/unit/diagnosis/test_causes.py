"""Every cause, by what it says of itself: the examples in its class, its page, its id."""

import inspect
import json
import re
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


@pytest.mark.parametrize("name", CAUSES)
def test_its_page_its_file_and_its_incidents(name):
    text = inspect.getdoc(type(CAUSES[name]))
    assert text.partition("\n\n")[0].endswith(".")
    assert re.findall(r"\n\n(\w[^:`.]+): ", text) == [*CAUSES[name].headings]
    assert inspect.getmodule(type(CAUSES[name])).__name__.endswith("." + name.replace("-", "_"))
    assert CAUSES[name].incidents <= INCIDENTS


@pytest.mark.parametrize(("name", "number"), POSITIVE)
def test_fires_on_its_example_in_plain_sentences(name, number):
    made = list(CAUSES[name].fires_on())[number]
    answer, said = diagnose(made), asked(CAUSES[name], made)
    assert answer.cause.id == name, f"by itself it said {said}"
    assert answer.cause.certainty >= (Certainty.WEAK if name == "unknown" else Certainty.POSSIBLE)
    if answer.cause.general:
        assert answer.cause.certainty <= Certainty.LIKELY
        assert answer.cause.not_known
        assert answer.cause.usual_reasons
    assert all(other.certainty < answer.cause.certainty for other in answer.causes[1:])
    is_a_plain_sentence(answer.cause.headline)
    is_made_of_sentences(json.loads(json.dumps(answer.to_json(), allow_nan=False)))


def is_a_plain_sentence(headline):
    words = re.sub(r"`[^`]*`", "", headline)  # what is quoted is the user's
    named = words.replace("the signal SIGBUS", "")  # of a signal without a rule there is nothing else to say
    assert not JARGON.search(named)
    assert words.endswith(".")
    assert words[0].isupper() or headline.startswith("`")


def is_made_of_sentences(document):
    assert document["causes"][0]["evidence"]
    for evidence in document["causes"][0]["evidence"]:
        assert re.search(r"[.`]$", evidence["text"])
        assert (evidence["unit"] is None) or (evidence["value"] is not None)
    for sentence in document["ruled_out"]:
        assert sentence.endswith(".")


@pytest.mark.parametrize(("name", "number"), NEGATIVE)
def test_is_silent_on_what_only_looks_like_it(name, number):
    made = list(CAUSES[name].silent_on())[number]
    asked(CAUSES[name], made)  # it does not keep silent by failing
    assert diagnose(made).cause.id != name


def test_every_cause_can_be_asked_about_every_example():
    for name, number in POSITIVE:
        death = examine(list(CAUSES[name].fires_on())[number])
        for cause in CAUSES.values():
            cause.judge(death)


def test_causes_md_lists_these_ids_when_it_is_at_hand():
    text = Path(__file__).parents[3].joinpath("docs/causes.md").read_text()
    assert all(f"`{name}`" in text for name in CAUSES)
