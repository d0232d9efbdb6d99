"""Rounds in which a container is killed and started again: the new kernel has the process id of the old one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from support.kernels import LiveKernel

from .invariants import Outcome, failure, judged, newest, signalled, without_leftovers

if TYPE_CHECKING:
    from jupyter_kerneldoctor.recording.model import Recording

_INSIDE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
_INIT = ["sh", "-c", '"$@" & wait $!', "sh", "env", "JPY_PARENT_PID=0"]
"""A shell is the first process of the container. A kernel ends itself when its parent is not the one it was told."""

_JUDGE = """\
import json, os
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.diagnosis import diagnose
found = [diagnose(Store().open(one)).to_json() for one in Store().ids()]
json.dumps([[document["pid"] == os.getpid(), document["end"]["kind"], document["cause"]] for document in found])
"""

_TRIED = subprocess.run([*_INSIDE, "true"], check=False, capture_output=True)
IS_PERMITTED = os.geteuid() == 0 and _TRIED.returncode == 0


def play(seed: int) -> Outcome:
    """Play one round."""
    chance = random.Random(seed)
    end = chance.choice(("container killed", "kernel killed", "kernel and recorder killed"))
    with without_leftovers() as (work, wrong):
        for is_again in (False, True):
            try:
                kernel = LiveKernel(work / "data", work, [*_INSIDE, *_INIT])
                try:
                    _play(kernel, wrong, end, is_again=is_again)
                    time.sleep(chance.random() * 0.1)
                finally:
                    with suppress(Exception):
                        kernel.close()
            except Exception as error:
                wrong.append(failure(error, work))
    return Outcome(seed, "a container", "started again", end, 4, tuple(wrong))


def _play(kernel: LiveKernel, wrong: list[str], end: str, *, is_again: bool) -> None:
    kernel.load()
    kernel.run("pid = __import__('os').getpid()")
    inside = int(kernel.run("pid").result or 0)
    recordings = _wait_for(kernel.data_root, 2 if is_again else 1)
    if any(found.kernel.process.pid != inside for found in recordings):
        wrong.append("the round failed: another process id inside")
    if any(judged(found, wrong)["died"] for found in recordings[:1]):
        wrong.append("it is said to have died, and lives")
    if is_again:
        said = kernel.run(_JUDGE).result or ""
        if said.count('"running"') != 1:
            wrong.append(f"seen from inside: {said}")
        return
    kernel.client.execute("import time; time.sleep(60)")
    time.sleep(0.2)
    if end == "container killed":
        signalled(kernel.pid, signal.SIGKILL)
    else:
        for pid in _of_container(kernel.pid, "ipykernel", *(["sidecar"] if "recorder" in end else [])):
            signalled(pid, signal.SIGKILL)
    kernel.process.wait(30)


def _wait_for(root: Path, count: int) -> list[Recording]:
    deadline = time.monotonic() + 10
    while len(found := newest(root, all_of_them=True)) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _of_container(pid: int, *words: str) -> list[int]:
    """Return the processes below one that have any of these words in their command line, without shells."""
    found = []
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in map(int, children):
        command = Path(f"/proc/{child}/cmdline").read_bytes().decode()
        if any(word in command for word in words) and not command.startswith("sh\0"):
            found.append(child)
        found += _of_container(child, *words)
    return found
