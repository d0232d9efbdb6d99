"""One round: a kernel that belongs to us runs random cells, something disturbs it or its recorder, and it ends."""

from __future__ import annotations

import queue
import random
import shutil
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from support.kernels import LiveKernel

from .cells import CELLS, STOPS_RECORDING, WRITTEN
from .invariants import Outcome, delete_recordings, failure, judged, newest, signalled, without_leftovers
from .surroundings import AVAILABLE, Surroundings

if TYPE_CHECKING:
    from pathlib import Path

DISTURBANCES = (
    "nothing",
    "recorder killed",
    "recorder ended",
    "recorder stopped",
    "kernel stopped",
    "interrupts",
    "directory removed",
)
ENDS = {
    "shut down": None,
    "SIGKILL": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGSEGV": signal.SIGSEGV,
    "SIGABRT": signal.SIGABRT,
    "killed before the recorder": signal.SIGKILL,
    "killed after the recorder": signal.SIGKILL,
}

_LOSES_NO_CELL = (
    "nothing",
    "recorder stopped",
    "kernel stopped",
    "interrupts",
    "disk filled",
    "clock jumped",
    "directory turned read-only",
)


def play(seed: int) -> Outcome:
    """Play one round."""
    chance = random.Random(seed)
    place = chance.choice([*AVAILABLE, "ordinary"])
    with without_leftovers() as (work, wrong), AVAILABLE[place](work, chance) as surroundings:
        disturbance = chance.choice([*DISTURBANCES, *surroundings.disturbances] + [*surroundings.disturbances] * 3)
        end = chance.choice([*ENDS])
        started = 0
        try:
            kernel = LiveKernel(surroundings.data_root, work, surroundings.prefix, **surroundings.environment)
            round_ = _Round(kernel, chance, work / "ran", wrong, surroundings)
            try:
                round_.play(disturbance, end)
            finally:
                started = round_.started
                with suppress(Exception):
                    kernel.close()
        except Exception as error:
            wrong.append(failure(error, work))
        delete_recordings()
    return Outcome(seed, place, disturbance, end, started, tuple(wrong))


class _Round:
    def __init__(
        self, kernel: LiveKernel, chance: random.Random, ran: Path, wrong: list[str], surroundings: Surroundings
    ) -> None:
        self.kernel, self.chance, self.ran, self.wrong, self.surroundings = kernel, chance, ran, wrong, surroundings
        self.started = 0
        self._may_be_off = False

    def play(self, disturbance: str, end: str) -> None:
        kernel, chance = self.kernel, self.chance
        kernel.load()
        if self.surroundings.records:
            kernel.sidecar_pid()
        at = chance.randrange(1, 6)
        for number in range(7):
            if number == at:
                self._disturb(disturbance)
            self._send(chance.choice(CELLS))
            if disturbance == "interrupts" and chance.random() < 0.5:
                time.sleep(chance.random() * 0.02)
                kernel.manager.interrupt_kernel()
            time.sleep(chance.random() * 0.1)
        self._check_kernel()
        self._send("import time; time.sleep(60)")
        deadline = time.monotonic() + 20
        while self._last_ran() != self.started:  # it has begun by its own account
            if time.monotonic() > deadline:
                self.wrong.append("the kernel noticed: it runs no cell")
                return
            time.sleep(0.002)
        time.sleep(chance.random() * 0.05)
        recorders = self._recorders()
        self._end(end, recorders)
        for pid in recorders:
            signalled(pid, signal.SIGCONT)
        self._check_recording(disturbance, end)

    def _recorders(self) -> set[int]:
        return {found.sidecar.pid for found in self.kernel.recordings() if found.sidecar is not None}

    def _send(self, cell: str) -> None:
        self.started += 1
        self._may_be_off = self._may_be_off or cell in STOPS_RECORDING
        note = f"import os\nwith open({str(self.ran)!r}, 'a') as file: print({self.started}, file=file)\n"
        cell = cell.replace("{duration}", f"{self.chance.random() * 0.3:.3f}")
        self.kernel.client.execute(note + cell)

    def _last_ran(self) -> int:
        try:
            return int(self.ran.read_text().split()[-1])
        except (OSError, IndexError):
            return 0

    def _disturb(self, what: str) -> None:
        signals = {
            "recorder killed": signal.SIGKILL,
            "recorder ended": signal.SIGTERM,
            "recorder stopped": signal.SIGSTOP,
        }
        if what in signals:
            for pid in self._recorders():
                signalled(pid, signals[what])
        elif what == "kernel stopped":
            signalled(self.kernel.pid, signal.SIGSTOP)
            time.sleep(self.chance.random() * 0.5)
            signalled(self.kernel.pid, signal.SIGCONT)
        elif what == "directory removed":
            shutil.rmtree(self.kernel.data_root, ignore_errors=True)
        elif what in self.surroundings.disturbances:
            self.surroundings.disturbances[what]()

    def _check_kernel(self) -> None:
        """The kernel still does what it is told; cells that wait behind an interrupted one are taken with it."""
        for _ in range(5):
            with suppress(AssertionError, queue.Empty):
                outcome = self.kernel.run("6 * 7")
                if outcome.reply["status"] == "ok":
                    if outcome.result != "42":
                        self.wrong.append(f"the kernel noticed: {outcome.result}")
                    break
        else:
            self.wrong.append("the kernel noticed: it does not answer")
        written = self.kernel.run(WRITTEN).result
        if written not in (None, "''"):
            self.wrong.append(f"the kernel noticed: in files of the user's stands {written}")
        if any(judged(recording, self.wrong)["died"] for recording in newest(self.kernel.data_root)):
            self.wrong.append("it is said to have died, and lives")

    def _end(self, end: str, recorders: set[int]) -> None:
        number = ENDS[end]
        if end == "killed after the recorder":
            for pid in recorders:
                signalled(pid, signal.SIGKILL)
            time.sleep(self.chance.random() * 0.04)
        if number is None:
            self.kernel.manager.shutdown_kernel(now=False)
        else:
            signalled(self.kernel.pid, number)
        if end == "killed before the recorder":
            time.sleep(self.chance.random() * 0.001)
            for pid in recorders:
                signalled(pid, signal.SIGKILL)
        self.kernel.process.wait(30)

    def _check_recording(self, disturbance: str, end: str) -> None:
        root = self.kernel.data_root
        found = newest(root, all_of_them=True)
        for recording in found:
            judged(recording, self.wrong, end)
        if not self.surroundings.records or disturbance == "directory removed":
            return
        if not found:
            self.wrong.append("no recording is there")
        elif disturbance in _LOSES_NO_CELL and "the recorder" not in end and not self._may_be_off:
            cells = found[0].cells
            if not cells or f"print({self.started}, " not in cells[-1].source:
                self.wrong.append("the last cell is not known")
