"""What is read of a process and its machine, with processes that are limited, map files, fill disks and crash."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import requires
from support.fixtures import mounted_tmpfs

from jupyter_kerneldoctor.recording.kernel_log import KernelLog
from jupyter_kerneldoctor.sidecar.meters import mappings
from jupyter_kerneldoctor.sidecar.meters.cgroup_membership import Membership
from jupyter_kerneldoctor.sidecar.meters.filesystems import Mount, Mounts
from jupyter_kerneldoctor.sidecar.meters.host import HostMeter, PressureMeter, cpu_flags
from jupyter_kerneldoctor.sidecar.meters.pids import PidsMeter
from jupyter_kerneldoctor.sidecar.meters.process_limits import ProcessLimitsMeter
from jupyter_kerneldoctor.sidecar.meters.procfs import read_file
from jupyter_kerneldoctor.sidecar.meters.storage import StorageMeter

pytestmark = requires.linux

MIB = 1 << 20


def test_resource_limits_by_their_names_and_unlimited_is_none() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        resource.prlimit(sleeper.pid, resource.RLIMIT_AS, (3 << 30, 4 << 30))
        resource.prlimit(sleeper.pid, resource.RLIMIT_CPU, (60, resource.RLIM_INFINITY))
        limits = ProcessLimitsMeter(sleeper.pid).rlimits()
    finally:
        sleeper.kill()
        sleeper.wait()

    assert limits["AS"] == {"soft": 3 << 30, "hard": 4 << 30}
    assert limits["CPU"] == {"soft": 60, "hard": None}
    assert set(limits) == {"AS", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "STACK"}


def test_amounts_are_those_of_the_process_and_only_its_cpu_time_once_it_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    meter = ProcessLimitsMeter(child.pid)
    time.sleep(0.5)
    amounts = meter.amounts()
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert amounts["threads"] == 1
    assert amounts["address_space_bytes"] > amounts["data_bytes"] > 0
    (left,) = meter.amounts().items()
    assert left == ("cpu_s", meter.cpu_s())
    assert left[1] > 0
    child.wait()
    assert meter.amounts() == {}


def test_the_machine_tells_of_swap_promises_and_its_processor() -> None:
    promises = HostMeter().promises()

    assert promises["commit_limit_bytes"] > 0
    assert promises["overcommit_mode"] in (0, 1, 2)
    assert set(cpu_flags()) <= set(Path("/proc/cpuinfo").read_text().split())


def test_the_pressure_that_counts_is_the_worst_one(tmp_path: Path) -> None:
    (tmp_path / "machine").write_text("some avg10=1.50 avg60=0 avg300=0 total=1\nfull avg10=0.00 avg60=0 total=0\n")
    (tmp_path / "group").write_text("some avg10=80.25 avg60=0 avg300=0 total=1\nfull avg10=60.00 avg60=0 total=0\n")

    assert PressureMeter(str(tmp_path / "machine"), str(tmp_path / "group")).shares() == {
        "pressure_some": 80.25,
        "pressure_full": 60.0,
    }
    assert PressureMeter(str(tmp_path / "none")).shares() == {"pressure_some": None, "pressure_full": None}


def test_a_file_cut_behind_the_back_of_its_mapping_is_found(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(3 * MIB))
    meter = StorageMeter(os.getpid(), str(tmp_path))
    with (tmp_path / "data.bin").open("r+b") as file, mmap.mmap(file.fileno(), 0):
        meter.look(1)
        assert all("shrunk_files" not in found for found in meter.filesystems())
        os.truncate(tmp_path / "data.bin", MIB)

        shrunk = [path for found in meter.filesystems() for path in found.get("shrunk_files", [])]
        assert shrunk == [str(tmp_path / "data.bin")]


@requires.root
def test_a_full_file_system_is_found_by_its_mapped_file_and_its_lowest_space_is_remembered(tmp_path: Path) -> None:
    with mounted_tmpfs(tmp_path / "small disk", "8m") as disk:
        file = (disk / "sparse.bin").open("w+b")
        file.truncate(64 * MIB)
        with mmap.mmap(file.fileno(), 0):
            meter = StorageMeter(os.getpid(), "/tmp")
            meter.look(1)
            (disk / "filler").write_bytes(bytes(8 * MIB - 8192))
            meter.watch(time.monotonic())
            (disk / "filler").unlink()
            now = next(found for found in meter.filesystems() if found["path"] == str(disk))
            lowest = next(found for found in meter.filesystems(lowest=True) if found["path"] == str(disk))
        file.close()

    assert now["kind"] == "tmpfs"
    assert now["roles"] == ["mapped", "open"]
    assert now["mapped_bytes"] == 64 * MIB
    assert (now["total_bytes"], now["free_bytes"]) == (8 * MIB, 8 * MIB)
    assert lowest["free_bytes"] <= 8192


def test_file_systems_that_could_hang_are_named_and_never_asked() -> None:
    mounts = Mounts(os.getpid())

    for kind in ("nfs4", "cifs", "fuse.sshfs", "9p"):
        assert mounts.space(Mount("/", kind)) == (None, None)
    for kind in ("ext4", "overlay", "fuseblk", "tmpfs"):
        assert mounts.space(Mount("/", kind)) != (None, None)


def test_libraries_are_named_once_and_by_path_when_there_are_two_of_a_kind() -> None:
    paths = [
        "/env/lib/libiomp5.so",
        "/env/lib/python3.11/site-packages/torch/lib/libgomp.so.1",
        "/env/lib/python3.11/site-packages/scikit_learn.libs/libgomp-a34b3233.so.1.0.0",
        "/env/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-56d6093b.so",
        "/env/lib/libQt6XcbQpa.so.6",
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
        "/usr/lib/x86_64-linux-gnu/libcudacompat.so",
    ]

    assert mappings.of_interest(paths) == (
        "/env/lib/python3.11/site-packages/scikit_learn.libs/libgomp-a34b3233.so.1.0.0",
        "/env/lib/python3.11/site-packages/torch/lib/libgomp.so.1",
        "libQt6XcbQpa.so.6",
        "libiomp5.so",
        "libscipy_openblas64_-56d6093b.so",
    )


def test_the_kernel_log_has_the_lines_of_this_process_only() -> None:
    crash = [sys.executable, "-c", "input(); import ctypes; ctypes.string_at(0)"]
    mine, other = (subprocess.Popen(crash, stdin=subprocess.PIPE) for _ in range(2))
    log = KernelLog(mine.pid)
    for child in (other, mine):
        child.communicate(b"\n")
        assert child.returncode == -signal.SIGSEGV
    log.wait(1)
    log.read()
    log.close()
    if not log.lines:
        pytest.skip("cannot run here: the kernel log cannot be read, or does not tell of segfaults")

    assert len(log.lines) == 1
    assert f"[{mine.pid}]: segfault at 0" in log.lines[0]


def test_the_nearest_limit_of_processes_counts(tmp_path: Path) -> None:
    (tmp_path / "proc/42").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/42/cgroup").write_text("8:pids:/job/step\n0::/\n")
    (tmp_path / "proc/42/stat").write_text("42 (python3) S 1 42 42 0 -1 4194304 0")
    mount = f"30 22 0:26 / {tmp_path}/pids rw shared:9 - cgroup cgroup rw,pids\n"
    (tmp_path / "proc/self/mountinfo").write_text(mount)
    for path, current, most in (("job/step", "7", "max"), ("job", "31", "64"), ("", "400", "1000")):
        (tmp_path / "pids" / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / "pids" / path / "pids.current").write_text(current)
        (tmp_path / "pids" / path / "pids.max").write_text(most)
    membership = Membership(42, proc=str(tmp_path / "proc"))
    membership.has_changed()

    assert PidsMeter(membership).amounts() == {"pids_current": 31, "pids_limit": 64}


@requires.root
def test_a_real_limit_of_processes_is_found() -> None:
    group = Path(f"/sys/fs/cgroup/pids/kerneldoctor-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot run here: no control group of version 1 for processes ({error})")
    (group / "pids.max").write_text("5")
    child = subprocess.Popen(["sleep", "60"])
    try:
        (group / "cgroup.procs").write_text(str(child.pid))
        membership = Membership(child.pid)
        membership.has_changed()
        assert PidsMeter(membership).amounts() == {"pids_current": 1, "pids_limit": 5}
    finally:
        child.kill()
        child.wait()
        group.rmdir()


def test_a_file_without_end_is_read_up_to_a_bound(tmp_path: Path) -> None:
    """A process decides how long its list of mappings is, and what is shown as its environment (PR_SET_MM_MAP)."""
    (tmp_path / "maps").write_bytes(b"0-1 r--p 0 0:1 1 /a\n" * 100)

    assert read_file("/dev/zero") == b""
    assert read_file(str(tmp_path / "maps"), 50) == b"0-1 r--p 0 0:1 1 /a\n" * 2
    assert read_file(str(tmp_path / "maps")).count(b"\n") == 100
