"""What of a card's troubles is written down."""

from __future__ import annotations

import os
from collections import Counter, deque
from typing import TYPE_CHECKING

import pytest
from support import requires

from jupyter_kerneldoctor.recording.journal import read_events
from jupyter_kerneldoctor.recording.layout import JOURNAL
from jupyter_kerneldoctor.recording.processes import identify
from jupyter_kerneldoctor.sidecar.gpu.samples import GpuSampleWriter
from jupyter_kerneldoctor.sidecar.journal import Journal
from jupyter_kerneldoctor.sidecar.observer import Watched
from jupyter_kerneldoctor.sidecar.observers.gpu import GpuObserver

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = requires.linux

HOUR_S = 3600


class Reader:
    """Has the news that a test puts in, and asks no card."""

    is_running = True
    pending_call = None

    def __init__(self) -> None:
        self.news: deque[tuple[str, dict[str, object]]] = deque()


@pytest.fixture
def observer(tmp_path: Path) -> GpuObserver:
    watched = Watched(tmp_path, Journal(tmp_path / JOURNAL), identify(os.getpid()))
    observer = GpuObserver(watched)
    observer._reader, observer._samples = Reader(), GpuSampleWriter(tmp_path)
    return observer


def written(directory: Path, name: str) -> list[dict[str, object]]:
    return [event for event in read_events(directory / JOURNAL) if event["event"] == name]


def test_a_storm_of_errors_hides_no_other_and_not_the_last(observer: GpuObserver, tmp_path: Path) -> None:
    for second in range(HOUR_S):
        observer._reader.news.append(("xid", {"mono_s": float(second), "code": 31, "index": 0}))
        if second == 1800:
            observer._reader.news.append(("xid", {"mono_s": float(second), "code": 79, "index": 0}))
        observer.turn(float(second))
    observer.at_end()

    xids = written(tmp_path, "xid")
    assert Counter(xid["code"] for xid in xids)[79] == 1
    assert 100 < len(xids) < 200, "of 3,600"
    assert xids[-1]["mono_s"] == HOUR_S - 1


def test_a_card_that_comes_and_goes_is_recorded_at_a_bounded_rate_and_at_the_end(
    observer: GpuObserver, tmp_path: Path
) -> None:
    for second in range(HOUR_S):
        error = "GPU is lost" if second % 2 else None
        observer._reader.news.append(("gpus", {"driver": {"error": error}, "devices": []}))
        observer.turn(float(second))
    observer.at_end()

    gpus = written(tmp_path, "gpus")
    assert 20 < len(gpus) < 40
    assert gpus[-1]["driver"] == {"error": "GPU is lost"}
