"""What is made for the open pages, also of recordings of which one is damaged."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from jupyter_kerneldoctor.recording import layout
from jupyter_kerneldoctor.recording.samples import Sample, SampleWriter
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.reports.post_mortems import PostMortems
from jupyter_kerneldoctor.server import live
from jupyter_kerneldoctor.server.live import LivePages, LiveRecordings

GOOD, BAD = "20260101T000000Z-11-aaaaaa", "20260101T000001Z-12-bbbbbb"


def record(root, recording_id, kernel_id, *events):
    start = {"event": "start", "mono_s": 1.0, "wall_s": 2.0, "process": [11, 1, "boot"], "kernel_id": kernel_id}
    lines = [json.dumps(event) + "\n" for event in (start, *events)]
    (layout.create(recording_id, root) / layout.JOURNAL).write_text("".join(lines))


class Page:
    """Keeps what is sent."""

    def __init__(self):
        self.sent: list[dict[str, Any]] = []

    def write_message(self, text):
        self.sent.append(json.loads(text))


@pytest.mark.parametrize("bad_is_shown", [True, False])
def test_a_recording_that_raises_loses_only_its_own_document(tmp_path, monkeypatch, bad_is_shown):
    record(tmp_path, GOOD, "good")
    record(tmp_path, BAD, "bad")
    read_on = live.RecordingTail.read_on

    def raise_for_one(tail):
        read_on(tail)
        if tail.recording.id == BAD:
            raise ZeroDivisionError

    monkeypatch.setattr(live.RecordingTail, "read_on", raise_for_one)
    failures: list[Exception] = []
    kernels = type("Kernels", (), {"list_kernel_ids": lambda _: ["good", "bad"]})()
    good, bad = Page(), Page()

    async def show():
        pages = LivePages(LiveRecordings(PostMortems(Store(tmp_path))), kernels, failures.append)
        if bad_is_shown:
            pages.show(bad, "bad", detail=True)
        pages.show(good, "good", detail=True)
        for _ in range(1200):
            await asyncio.sleep(0.05)
            if good.sent:
                break
        pages.show(good, None, detail=False)
        pages.show(bad, None, detail=False)

    asyncio.run(show())

    assert good.sent[0]["recording"] == GOOD
    assert all(told["is_recorded"] is False for told in bad.sent)
    assert [type(error) for error in failures] == [ZeroDivisionError]


def test_a_panel_that_is_opened_shows_the_other_kernels_at_once(tmp_path):
    limits = {"event": "limits", "limits": [{"kind": "ram", "name": "memory", "bytes": 9_000, "source": "MemTotal"}]}
    for recording_id, kernel_id in ((GOOD, "here"), (BAD, "there")):
        record(tmp_path, recording_id, kernel_id, limits)
        writer = SampleWriter(layout.recordings_dir(tmp_path) / recording_id)
        writer.write(Sample(2.0, rss_bytes=1_000, available_bytes=5_000))
        writer.close()
    kernels = type("Kernels", (), {"list_kernel_ids": lambda _: ["here", "there"]})()
    page = Page()

    async def told():
        for _ in range(3000):
            await asyncio.sleep(0.02)
            if page.sent:
                return page.sent.pop()
        raise AssertionError("nothing was told")

    async def show():
        pages = LivePages(LiveRecordings(PostMortems(Store(tmp_path))), kernels, lambda error: None)
        for detail in (False, True):
            pages.show(page, "here", detail=detail)
            yield await told()
        pages.show(page, None, detail=False)

    async def all_told():
        return [told.get("others") async for told in show()]

    assert asyncio.run(all_told()) == [None, [{"kernel_id": "there", "bytes": 1_000}]]


def test_a_recording_without_a_kernel_is_read_again_less_and_less_often(tmp_path, monkeypatch):
    (layout.create(BAD, tmp_path) / layout.JOURNAL).write_text("junk\n")
    record(tmp_path, GOOD, "good")
    post_mortems, asked = PostMortems(Store(tmp_path)), []
    header = post_mortems.header
    monkeypatch.setattr(post_mortems, "header", lambda *given: asked.append(given[0]) or header(*given))
    now = [1000.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    recordings = LiveRecordings(post_mortems)
    for _ in range(300):
        assert recordings.read_on("good").recording.id == GOOD
        now[0] += 1.0
    assert asked.count(GOOD) == 1
    assert asked.count(BAD) < 15

    (tmp_path / "recordings" / BAD / layout.JOURNAL).unlink()
    (tmp_path / "recordings" / BAD).rmdir()
    record(tmp_path, BAD, "good")
    now[0] += 60.0
    assert recordings.read_on("good").recording.id == BAD
