"""A journal on a full disk keeps the newest cell and the end, for which space was reserved."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from support import requires
from support.fixtures import mounted_tmpfs

from jupyter_kerneldoctor.recording.journal import read_events
from jupyter_kerneldoctor.recording.reader import assemble
from jupyter_kerneldoctor.sidecar.journal import RESERVED_BYTES, Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_kerneldoctor.recording.model import Recording

pytestmark = [requires.linux, requires.root]

END = {"event": "end", "mono_s": 999.0, "wall_s": 999.0, "kind": "signal", "signal": "SIGSEGV"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    with mounted_tmpfs(tmp_path / "small", "512k") as small:
        yield small


@pytest.fixture
def journal(disk: Path) -> Journal:
    return Journal(disk / "journal.jsonl")


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def started(seq: int, source: str = "x = 1") -> dict[str, Any]:
    return {"event": "cell_start", "seq": seq, "mono_s": float(seq), "source": source}


def ended(seq: int) -> dict[str, Any]:
    return {"event": "cell_end", "seq": seq, "mono_s": seq + 0.5}


def end(journal: Journal) -> None:
    journal.begin_end()
    journal.write({"event": "surroundings", "mono_s": 998.0, "when": "end"})
    journal.write_end({**END, "lost": journal.lost})
    journal.close()


def recorded(disk: Path) -> Recording:
    return assemble("a", list(read_events(disk / "journal.jsonl")))


def test_the_cell_that_runs_and_the_end_are_there_though_all_else_is_lost(disk: Path, journal: Journal) -> None:
    fill(disk)
    for seq in range(1, 1000):
        journal.write_received(started(seq))
        journal.write_received(ended(seq))
        journal.write({"event": "limits", "limits": []})
    journal.write_received(started(1000, "crash()"))
    end(journal)

    recording = recorded(disk)
    assert recording.end is not None
    assert recording.end.signal == "SIGSEGV"
    assert recording.end.lost is not None
    assert recording.end.lost > 1000
    assert recording.running_cell is not None
    assert (recording.running_cell.seq, recording.running_cell.source) == (1000, "crash()")
    assert [one.when for one in recording.system_states] == ["end"]


def test_a_cell_that_had_ended_does_not_count_as_running(disk: Path, journal: Journal) -> None:
    fill(disk)
    for seq in range(1, 1001):
        journal.write_received(started(seq))
        journal.write_received(ended(seq))
    journal.write_received({"event": "exit_request", "mono_s": 998.0, "by": "message"})
    end(journal)

    recording = recorded(disk)
    assert recording.cells[-1].seq == 1000
    assert recording.running_cell is None
    assert recording.exit_request is not None


def test_a_long_cell_that_waits_is_shortened_and_still_identified(disk: Path, journal: Journal) -> None:
    fill(disk)
    journal.write_received(started(1, "ü" * 100_000))
    end(journal)

    (cell,) = recorded(disk).cells
    assert cell.truncated
    assert cell.source.startswith("üü")
    assert recorded(disk).end is not None


def test_what_waits_is_written_as_soon_as_there_is_space_and_does_not_count_as_lost(
    disk: Path, journal: Journal
) -> None:
    fill(disk)
    journal.write_received(started(1, "y" * 60_000))
    (disk / "filler").unlink()
    journal.write_received(ended(1))

    (cell,) = recorded(disk).cells
    assert cell.finished
    assert journal.lost == 0


def test_the_reserve_is_released(disk: Path, journal: Journal) -> None:
    held = (disk / "journal.jsonl").stat()
    assert (held.st_size, held.st_blocks * 512 >= RESERVED_BYTES) == (0, True)

    journal.write({"event": "one"})
    journal.close()
    assert (disk / "journal.jsonl").stat().st_blocks * 512 <= 4096


def test_a_disk_that_was_full_before_takes_what_it_can(disk: Path) -> None:
    fill(disk)
    journal = Journal(disk / "journal.jsonl")
    assert not journal.write({"event": "one"})
    (disk / "filler").unlink()

    assert journal.write({"event": "two"})
    assert [event["event"] for event in read_events(disk / "journal.jsonl")] == ["two"]


def test_events_without_end_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupyter_kerneldoctor.sidecar.journal._MOST_BYTES", 50_000)
    journal = Journal(tmp_path / "journal.jsonl")
    for number in range(1000):
        journal.write_received({"event": "incident", "mono_s": 1.0, "text": "x" * 1000})
        journal.write_received({"event": "cell_start", "seq": number, "mono_s": 2.0, "source": f"cell({number})"})
    journal.begin_end()
    journal.write_end(END)
    journal.close()

    assert (tmp_path / "journal.jsonl").stat().st_size < 60_000
    found = assemble("x", list(read_events(tmp_path / "journal.jsonl")))
    assert found.cells[-1].source == "cell(999)"
    assert found.end is not None
