"""The conditions a case's kernel lives in: control groups, resource limits, small file systems."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.trial.memory_limit import NoMemoryLimitError, memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .case import Case

LARGEST_MB = 6000
"""Every kernel gets a limit, so that a case which goes wrong does not take the machine with it."""

_SIDECAR_PIDS = 4  # room for the sidecar, so that the kernel has what the case gives it

# Runs first in the kernel's process, and then becomes the kernel: the same pid, already under all conditions.
_LAUNCH = """
import ctypes, json, os, resource, subprocess, sys
wanted = json.loads(sys.argv[1])
if wanted["mounts"]:
    if ctypes.CDLL(None, use_errno=True).unshare(0x20000):
        sys.exit("no mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
for path, size in wanted["mounts"].items():
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", path], check=True)
for name, value in wanted["rlimits"].items():
    pair = tuple(value) if isinstance(value, list) else (value, value)
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), pair)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, **wanted["env"]})
"""


class CannotRunHereError(RuntimeError):
    """This machine cannot provide what a case needs."""


@contextmanager
def conditions(case: Case, work: Path) -> Iterator[list[str]]:
    """Set them up; yield what comes before the kernel's command line. Raises CannotRunHereError."""
    _check(case)
    mounts = {path.replace("{work}", str(work)): size for path, size in case.mounts.items()}
    try:
        with memory_limit((case.memory_mb or LARGEST_MB) << 20) as limit:
            if not case.oom_killer:
                _switch_oom_killer_off(limit.directory)
            with _pids_limit(case.pids) as join, _display(wanted=case.display) as display:
                environment = {"TMPDIR": str(temporary_directory(work)), **display, **case.env}
                wanted = {"mounts": mounts, "rlimits": case.rlimits, "env": environment}
                yield [*limit.prefix, *join, sys.executable, "-c", _LAUNCH, json.dumps(wanted)]
    except NoMemoryLimitError as error:
        raise CannotRunHereError(str(error)) from None


def temporary_directory(work: Path) -> Path:
    """Where the kernel that works in `work` puts temporary files, which a kernel that dies leaves behind."""
    return work.with_name(f"{work.name}.tmp")


def _check(case: Case) -> None:
    if case.mounts and os.geteuid() != 0:
        raise CannotRunHereError("mounting a file system needs root")
    if case.machine not in (None, os.uname().machine):
        raise CannotRunHereError(f"the processor is no {case.machine}")


def _switch_oom_killer_off(group: Path | None) -> None:
    control = None if group is None else group / "memory.oom_control"
    if control is None or not control.exists():
        raise CannotRunHereError("the out-of-memory killer can be switched off in cgroup version 1 only")
    control.write_text("1")


@contextmanager
def _pids_limit(count: int | None) -> Iterator[list[str]]:
    if count is None:
        yield []
        return
    mount = Path("/sys/fs/cgroup/pids")
    group = mount / f"kerneldoctor-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(count + _SIDECAR_PIDS))
    except OSError as error:
        raise CannotRunHereError(f"no limit of processes can be set: {error}") from None
    try:
        yield ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.05)


@contextmanager
def _display(*, wanted: bool) -> Iterator[dict[str, str]]:
    """Start an X server that shows nothing anybody sees; yield the environment for its clients."""
    if not wanted:
        yield {}
        return
    if shutil.which("Xvfb") is None:
        raise CannotRunHereError("there is no Xvfb")
    command = ["Xvfb", "-displayfd", "1", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            number = server.stdout.readline().strip() if server.stdout is not None else ""
            yield {"DISPLAY": f":{number}"}
        finally:
            server.terminate()
