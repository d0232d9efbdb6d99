"""Recordings whose first line is missing or damaged are found all the same."""

from __future__ import annotations

import gc
import json
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest
from support.handwritten import write_recording

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording import layout, reader
from jupyter_kerneldoctor.recording.processes import boot_id, identify
from jupyter_kerneldoctor.recording.store import END_PATIENCE_S, Store
from jupyter_kerneldoctor.reports import post_mortems
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

if TYPE_CHECKING:
    from pathlib import Path


def test_a_kernel_that_died_before_its_sidecar_wrote_is_found(tmp_path: Path) -> None:
    recording_id = layout.new_id(4711)
    directory = layout.create(recording_id, tmp_path)

    def sidecar() -> None:
        time.sleep(0.3)
        events = [
            {"event": "start", "process": [4711, 1, "another boot"], "kernel_id": "mine", "mono_s": 1.0, "wall_s": 2.0},
            {"event": "end", "kind": "exit", "exit_code": 3, "mono_s": 1.1, "wall_s": 2.1},
        ]
        (directory / layout.JOURNAL).write_text("".join(json.dumps(event) + "\n" for event in events))

    threading.Thread(target=sidecar).start()

    assert PostMortems(Store(tmp_path)).header(recording_id).kernel_id == "mine"


def test_a_damaged_recording_is_nobodys_and_costs_no_time(tmp_path: Path) -> None:
    recording_id = "20260101T000000Z-4711-abcdef"
    directory = layout.create(recording_id, tmp_path)
    (directory / layout.JOURNAL).write_bytes(b"\x00\xff junk")
    begin = time.monotonic()

    assert PostMortems(Store(tmp_path)).header(recording_id, patience_s=60).kernel_id is None
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_damaged_recordings_that_name_a_living_recorder_cost_a_list_no_more_than_one_would(tmp_path: Path) -> None:
    start = {"event": "start", "mono_s": 1.0, "process": None, "sidecar": identify(os.getpid())}
    for number in range(20):
        directory = layout.create(f"20260101T000000Z-{4710 + number}-abcdef", tmp_path)
        (directory / layout.JOURNAL).write_text(json.dumps(start) + "\n")
    post_mortems = PostMortems(Store(tmp_path))

    begin = time.monotonic()
    assert post_mortems.header("20260101T000000Z-4710-abcdef").pid == 4710
    assert len(post_mortems.rows()) == 20
    assert time.monotonic() - begin < 10 * END_PATIENCE_S, "the time for one is not taken 20 times"


def test_a_row_that_nobody_can_tell_yet_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of another container: it is dead when nothing was written for a minute, and no file changes by that."""
    path = layout.create("20260101T000000Z-7-abcdef", tmp_path)
    process = [999_999_999, 1, boot_id()]
    start = {"event": "start", "mono_s": 1.0, "wall_s": time.time(), "process": process, "namespaces": [1, 2]}
    cell = {"event": "cell_start", "seq": 1, "mono_s": 2.0, "source": "work()"}
    (path / layout.JOURNAL).write_text(json.dumps(start) + "\n" + json.dumps(cell) + "\n")
    post_mortems = PostMortems(Store(tmp_path))
    (before,) = post_mortems.rows()
    monkeypatch.setattr(reader, "SILENT_S", -1.0)

    (after,) = post_mortems.rows()

    assert (before["died"], after["died"]) == (False, True)


def test_a_recording_that_raises_is_listed_and_costs_no_other_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged, other = "20260101T000000Z-4711-abcdef", "20260101T000000Z-4712-abcdef"
    (layout.create(damaged, tmp_path) / layout.JOURNAL).write_bytes(b"junk\n")
    start = {"event": "start", "process": [4712, 1, "another boot"], "kernel_id": "k", "mono_s": 1.0, "wall_s": 2e9}
    (layout.create(other, tmp_path) / layout.JOURNAL).write_text(json.dumps(start) + "\n")
    opened = Store.open

    def open_one(self: Store, recording_id: str, *patience_s: float) -> object:
        if recording_id == damaged:
            raise RecursionError
        return opened(self, recording_id, *patience_s)

    monkeypatch.setattr(Store, "open", open_one)

    assert [row["recording"] for row in PostMortems(Store(tmp_path)).rows()] == [other, damaged]


def test_the_document_of_a_kernel_that_is_over_is_made_once_until_its_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording_id = "20260101T000000Z-4711-abcdef"
    journal = layout.create(recording_id, tmp_path) / layout.JOURNAL
    start = {"event": "start", "process": [4711, 1, "another boot"], "mono_s": 1.0, "wall_s": 2.0}
    end = {"event": "end", "kind": "exit", "exit_code": 3, "mono_s": 1.1, "wall_s": 2.1}
    journal.write_text(json.dumps(start) + "\n" + json.dumps(end) + "\n")
    made = []
    monkeypatch.setattr(post_mortems, "diagnose", lambda found: made.append(found) or diagnose(found))
    documents = PostMortems(Store(tmp_path))

    assert documents.document(recording_id) == documents.document(recording_id)
    assert len(made) == 1
    with journal.open("a") as file:
        file.write("\n")
    assert documents.document(recording_id)["end"]["exit_code"] == 3
    assert len(made) == 2


def test_the_newest_deaths_of_a_list_need_not_be_diagnosed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    ids = [write_recording(second) for second in range(5)]
    write_recording(6, signal=None)
    reports = PostMortems(Store(tmp_path))
    reports.prepare(reports.rows())
    asked: list[str] = []
    monkeypatch.setattr(post_mortems, "diagnose", lambda found: asked.append(found.id) or diagnose(found))

    for recording_id in ids[2:]:
        reports.document(recording_id)
    assert asked == []
    reports.document(ids[0])
    assert asked[0] == ids[0]


def test_a_disk_that_does_not_answer_keeps_no_server_from_collecting_garbage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELDOCTOR_DATA_DIR", str(tmp_path))
    recording_id, look, seen = write_recording(1), Store.open, []
    monkeypatch.setattr(Store, "open", lambda *words: seen.append(gc.isenabled()) or look(*words))
    PostMortems(Store(tmp_path)).document(recording_id)
    assert seen == [True]


def test_the_document_of_a_kernel_that_runs_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording_id = "20260101T000000Z-4711-abcdef"
    journal = layout.create(recording_id, tmp_path) / layout.JOURNAL
    start = {"event": "start", "process": identify(os.getpid()), "mono_s": 1.0, "wall_s": time.time()}
    journal.write_text(json.dumps(start) + "\n")
    made = []
    monkeypatch.setattr(post_mortems, "diagnose", lambda found: made.append(found) or diagnose(found))
    documents = PostMortems(Store(tmp_path))

    assert [documents.document(recording_id)["state"] for _ in range(2)] == ["running", "running"]
    assert len(made) == 2
