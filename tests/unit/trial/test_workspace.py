"""What a trial ends and deletes afterwards is its own."""

import os
from pathlib import Path

import pytest

from jupyter_kerneldoctor.recording import newest_cell
from jupyter_kerneldoctor.trial.workspace import end_processes, remove_abandoned, workspace

ID = "20261122T111311Z-23208-cdc961"


def test_files_in_memory_that_others_named_like_ours_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shm = tmp_path / "shm"
    for name in ("", ".", ID, ID.replace("1113", "1114")):
        shm.mkdir(exist_ok=True)
        (shm / f"kerneldoctor-{name}").touch()
    (tmp_path / "data" / "recordings" / ID).mkdir(parents=True)
    monkeypatch.setattr(newest_cell, "_PLACE", str(shm))

    end_processes(tmp_path)

    left = [path.name for path in shm.iterdir()]
    assert f"kerneldoctor-{ID}" not in left
    assert len(left) == 3


def test_what_a_killed_trial_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    abandoned = tmp_path / "kerneldoctor-try-killed"
    (abandoned / "data").mkdir(parents=True)
    foreign = tmp_path / "kerneldoctor-try-link"
    foreign.symlink_to(tmp_path)
    for path in (abandoned, tmp_path):
        os.utime(path, (0, 0))

    with workspace() as work:
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([foreign.name, work.name])

    assert [path.name for path in tmp_path.iterdir()] == [foreign.name]


def test_the_directory_of_a_trial_that_runs_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with workspace() as work:
        os.utime(work, (0, 0))

        remove_abandoned(tmp_path)

        assert work.is_dir()
