"""Where a kernel runs: on a small disk, in a directory that cannot be written, with few processes, by a false clock.

What this machine does not permit is left out; `missing` says what, and why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

_PIDS = Path("/sys/fs/cgroup/pids")
_COMPILER = shutil.which("cc")
_DAY_S = 86400


@dataclass
class Surroundings:
    """What a kernel is started with, and what can be done to it there."""

    data_root: Path
    prefix: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    disturbances: dict[str, Callable[[], object]] = field(default_factory=dict)
    records: bool = True
    """Whether the kernel can be recorded there at all times."""


@contextmanager
def _ordinary(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    yield Surroundings(work / "data")


@contextmanager
def _small_disk(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    with _mounted(work / "small", "-t", "tmpfs", "-o", "size=1m", "none") as disk:
        yield Surroundings(disk / "data", disturbances={"disk filled": lambda: _fill(disk)})


@contextmanager
def _read_only(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    with _mounted(work / "data", "-t", "tmpfs", "-o", "ro", "none") as disk:
        yield Surroundings(disk, records=False)


@contextmanager
def _covered(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    """A directory that turns read-only: whoever opens a file in it from then on cannot write."""
    data = work / "data"
    with ExitStack() as stack:

        def cover() -> None:
            stack.enter_context(_mounted(data, "--bind", str(data)))
            subprocess.run(["mount", "-o", "remount,bind,ro", str(data)], check=True)

        yield Surroundings(data, disturbances={"directory turned read-only": cover})


@contextmanager
def _few_processes(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    group = _PIDS / work.name
    group.mkdir()
    (group / "pids.max").write_text(str(chance.randrange(30, 45)))
    try:
        join = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        yield Surroundings(work / "data", ["sh", "-c", join, "sh"], records=False)
    finally:
        deadline = time.monotonic() + 10
        while group.exists() and time.monotonic() < deadline:  # the recorder in it may still be writing the end
            with suppress(OSError):
                group.rmdir()
            time.sleep(0.05)


@contextmanager
def _few_descriptors(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    limit = chance.randrange(85, 140)
    yield Surroundings(work / "data", ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"], records=False)


@contextmanager
def _false_clock(work: Path, chance: random.Random) -> Iterator[Surroundings]:
    """A wall clock of the kernel's and its recorder's own (`clock.c`): who reads the recording has the right one."""
    library, clock = work / "clock.so", work / "clock"
    build = [_COMPILER or "", "-shared", "-fPIC", "-O1", "-o", library, Path(__file__).parent / "clock.c", "-ldl"]
    subprocess.run(build, check=True)
    clock.write_bytes(_seconds(0))
    jump = chance.choice((-400 * _DAY_S, -7200, -3, 3, 7200, 400 * _DAY_S))

    def jump_now() -> None:
        with clock.open("r+b") as file:
            file.write(_seconds(jump))

    environment = {"LD_PRELOAD": str(library), "FALSE_CLOCK": str(clock)}
    yield Surroundings(work / "data", environment=environment, disturbances={"clock jumped": jump_now})


def _seconds(count: int) -> bytes:
    return count.to_bytes(8, sys.byteorder, signed=True)


_IS_ROOT = os.geteuid() == 0
_ALL = {
    "ordinary": (_ordinary, True, ""),
    "small disk": (_small_disk, _IS_ROOT, "mounting needs root"),
    "read-only": (_read_only, _IS_ROOT, "mounting needs root"),
    "directory turned read-only": (_covered, _IS_ROOT, "mounting needs root"),
    "few processes": (_few_processes, os.access(_PIDS, os.W_OK), "no control group for processes can be made"),
    "few descriptors": (_few_descriptors, True, ""),
    "false clock": (_false_clock, _COMPILER is not None, "there is no C compiler"),
}

AVAILABLE = {name: make for name, (make, is_available, _) in _ALL.items() if is_available}


def missing() -> list[str]:
    """Return what cannot be played on this machine, and why."""
    return [f"{name}: {why}" for name, (_, is_available, why) in _ALL.items() if not is_available]


@contextmanager
def _mounted(directory: Path, *what: str) -> Iterator[Path]:
    directory.mkdir(exist_ok=True)
    subprocess.run(["mount", *what, str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=False)


def _fill(disk: Path) -> None:
    with suppress(OSError), (disk / "full").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
