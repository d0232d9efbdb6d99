"""A death is played once; its recording is judged again, and what is said otherwise is told."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from deaths import rejudge
from deaths.case import load
from deaths.play import play
from deaths.recordings import Recordings
from deaths.result import Kept, Result

if TYPE_CHECKING:
    from pathlib import Path

CASE = next(case for case in load() if case.name == "kills-itself")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("played")
    result = Result(CASE, play(CASE, recordings=Recordings(place / "recordings" / CASE.name)))
    Kept(place / "results").add(result)
    return place


def judged(place: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    where = ["--results", str(place / "results"), "--recordings", str(place / "recordings")]
    monkeypatch.setattr(sys, "argv", ["rejudge", *where, *words])
    return rejudge.main()


def test_the_same_rules_say_the_same(played, monkeypatch, capsys):
    assert judged(played, monkeypatch) == 0
    assert capsys.readouterr().out.startswith("1 cases judged again. \ncause      1 of 1\n")


def test_what_is_said_otherwise_is_told_and_kept(played, monkeypatch, capsys):
    path = played / "results" / f"{CASE.name}.json"
    kept = json.loads(path.read_text())
    kept["played"]["reports"][0].update(cause="segfault", headline="Native code crashed.")
    path.write_text(json.dumps(kept))

    assert judged(played, monkeypatch, "--update") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{CASE.name} now right: cause\n")
    assert "- headline: Native code crashed." in said
    assert "cause      1 of 1, before 0 of 1" in said
    assert judged(played, monkeypatch) == 0
    assert capsys.readouterr().out.startswith("1 cases judged again.")


def test_a_wrong_answer_that_was_right_fails(played, monkeypatch, capsys):
    monkeypatch.setattr(rejudge, "load", lambda: [rejudge.replace(CASE, cause=("segfault",))])
    assert judged(played, monkeypatch) == 0  # it was wrong before
    path = played / "results" / f"{CASE.name}.json"
    path.write_text(path.read_text().replace('"cause": "self-kill"', '"cause": "segfault"'))
    assert judged(played, monkeypatch) == 1
    assert "now WRONG: cause" in capsys.readouterr().out
