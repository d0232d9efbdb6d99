"""Append-only files that a torn tail cannot spoil."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from jupyter_kerneldoctor.recording.journal import JsonLines, read_events, read_lines
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.reader import read

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = JsonLines(tmp_path / "a.jsonl")
    file.write({"event": "one", "text": "\x00 \ud800 é\n"}, {"event": "two"})

    assert list(read_events(tmp_path / "a.jsonl")) == [{"event": "one", "text": "\x00 \ud800 é\n"}, {"event": "two"}]
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_line_cut_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    JsonLines(path).write({"event": "one"}, {"event": "two"})
    path.write_bytes(path.read_bytes()[:-5])

    JsonLines(path).write({"event": "three"})

    assert [event["event"] for event in read_events(path)] == ["one", "three"]


def test_a_write_that_fails_is_counted_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os  # noqa: PLC0415

    file = JsonLines(tmp_path / "a.jsonl")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))  # the disk takes seven bytes more
    assert not file.write({"event": "cut"})
    monkeypatch.undo()
    assert file.write({"event": "whole"})

    assert file.lost == 1
    assert [event["event"] for event in read_events(tmp_path / "a.jsonl")] == ["whole"]


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert list(read_lines(tmp_path / "missing")) == []


@given(st.binary(max_size=400))
def test_reading_any_bytes_never_fails(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    directory = tmp_path_factory.mktemp("recording")
    for name in (JOURNAL, "samples.jsonl", "recent-0.jsonl", "server.jsonl", "crash.txt"):
        (directory / name).write_bytes(junk)

    assert read(directory).cells == ()


def test_where_closing_fails_the_number_is_not_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that watches many kernels it may be another kernel's file by then."""
    file = JsonLines(tmp_path / "a.jsonl")
    number, close, closed = file._fd, os.close, list[int]()

    def fails(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)
        raise OSError

    monkeypatch.setattr(os, "close", fails)
    with suppress(OSError):
        file.close()
    del file

    assert closed == [number]
