"""Torture: kernels and their recorders are interrupted, stopped and killed at random, and nothing may come of it.

    PYTHONPATH=tests python -m torture --rounds 100 [--seed 1] [--write docs/reliability.md]

Each round starts a kernel, runs random cells in it, and disturbs it, its recorder, or the directory of its recording.
A round fails when the kernel notices, when the recording cannot be read, when the cell that was started last is not
known though the recorder lived, when an answer that is called proven is wrong, or when a process is left behind.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from support.kernels import LiveKernel

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.render import terminal

PROVEN = 0.9

CELLS = (
    "x = sum(range(1000))",
    "import time; time.sleep({duration})",
    "import subprocess; child = subprocess.Popen(['sleep', '1']); child.wait({duration} + 2)",
    "import threading\nfor _ in range(8): threading.Thread(target=sum, args=(range(10**5),)).start()",
    "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)",
    "pile = bytearray(50_000_000); del pile",
    "1 / 0",
    "os.write(2, b'native words\\n' * 100)",
    "import signal; old = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
    "os.chdir('/')",
    "from concurrent.futures import ProcessPoolExecutor as Pool\nwith Pool(2) as pool: list(pool.map(abs, range(9)))",
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "%kerneldoctor off",
    "%kerneldoctor on",
)
"""What is run. Each begins by noting its number in a file, so that what has run is known from another source."""

DISTURBANCES = ("nothing", "recorder killed", "recorder ended", "recorder stopped", "interrupts", "directory removed")
ENDS = {
    "shut down": None,
    "SIGKILL": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGSEGV": signal.SIGSEGV,
    "SIGABRT": signal.SIGABRT,
    "killed with the recorder": signal.SIGKILL,
}

WRONG = ("oom-", "memory-", "gpu-", "shm-", "disk-", "fd-", "self-kill", "exit-call", "hang", "startup-failure")
"""What none of these ends is, as the beginnings of causes. A SIGSEGV from outside looks like any other."""


class Outcome(NamedTuple):
    """What came of a round: what was done, and what was wrong with it."""

    seed: int
    disturbance: str
    end: str
    cells: int
    wrong: tuple[str, ...]


def play(seed: int) -> Outcome:
    """Play one round."""
    chance = random.Random(seed)
    disturbance, end = chance.choice(DISTURBANCES), chance.choice([*ENDS])
    work = Path(tempfile.mkdtemp(prefix="kerneldoctor-torture-"))
    kernel = LiveKernel(work / "data", work)
    try:
        round_ = _Round(kernel, chance, work / "ran")
        round_.play(disturbance, end)
    except Exception as error:
        round_.wrong.append(f"the round failed: {type(error).__name__}: {error}"[:300])
    finally:
        with suppress(Exception):
            kernel.close()
    left = _left_behind(str(work))
    shutil.rmtree(work, ignore_errors=True)
    return Outcome(seed, disturbance, end, round_.started, (*round_.wrong, *left))


class _Round:
    def __init__(self, kernel: LiveKernel, chance: random.Random, ran: Path) -> None:
        self.kernel, self.chance, self.ran = kernel, chance, ran
        self.started = 0
        self.wrong: list[str] = []

    def play(self, disturbance: str, end: str) -> None:
        kernel, chance = self.kernel, self.chance
        kernel.load()
        sidecar = kernel.sidecar_pid()
        at = chance.randrange(1, 6)
        was_off = False
        for number in range(7):
            if number == at:
                self._disturb(disturbance, sidecar)
            cell = chance.choice(CELLS)
            was_off = was_off or cell == "%kerneldoctor off"
            self._send(cell)
            if disturbance == "interrupts" and chance.random() < 0.5:
                time.sleep(chance.random() * 0.02)
                kernel.manager.interrupt_kernel()
            time.sleep(chance.random() * 0.1)
        self._check_kernel()
        recorders = {found.sidecar.pid for found in kernel.recordings() if found.sidecar is not None}
        self._send("import time; time.sleep(60)")
        deadline = time.monotonic() + 20
        while self._last_ran() != self.started:  # it has begun by its own account
            if time.monotonic() > deadline:
                self.wrong.append("the kernel noticed: it runs no cell")
                return
            time.sleep(0.002)
        time.sleep(chance.random() * 0.05)
        if end == "killed with the recorder":
            for pid in recorders:
                _signal(pid, signal.SIGKILL)
        self._end(end)
        for pid in recorders:
            _signal(pid, signal.SIGCONT)
        # A cell that is to switch it on again may be taken along by a failed or interrupted one before it.
        knows_all = not was_off and disturbance in ("nothing", "interrupts") and end != "killed with the recorder"
        self._check_recording(end, knows_all=knows_all, is_there=disturbance != "directory removed")

    def _send(self, cell: str) -> None:
        self.started += 1
        note = f"import os\nwith open({str(self.ran)!r}, 'a') as file: print({self.started}, file=file)\n"
        cell = cell.replace("{duration}", f"{self.chance.random() * 0.3:.3f}")
        self.kernel.client.execute(note + cell)

    def _last_ran(self) -> int:
        try:
            return int(self.ran.read_text().split()[-1])
        except (OSError, IndexError):
            return 0

    def _disturb(self, what: str, sidecar: int) -> None:
        signals = {
            "recorder killed": signal.SIGKILL,
            "recorder ended": signal.SIGTERM,
            "recorder stopped": signal.SIGSTOP,
        }
        if what in signals:
            _signal(sidecar, signals[what])
        elif what == "directory removed":
            shutil.rmtree(self.kernel.data_root, ignore_errors=True)

    def _check_kernel(self) -> None:
        """The kernel still does what it is told; cells that wait behind an interrupted one are taken with it."""
        for _ in range(5):
            with suppress(AssertionError, queue.Empty):
                outcome = self.kernel.run("6 * 7")
                if outcome.reply["status"] == "ok":
                    if outcome.result != "42":
                        self.wrong.append(f"the kernel noticed: {outcome.result}")
                    return
        self.wrong.append("the kernel noticed: it does not answer")

    def _end(self, end: str) -> None:
        number = ENDS[end]
        if number is None:
            self.kernel.manager.shutdown_kernel(now=False)
        else:
            _signal(self.kernel.pid, number)
        self.kernel.process.wait(30)

    def _check_recording(self, end: str, *, knows_all: bool, is_there: bool) -> None:
        store = Store(self.kernel.data_root)
        found = [store.open(recording_id) for recording_id in store.ids()]
        for recording in found:
            post_mortem = diagnose(recording)
            document = post_mortem.to_json()
            terminal.render(document)
            is_proven = document["died"] and document["confidence"] >= PROVEN
            if is_proven and document["cause"].startswith(WRONG):
                self.wrong.append(f"proven and wrong: {document['cause']} {document['confidence']} after {end}")
        if is_there and not found:
            self.wrong.append("no recording is there")
        if knows_all and found:
            cells = max(found, key=lambda recording: recording.started_mono_s).cells
            if not cells or f"print({self.started}, " not in cells[-1].source:
                self.wrong.append("the last cell is not known")


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _left_behind(work: str) -> list[str]:
    """Processes that still name the directory of the round, some seconds after its end."""
    deadline = time.monotonic() + 10
    while left := _naming(work):
        if time.monotonic() > deadline:
            return [f"left behind: {' '.join(words)[:200]}" for words in left]
        time.sleep(0.1)
    return []


def _naming(work: str) -> list[list[str]]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                if any(work in word for word in words):
                    found.append(words)
    return found


def page(outcomes: list[Outcome], seconds: float, command: str) -> str:
    """The figures as a page."""
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    kinds = Counter(reason.partition(":")[0] for outcome in wrong for reason in outcome.wrong)
    rows = Counter((outcome.disturbance, outcome.end) for outcome in outcomes)
    lines = [
        "# Reliability",
        "",
        "What was seen when kernels and recorders were interrupted, stopped and killed at random (`make torture`;",
        "what is done, and what must hold, is in `tests/torture`).",
        "",
        f"`{command}`: {len(outcomes)} rounds, {sum(outcome.cells for outcome in outcomes)} cells, {seconds:.0f} s.",
        "",
        "| | rounds |",
        "| --- | --- |",
        f"| nothing wrong | {len(outcomes) - len(wrong)} |",
        *(f"| {kind} | {count} |" for kind, count in sorted(kinds.items())),
        "",
        "| disturbed by | and ended by | rounds |",
        "| --- | --- | --- |",
        *(f"| {disturbance} | {end} | {count} |" for (disturbance, end), count in sorted(rows.items())),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Play rounds; return 1 if anything was wrong with one."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    begun = time.monotonic()
    outcomes = []
    with ProcessPoolExecutor(options.workers) as pool:
        for outcome in pool.map(play, range(options.seed, options.seed + options.rounds)):
            outcomes.append(outcome)
            if outcome.wrong:
                print(outcome, flush=True)
    command = f"python -m torture --rounds {options.rounds} --seed {options.seed}"
    text = page(outcomes, time.monotonic() - begun, command)
    print(text)
    if options.write is not None:
        options.write.write_text(text)
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
