"""What it costs the server to show what a running kernel uses (`reports.live`)."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING

from figures import Figure
from sidecar_side import BUSY
from support.kernels import LiveKernel

from jupyter_kerneldoctor.recording.tail import RecordingTail
from jupyter_kerneldoctor.render import jsontext
from jupyter_kerneldoctor.reports.live import document, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STEP_S = 1.0


def live_view(work: Path, seconds: int) -> Iterator[Figure]:
    """Processor time of the server with an open panel; the kernel has run some hundred cells before."""
    kernel = LiveKernel(work / "live", work)
    try:
        kernel.load()
        for number in range(200):
            kernel.run(f"x = {number}")
        tail = RecordingTail(next((work / "live" / "recordings").iterdir()))
        tail.read_on()
        runs = Thread(target=lambda: kernel.run(BUSY.format(seconds=seconds)))
        runs.start()
        busy_s = [_step(tail) for _ in range(seconds)]
        runs.join()
        yield Figure("live view: processor of the server, kernel busy", 100 * sum(busy_s) / seconds, "%", 1)
        _step(tail)
        idle = [_step(tail) for _ in range(seconds)]
        yield Figure("live view: processor of the server, kernel idle", 100 * sum(idle) / seconds, "%", 0.5)
    finally:
        kernel.close()


def _step(tail: RecordingTail) -> float:
    """Do what the server does once a second; return the processor time that it took."""
    begin_s, version = time.thread_time(), tail.version
    tail.read_on()
    if tail.version != version:
        told = document(tail.recording)
        fingerprint(told)
        jsontext.render(told)
    took_s = time.thread_time() - begin_s
    time.sleep(_STEP_S)
    return took_s
