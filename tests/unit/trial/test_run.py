"""What a trial ends and deletes afterwards is its own."""

from pathlib import Path

import pytest

from jupyter_kerneldoctor.recording import newest_cell
from jupyter_kerneldoctor.trial.run import _end_all

ID = "20261122T111311Z-23208-cdc961"


def test_files_in_memory_that_others_named_like_ours_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shm = tmp_path / "shm"
    for name in ("", ".", ID, ID.replace("1113", "1114")):
        shm.mkdir(exist_ok=True)
        (shm / f"kerneldoctor-{name}").touch()
    (tmp_path / "data" / "recordings" / ID).mkdir(parents=True)
    monkeypatch.setattr(newest_cell, "_PLACE", str(shm))

    _end_all(tmp_path)

    left = [path.name for path in shm.iterdir()]
    assert f"kerneldoctor-{ID}" not in left
    assert len(left) == 3
