"""The report of a long recording that has ended is made once; what stands in its place counts only where it is one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.render import html, markdown
from jupyter_kerneldoctor.reports import post_mortems
from jupyter_kerneldoctor.reports.post_mortems import PostMortems

if TYPE_CHECKING:
    from pathlib import Path

ID, EARLIER = "20260101T000000Z-4711-abcdef", "20250101T000000Z-4711-abcdef"
START = {"event": "start", "process": [4711, 1, "boot"], "kernel_id": "mine", "mono_s": 1.0, "wall_s": 2.0}
END = {"event": "end", "kind": "signal", "signal": "SIGKILL", "mono_s": 9000.0, "wall_s": 9001.0}


def written(root: Path, recording_id: str, cells: int) -> Path:
    run = [
        {"event": kind, "seq": seq, "execution_count": seq, "source": f"a = {seq}  # {'x' * 400}", "mono_s": seq + late}
        for seq in range(1, cells)
        for kind, late in (("cell_start", 0.0), ("cell_end", 0.5))[: 1 + (seq < cells - 1)]
    ]
    made = layout.create(recording_id, root)
    (made / layout.JOURNAL).write_text("".join(json.dumps(event) + "\n" for event in (START, *run, END)))
    return made


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return written(tmp_path, ID, 700)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The recordings that were judged."""
    asked: list[str] = []
    diagnose = post_mortems.diagnose
    monkeypatch.setattr(post_mortems, "diagnose", lambda found: asked.append(found.id) or diagnose(found))
    return asked


def report(directory: Path) -> dict[str, Any]:
    """As a process sees it that has seen none before; as it is sent."""
    made = PostMortems(Store(directory.parent.parent)).document(directory.name)
    return json.loads(json.dumps(made))


def test_it_is_made_once_for_all_processes(directory: Path, judged: list[str]) -> None:
    first = report(directory)

    assert report(directory) == first
    assert judged == [ID]
    assert markdown.render(first)
    assert html.page(first)


def test_it_is_made_again_when_its_files_or_the_earlier_recordings_change(
    directory: Path, tmp_path: Path, judged: list[str]
) -> None:
    report(directory)
    (directory / layout.SERVER).write_text('{"event": "exit", "returncode": -9, "wall_s": 3.0, "mono_s": 3.0}\n')
    report(directory)
    written(tmp_path, EARLIER, 2)
    report(directory)

    assert judged == [ID] * 3


def test_that_of_a_short_recording_is_not_kept(tmp_path: Path) -> None:
    directory = written(tmp_path, EARLIER, 2)
    report(directory)

    assert not (directory / layout.REPORT).exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"recording": EARLIER},
        {"headline": 7},
        {"died": 1},
        {"state": "gone"},
        {"confidence": "1"},
        {"confidence": float("inf")},
        {"pid": 1 << 70},
        {"fixes": [{"id": "free-first", "snippet": "x"}]},
        {"timeline": {"samples": []}},
        {"extra": []},
    ],
)
def test_what_is_no_report_is_made_again(directory: Path, judged: list[str], fields: dict[str, Any]) -> None:
    good = report(directory)
    path = directory / layout.REPORT
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "made": {**kept["made"], **fields}}))

    assert report(directory) == good
    assert report(directory) == good
    assert len(judged) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b" " * (5 << 20) + b"{}"])
def test_what_cannot_be_read_is_made_again(directory: Path, content: bytes) -> None:
    good = report(directory)
    (directory / layout.REPORT).write_bytes(content)

    assert report(directory) == good


def test_links_and_pipes_are_not_followed(directory: Path, tmp_path: Path) -> None:
    good = report(directory)
    kept = json.loads((directory / layout.REPORT).read_text())
    kept["made"]["headline"] = "forged"
    (tmp_path / "elsewhere").write_text(json.dumps(kept))
    (directory / layout.REPORT).unlink()
    (directory / layout.REPORT).symlink_to(tmp_path / "elsewhere")

    assert report(directory) == good
    (directory / layout.REPORT).unlink()
    os.mkfifo(directory / layout.REPORT)
    assert report(directory) == good
