"""A recording that has ended is judged once; what stands in the place of its row is believed only where it is one."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.recording.retention import Policy, prune
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports import kept_files, post_mortems
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

if TYPE_CHECKING:
    from pathlib import Path

ID = "20260101T000000Z-4711-abcdef"
START = {"event": "start", "process": [4711, 1, "boot"], "kernel_id": "mine", "mono_s": 1.0, "wall_s": 2.0}
END = {"event": "end", "kind": "exit", "exit_code": 3, "mono_s": 1.1, "wall_s": 2.1}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = layout.create(ID, tmp_path)
    (made / layout.JOURNAL).write_text("".join(json.dumps(event) + "\n" for event in (START, END)))
    return made


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The recordings that were judged."""
    asked: list[str] = []
    diagnose = post_mortems.diagnose
    monkeypatch.setattr(post_mortems, "diagnose", lambda found: asked.append(found.id) or diagnose(found))
    return asked


def rows(directory: Path) -> list[dict[str, Any]]:
    """As a process sees them that has seen none before."""
    return PostMortems(Store(directory.parent.parent)).rows()


def test_it_is_judged_once_for_all_processes(directory: Path, judged: list[str]) -> None:
    first = rows(directory)

    assert rows(directory) == first
    assert judged == [ID]


def test_it_is_judged_again_by_other_rules_and_after_a_change(
    directory: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(directory)
    (directory / layout.SERVER).write_text('{"event": "exit", "returncode": -9, "wall_s": 3.0, "mono_s": 3.0}\n')
    rows(directory)
    monkeypatch.setattr(kept_files, "rules", lambda: "others")
    rows(directory)

    assert judged == [ID] * 3


def test_a_kernel_that_runs_has_none(tmp_path: Path) -> None:
    directory = layout.create(ID, tmp_path)
    start = {**START, "process": identify(os.getpid()), "wall_s": time.time()}
    (directory / layout.JOURNAL).write_text(json.dumps(start) + "\n")
    rows(directory)

    assert not (directory / layout.ROW).exists()


def forged(directory: Path, **fields: Any) -> None:
    path = directory / layout.ROW
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "made": {**kept["made"], **fields}}))


@pytest.mark.parametrize(
    "fields",
    [
        {"recording": "20260101T000000Z-1-aaaaaa"},
        {"headline": 7},
        {"headline": "x" * 20_000},
        {"died": "yes"},
        {"pid": True},
        {"state": "running"},
        {"started": "never"},
        {"ended": ""},
        {"extra": {"deep": []}},
    ],
)
def test_what_is_no_row_is_made_again(directory: Path, judged: list[str], fields: dict[str, Any]) -> None:
    good = rows(directory)
    forged(directory, **fields)

    assert rows(directory) == good
    assert rows(directory) == good
    assert len(judged) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"rules": 1}'])
def test_what_cannot_be_read_is_made_again(directory: Path, content: bytes) -> None:
    good = rows(directory)
    (directory / layout.ROW).write_bytes(content)

    assert rows(directory) == good


def test_links_and_pipes_are_not_followed(directory: Path, tmp_path: Path) -> None:
    good = rows(directory)
    (directory / layout.ROW).rename(tmp_path / "elsewhere")
    (directory / layout.ROW).symlink_to(tmp_path / "elsewhere")
    forged_row = json.loads((tmp_path / "elsewhere").read_text())
    forged_row["made"]["headline"] = "forged"
    (tmp_path / "elsewhere").write_text(json.dumps(forged_row))
    begun = time.monotonic()

    assert rows(directory) == good
    (directory / layout.ROW).unlink(missing_ok=True)
    os.mkfifo(directory / layout.ROW)
    assert rows(directory) == good
    assert time.monotonic() - begun < 30  # not for ever


def test_it_makes_no_recording_younger(directory: Path) -> None:
    long_ago = time.time() - 40 * 24 * 3600
    for file in [*directory.iterdir(), directory]:
        os.utime(file, (long_ago, long_ago))
    rows(directory)
    assert (directory / layout.ROW).exists()

    prune(directory.parent, Policy())

    assert not directory.exists()


def test_a_directory_that_cannot_be_written_is_listed_all_the_same(directory: Path, monkeypatch: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(kept_files.os, "rename", refuse)

    assert [row["recording"] for row in rows(directory)] == [ID]
    assert not (directory / layout.ROW).exists()
