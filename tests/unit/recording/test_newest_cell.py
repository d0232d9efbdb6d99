"""The newest cell in memory: what a recording has of it when kernel and sidecar died together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.requires import linux

from jupyter_kerneldoctor.kernel.newest_cell import NewestCell
from jupyter_kerneldoctor.recording import journal, layout, newest_cell
from jupyter_kerneldoctor.recording.processes import boot_id
from jupyter_kerneldoctor.recording.retention import Policy, prune
from jupyter_kerneldoctor.recording.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = linux

DEAD = (999_999_999, 1, boot_id())


def start(seq: int, mono_s: float = 10.0, source: str = "x = 1") -> dict[str, object]:
    return {"event": "cell_start", "seq": seq, "mono_s": mono_s, "source": source, "cell_id": None}


def encoded(event: dict[str, object]) -> bytes:
    return json.dumps(event).encode()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A recording whose kernel and sidecar are dead, in which the cell 1 has ended."""
    path = layout.create(layout.new_id(999_999_999), tmp_path)
    first = {"event": "start", "mono_s": 1.0, "wall_s": 2.0, "process": DEAD, "sidecar": DEAD}
    journal = [first, start(1, 5.0, "first"), {"event": "cell_end", "seq": 1, "mono_s": 6.0}]
    (path / layout.JOURNAL).write_bytes(b"".join(encoded(event) + b"\n" for event in journal))
    yield path
    newest_cell.discard(path.name)


def sources(directory: Path) -> list[tuple[str, float | None]]:
    found = Store(directory.parent.parent).open(directory.name)
    return [(cell.source, cell.ended_mono_s) for cell in found.cells]


def test_a_start_that_the_sidecar_did_not_hear_is_in_the_recording_and_nowhere_else(directory: Path) -> None:
    assert NewestCell(directory.name).started(encoded(start(2, source="second")))

    assert sources(directory) == [("first", 6.0), ("second", None)]
    assert not Path(newest_cell.file_of(directory.name)).exists()
    assert sources(directory) == [("first", 6.0), ("second", None)]


def test_an_end_counts_for_its_own_cell_only(directory: Path) -> None:
    newest = NewestCell(directory.name)
    newest.started(encoded(start(2, source="second")))
    newest.ended(encoded({"event": "cell_end", "seq": 2, "mono_s": 11.0}))
    newest.started(encoded(start(3, 12.0, source="third")))

    assert sources(directory) == [("first", 6.0), ("third", None)]


def test_what_the_sidecar_heard_is_not_told_twice_however_the_kernel_counts(directory: Path) -> None:
    newest = NewestCell(directory.name)
    newest.started(encoded(start(7, 5.0, "first")))
    newest.ended(encoded({"event": "cell_end", "seq": 7, "mono_s": 6.0}))

    assert sources(directory) == [("first", 6.0)]


def test_the_next_sidecar_adds_it_too(directory: Path) -> None:
    NewestCell(directory.name).started(encoded(start(2, source="second")))

    prune(directory.parent, Policy())

    assert not Path(newest_cell.file_of(directory.name)).exists()
    assert sources(directory) == [("first", 6.0), ("second", None)]


def test_it_goes_with_the_recording(directory: Path) -> None:
    NewestCell(directory.name).started(encoded(start(2)))

    Store(directory.parent.parent).delete(directory.name)

    assert not Path(newest_cell.file_of(directory.name)).exists()


def test_a_write_that_was_cut_off_says_nothing(directory: Path) -> None:
    NewestCell(directory.name).started(encoded(start(2, source="second" * 2000)))
    with Path(newest_cell.file_of(directory.name)).open("r+b") as file:
        file.seek(4096)
        file.write(b"\0" * 100)

    assert sources(directory) == [("first", 6.0)]


def test_what_is_nested_too_deep_to_be_written_is_dropped(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NewestCell(directory.name).started(encoded(start(2, source="second")))

    def encode(value: object) -> str:
        raise RecursionError

    monkeypatch.setattr(journal, "_encode", encode)

    assert sources(directory) == [("first", 6.0)]
    assert not Path(newest_cell.file_of(directory.name)).exists()


def test_a_start_that_is_too_long_is_refused(directory: Path) -> None:
    newest = NewestCell(directory.name)

    assert not newest.started(b"x" * (newest_cell.MOST_BYTES + 1))
    newest.close()
    assert not Path(newest_cell.file_of(directory.name)).exists()


def test_what_somebody_planted_is_left_alone(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "planted").write_bytes(newest_cell.framed(encoded(start(2, source="planted"))))
    Path(newest_cell.file_of(directory.name)).symlink_to(tmp_path / "planted")

    assert NewestCell(directory.name).started(encoded(start(3, source="own")))
    assert (tmp_path / "planted").read_bytes().endswith(b"}")
    assert sources(directory) == [("first", 6.0)]


def test_closing_leaves_a_file_of_the_users_open_that_got_the_descriptor(directory: Path, tmp_path: Path) -> None:
    newest = NewestCell(directory.name)
    fd = next(int(entry.name) for entry in Path("/proc/self/fd").iterdir() if directory.name in str(entry.resolve()))
    users = os.open(tmp_path / "users", os.O_RDWR | os.O_CREAT)
    os.dup2(users, fd)
    newest.started(encoded(start(3, source="third")))
    newest.close()

    assert os.fstat(fd).st_ino == os.fstat(users).st_ino
    assert (tmp_path / "users").read_bytes() == b""
    os.close(fd)
    os.close(users)


def test_what_belongs_to_no_recording_any_more_goes_after_a_day_unless_its_kernel_lives(directory: Path) -> None:
    newest = NewestCell(directory.name)
    path = Path(newest_cell.file_of(directory.name))
    os.utime(path, (0, 0))
    newest_cell.tidy()
    assert path.exists()

    newest._mapping.memory.close()
    newest_cell.tidy()
    assert not path.exists()
