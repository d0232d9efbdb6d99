"""A cell that runs again and again has its source in the journal once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.recording.last_cell import last_cell_source
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.sidecar.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "table = '" + "1 2 3, " * 15_000 + "'"
OTHER = "other = '" + "4 5 6, " * 100 + "'"


def record(directory: Path, *sources: str) -> None:
    journal = Journal(directory / JOURNAL)
    for seq, source in enumerate(sources, 1):
        journal.write_received(started(seq, source))
        journal.write_received({"event": "cell_end", "seq": seq, "mono_s": seq + 0.5})
    journal.begin_end()
    journal.write_end({"event": "end", "mono_s": 999.0, "kind": "exit", "exit_code": 1})
    journal.close()


def started(seq: int, source: str) -> dict[str, Any]:
    return {"event": "cell_start", "seq": seq, "mono_s": float(seq), "source": source}


def test_many_runs_of_a_long_cell_take_the_space_of_one(tmp_path: Path) -> None:
    record(tmp_path, *([TABLE, OTHER, "x = 1"] * 50))

    assert (tmp_path / JOURNAL).stat().st_size < 1.5 * len(TABLE)
    assert [cell.source for cell in read(tmp_path).cells] == [TABLE, OTHER, "x = 1"] * 50


def test_the_last_cell_is_known_also_where_its_source_stands_far_above(tmp_path: Path) -> None:
    record(tmp_path, OTHER, TABLE, OTHER)

    assert last_cell_source(tmp_path) == OTHER


def test_a_start_that_is_sent_twice_keeps_its_source(tmp_path: Path) -> None:
    journal = Journal(tmp_path / JOURNAL)
    journal.write_received(started(1, OTHER))
    journal.write_received({**started(1, OTHER), "execution_count": 7})

    (cell,) = read(tmp_path).cells
    assert (cell.source, cell.execution_count) == (OTHER, 7)


def test_a_source_whose_line_is_damaged_costs_the_source_and_not_the_cell(tmp_path: Path) -> None:
    record(tmp_path, OTHER, "x = 1", OTHER)
    lines = (tmp_path / JOURNAL).read_bytes().split(b"\n")
    (tmp_path / JOURNAL).write_bytes(b"\n".join([lines[0][:100], *lines[1:]]))

    assert [cell.source for cell in read(tmp_path).cells] == ["x = 1", ""]
