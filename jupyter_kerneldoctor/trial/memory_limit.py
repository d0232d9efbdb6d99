"""A real memory limit for a command: a control group of its own (cgroup v1 or v2), a systemd scope, or RLIMIT_DATA.

with memory_limit(512 << 20) as limit:
    subprocess.run(limit.command(["python", "-c", "bytearray(10**9)"]))
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

with suppress(ImportError):  # Windows has none; the server there imports this module, too
    import resource

CGROUP = Path("/sys/fs/cgroup")


class NoMemoryLimitError(RuntimeError):
    """This machine lets us set none; the message says what would help."""


@dataclass
class Limit:
    """A limit in force for whatever is started with `command`."""

    kind: str
    """In words: "a control group, like a container's (cgroup v1)"."""
    prefix: list[str]
    directory: Path | None = None
    """The control group, where it is ours."""
    refuses_bytes: int | None = None
    """Where no process is killed, but memory refused: how much the process that `enforce` is told may take."""

    def command(self, argv: list[str]) -> list[str]:
        """Return the command line that runs `argv` below the limit, in a process of the same pid."""
        return [*self.prefix, *argv]

    def enforce(self, pid: int) -> None:
        """Limit a process that has started, where nothing but its own limits can. Raises OSError, ValueError.

        RLIMIT_DATA counts what is reserved, too, such as the stacks of threads: what the process has reserved by now
        and does not use is added.
        """
        if self.refuses_bytes is not None:
            reserved, used = _memory(pid, "VmData"), _memory(pid, "RssAnon")
            lower_limit(pid, "DATA", self.refuses_bytes + max(0, reserved - used))


@contextmanager
def memory_limit(limit_bytes: int, kinds: Sequence[str] = ("cgroup", "systemd")) -> Iterator[Limit]:
    """Set up the first kind of limit that works here: `cgroup`, `systemd`, `rlimit`. Raises NoMemoryLimitError."""
    problems = []
    for make in (make for kind in kinds for make in _MAKERS[kind]):
        try:
            limit = make(limit_bytes)
        except OSError as error:
            problems.append(f"{make.__name__.strip('_')}: {error}")
            continue
        try:
            yield limit
        finally:
            if limit.directory is not None:
                _remove(limit.directory)
        return
    raise NoMemoryLimitError(
        "No memory limit can be set here ("
        + "; ".join(problems)
        + "). As root with a writable /sys/fs/cgroup, or in a systemd user session, it works."
    )


def lower_limit(pid: int, name: str, value: int) -> None:
    """Lower a resource limit of a running process, `DATA`; never raise it. Raises OSError, ValueError."""
    number = getattr(resource, f"RLIMIT_{name}")
    soft, hard = resource.prlimit(pid, number)
    known = [one for one in (soft, hard, value) if one != resource.RLIM_INFINITY]
    resource.prlimit(pid, number, (min(known), hard))


def _cgroup_v1(limit_bytes: int) -> Limit:
    directory = _make_group(CGROUP / "memory", "memory.limit_in_bytes")
    _set(directory, {"memory.limit_in_bytes": limit_bytes, "memory.memsw.limit_in_bytes": limit_bytes})
    return _group("a control group, like a container's (cgroup v1)", directory)


def _cgroup_v2(limit_bytes: int) -> Limit:
    directory = _make_group(CGROUP, "memory.max")
    _set(directory, {"memory.max": limit_bytes, "memory.swap.max": 0})
    return _group("a control group, like a container's (cgroup v2)", directory)


def _set(directory: Path, limits: dict[str, int]) -> None:
    """Write the limits that the group has; remove it where that fails. Raises OSError."""
    try:
        for name, value in limits.items():
            if (directory / name).exists():  # a kernel without swap accounting has no limit for it
                (directory / name).write_text(str(value))
    except OSError:
        directory.rmdir()
        raise


def _make_group(mount: Path, limit_file: str) -> Path:
    """A new group below our own, or below the root; only one that has a memory limit to set."""
    own = _own_path("memory" if limit_file == "memory.limit_in_bytes" else "")
    error: OSError = FileNotFoundError(f"{mount} has no {limit_file}")
    for parent in dict.fromkeys((mount / own, (mount / own).parent, mount)):
        directory = parent / f"kerneldoctor-{os.getpid()}-{time.monotonic_ns() % 10**6}"
        try:
            if limit_file == "memory.max":
                (parent / "cgroup.subtree_control").write_text("+memory")
            directory.mkdir()
        except OSError as failed:
            error = failed
            continue
        if (directory / limit_file).exists():
            return directory
        directory.rmdir()
    raise error


def _own_path(controller: str) -> str:
    memberships = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    return next((path.lstrip("/") for _, names, path in memberships if controller in names.split(",")), "")


def _group(kind: str, directory: Path) -> Limit:
    join = 'echo $$ > "$0" && exec "$@"'
    return Limit(kind, ["/bin/sh", "-c", join, str(directory / "cgroup.procs")], directory)


def _systemd_scope(limit_bytes: int) -> Limit:
    if shutil.which("systemd-run") is None:
        raise FileNotFoundError("systemd-run is not installed")
    # Without Delegate systemd 253 and later end a server, too, when Linux killed a kernel in the same scope.
    properties = (f"MemoryMax={limit_bytes}", "MemorySwapMax=0", "Delegate=yes")
    prefix = ["systemd-run", "--user", "--scope", "--quiet", *(f"--property={one}" for one in properties), "--"]
    # A session that was given no memory controller, as with cgroup v1, takes the limit and sets none.
    in_force = f'cat "{CGROUP}$(sed -n s/^0:://p /proc/self/cgroup)/memory.max" 2>/dev/null; true'
    probe = subprocess.run([*prefix, "/bin/sh", "-c", in_force], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise OSError(re.sub(r"\s+", " ", probe.stderr).strip() or "systemd-run failed")
    if not probe.stdout.strip().isdigit():
        raise OSError("this systemd session may not limit memory")
    return Limit("a systemd scope of this user", prefix)


def _rlimit(limit_bytes: int) -> Limit:
    if not hasattr(resource, "prlimit"):
        raise FileNotFoundError("only Linux limits a running process")
    return Limit("`ulimit -d`, for the kernel's own process (RLIMIT_DATA)", [], refuses_bytes=limit_bytes)


def _memory(pid: int, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


_MAKERS: dict[str, tuple[Callable[[int], Limit], ...]] = {
    "cgroup": (_cgroup_v1, _cgroup_v2),
    "systemd": (_systemd_scope,),
    "rlimit": (_rlimit,),
}


def _remove(directory: Path) -> None:
    """End what still runs in the group, and remove it."""
    for _ in range(100):
        for pid in (directory / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            directory.rmdir()
        except OSError:
            time.sleep(0.05)
        else:
            return
