"""Rounds in which a Jupyter server owns the kernel: kernel, recorder and server get signals in random order."""

from __future__ import annotations

import random
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from deaths.hosts import UnderServer

from .invariants import Outcome, failure, judged, newest, signalled, without_leftovers

if TYPE_CHECKING:
    from pathlib import Path

_SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT, signal.SIGINT)
_CELLS = ("1 + 1", "import time; time.sleep(0.2)", "pile = bytearray(30_000_000)", "import time; time.sleep(30)")


def play(seed: int) -> Outcome:
    """Play one round."""
    chance = random.Random(seed)
    done: list[str] = []
    cells = 0
    with without_leftovers() as (work, wrong):
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        host = UnderServer(argv, work)
        pids: dict[str, set[int]] = {}
        try:
            if not host.start(60):
                wrong.append("the round failed: the kernel was not ready")
            if chance.random() < 0.5:
                host.client.execute("%load_ext kerneldoctor")
            for _ in range(3):
                cells += 1
                host.client.execute(chance.choice(_CELLS))
                time.sleep(chance.random() * 0.3)
            for _ in range(chance.randrange(1, 5)):
                pids = {"kernel": {host.pid}, "recorder": _recorders(work), "server": {host.server_pid}}
                target, number = chance.choice([*pids]), chance.choice(_SIGNALS)
                done.append(f"{number.name} to the {target}")
                for pid in pids[target]:
                    signalled(pid, number)
                time.sleep(chance.random() * 0.5)
            for pid in {host.pid, host.server_pid, *_recorders(work)}:
                signalled(pid, signal.SIGCONT)
            time.sleep(0.5)
            for recording in newest(work / "doctor", all_of_them=True):
                judged(recording, wrong, ", ".join(done))
        except Exception as error:
            wrong.append(failure(error, work))
        finally:
            with suppress(Exception):
                host.close()
        for recording in newest(work / "doctor", all_of_them=True):
            judged(recording, wrong, ", ".join(done))
    return Outcome(seed, "under a server", "signals in random order", done[-1] if done else "", cells, tuple(wrong))


def _recorders(work: Path) -> set[int]:
    found = newest(work / "doctor", all_of_them=True)
    return {recording.sidecar.pid for recording in found if recording.sidecar is not None}
