"""A recording is read on as it grows: each line once, and of a long file only its beginning and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording import tail
from jupyter_kerneldoctor.recording.journal import JsonLines
from jupyter_kerneldoctor.recording.layout import GPU, JOURNAL, RECENT
from jupyter_kerneldoctor.recording.reader import read
from jupyter_kerneldoctor.recording.samples import Sample, SampleWriter
from jupyter_kerneldoctor.recording.tail import FileTail, RecordingTail

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MIB = 1 << 20
START = {"event": "start", "mono_s": 1.0, "wall_s": 2.0, "format": 1, "process": [7, 1, "boot"], "kernel_id": "k"}


def cell(seq: int, begin_s: float, end_s: float) -> list[dict[str, object]]:
    return [
        {"event": "cell_start", "seq": seq, "mono_s": begin_s, "execution_count": seq, "source": f"x = {seq}"},
        {"event": "cell_end", "seq": seq, "mono_s": end_s, "peak_bytes": seq * MIB},
    ]


def test_each_line_comes_once_and_a_torn_one_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    lines = FileTail(path)
    assert lines.lines() == []  # it is not there yet
    path.write_bytes(b'{"a":1}\n{"b"')
    assert lines.lines() == [{"a": 1}]
    path.write_bytes(b'{"a":1}\n{"b":2}\n')
    assert lines.lines() == [{"b": 2}]
    assert lines.lines() == []
    path.write_bytes(b"[3]\n")  # emptied, and begun anew
    assert lines.lines() == [[3]]


def test_what_is_read_on_is_what_is_read_at_once(tmp_path: Path) -> None:
    journal, samples = JsonLines(tmp_path / JOURNAL), SampleWriter(tmp_path)
    growing = RecordingTail(tmp_path)
    journal.write(START)
    for second in range(2, 400):  # the files of recent samples take turns meanwhile
        samples.write(Sample(float(second), (100 + second) * MIB))
        if second % 10 == 0:
            journal.write(*cell(second, second - 0.5, float(second)))
            growing.read_on()
    growing.read_on()
    version = growing.version

    whole = read(tmp_path)
    growing.read_on()
    assert growing.version == version
    assert growing.recording.cells == whole.cells
    assert growing.recording.kernel == whole.kernel
    assert growing.recording.samples[-1] == whole.samples[-1]
    assert len({sample.mono_s for sample in growing.recording.samples}) == len(growing.recording.samples)


def test_of_a_long_recording_only_the_ends_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = JsonLines(tmp_path / JOURNAL)
    limit = {"kind": "ram", "name": "m", "bytes": 9, "source": "s"}
    journal.write(START, {"event": "limits", "mono_s": 1.0, "limits": [limit]})
    for seq in range(1, 30_000):
        journal.write(*cell(seq, float(seq), seq + 0.5))
    read_bytes: list[int] = []
    part = tail.read_part
    monkeypatch.setattr(tail, "read_part", lambda path, at, most: read_bytes.append(most) or part(path, at, most))

    growing = RecordingTail(tmp_path)
    growing.read_on()

    assert (tmp_path / JOURNAL).stat().st_size > 3 << 20
    assert sum(read_bytes) < 1 << 20
    assert growing.recording.limits[0].bytes == 9
    assert growing.recording.cells[-1].seq == 29_999
    journal.write(*cell(30_000, 30_000.0, 30_000.5))
    growing.read_on()
    assert growing.recording.cells[-1].seq == 30_000


def test_a_file_that_jumps_costs_no_more_than_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = JsonLines(tmp_path / JOURNAL)
    journal.write(START, *cell(1, 1.0, 2.0))
    growing = RecordingTail(tmp_path)
    growing.read_on()
    asked: list[int] = []
    part = tail.read_part
    monkeypatch.setattr(tail, "read_part", lambda path, at, most: asked.append(most) or part(path, at, most))

    with (tmp_path / JOURNAL).open("r+b") as file:
        file.truncate(64 * MIB)
    growing.read_on()
    journal.write({}, *cell(2, 3.0, 4.0))
    growing.read_on()

    assert max(asked) <= MIB
    assert [one.seq for one in growing.recording.cells] == [1, 2]


def test_of_limits_and_starts_without_end_a_few_are_kept(tmp_path: Path) -> None:
    journal = JsonLines(tmp_path / JOURNAL)
    growing = RecordingTail(tmp_path)
    journal.write(START)
    for size in range(1, 3_000):
        limit = {"kind": "ram", "name": "m", "bytes": size, "source": "s"}
        journal.write({"event": "limits", "mono_s": 1.0, "limits": [limit]}, {"event": "start", "mono_s": float(size)})
        journal.write({"event": "surroundings", "mono_s": float(size), "when": "changed", "rlimits": {}})
        if size % 500 == 0:
            growing.read_on()
    for seq in range(1_500):
        journal.write(*cell(seq, float(seq), seq + 0.5))
        if seq % 200 == 0:
            growing.read_on()
    growing.read_on()

    assert len(growing.recording.cells) <= 1_210
    assert growing.recording.kernel.kernel_id == "k"
    assert growing.recording.limits[0].bytes == 2_999
    assert growing.recording.system_states[-1].mono_s == 2_999
    assert len(growing.recording.system_states) <= 4


def test_cells_as_long_as_a_book_are_not_all_held(tmp_path: Path) -> None:
    journal = JsonLines(tmp_path / JOURNAL)
    growing = RecordingTail(tmp_path)
    journal.write(START)
    for seq in range(40):
        begin, end = cell(seq, float(seq), seq + 0.5)
        journal.write(begin | {"source": "x" * (MIB // 2)}, end)
        growing.read_on()

    assert sum(len(one.source) for one in growing.recording.cells) <= 8 * MIB
    assert growing.recording.cells[-1].seq == 39
    assert growing.recording.kernel.kernel_id == "k"


def test_what_is_damaged_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(b'\x00\xff\n{"event":7}\n[1]\n{"event":"limits","limits":5}\n')
    (tmp_path / RECENT[0]).write_bytes(b'["mono_s","rss_bytes"]\n["x",1]\n[1.0,null]\n{}\n[2.0]\n')

    growing = RecordingTail(tmp_path)
    growing.read_on()

    assert growing.recording.samples == (Sample(1.0),)


def test_cards_without_end_are_not_kept(tmp_path: Path) -> None:
    lines = (f'{{"mono_s":1.0,"index":{index},"used_bytes":1,"total_bytes":2}}\n' for index in range(1000))
    (tmp_path / GPU[0]).write_text("".join(lines))
    read = RecordingTail(tmp_path)
    read.read_on()
    assert 0 < len(read.recording.gpu_samples) <= 64
