"""What it costs to watch many kernels that loaded nothing, as a server does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from figures import Figure
from sidecar_side import cpu_s, rollup_bytes

from jupyter_kerneldoctor.recording.layout import ROOT_VARIABLE
from jupyter_kerneldoctor.recording.processes import identify, open_pidfd
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.server.shared_watchers import SharedWatchers
from jupyter_kerneldoctor.server.sidecar_link import SidecarLink, resolved, start_event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SETTLED_S = 75.0
"""By then samples are taken as seldom as they ever are."""


def many_unloaded(work: Path, kernels: int, seconds: float) -> Iterator[Figure]:
    """Memory and processor time of whatever watches so many real, idle kernels."""
    before, os.environ[ROOT_VARIABLE] = os.environ.get(ROOT_VARIABLE), str(work / "unloaded")
    running = [_kernel(work, number) for number in range(kernels)]
    watchers, links = SharedWatchers(), []
    try:
        for process in running:
            interpreter = resolved(sys.executable, None)
            facts = {"language": "python", "stacks": True, "interpreter": interpreter}
            links.append(SidecarLink(start_event(identify(process.pid), **facts), watchers))
            links[-1].spawn(process.pid, open_pidfd(process.pid))
        time.sleep(_SETTLED_S)
        store = Store(work / "unloaded")
        pids = {found.pid for one in store.ids() if (found := store.open(one).sidecar) is not None}
        name = f"{kernels} idle kernels that loaded nothing"
        memory = sum(rollup_bytes(pid, "Pss:") for pid in pids)
        yield Figure(f"{name}: memory of {len(pids)} watcher(s) (PSS)", memory / 2**20, "MiB", 20)
        begin, used = time.perf_counter(), sum(map(cpu_s, pids))
        time.sleep(seconds)
        share = (sum(map(cpu_s, pids)) - used) / (time.perf_counter() - begin) * 100
        yield Figure(f"{name}: processor of the watcher", share, "% core", 0.3)
    finally:
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
        for link in links:
            link.close()
        if before is None:
            del os.environ[ROOT_VARIABLE]
        else:
            os.environ[ROOT_VARIABLE] = before


def _kernel(work: Path, number: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", str(work / f"unloaded-{number}.json")]
    environment = {**os.environ, "IPYTHONDIR": str(work / "ipython")}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
