"""What a recording says of the limits and the machine around a kernel that dies of them."""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import requires
from support.fixtures import mounted_tmpfs
from support.stacks import can_be_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.kernels import LiveKernel

    from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

pytestmark = requires.linux

MIB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    with mounted_tmpfs(tmp_path / "disk", "8m") as disk:
        yield disk


def at_the_end(kernel: LiveKernel) -> SystemState:
    return kernel.wait_recorded(lambda found: found.end is not None).system_states[-1]


def file_system(state: SystemState, path: Path) -> FileSystem:
    return next(found for found in state.filesystems if found.path == str(path))


def test_the_start_tells_the_limits_of_the_kernel_and_its_machine(kernel: LiveKernel) -> None:
    (start,) = kernel.wait_recorded(lambda found: found.system_states).system_states[:1]

    assert start.when == "start"
    assert start.rlimits["NOFILE"].soft == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert start.open_files > 10
    assert start.threads > 3
    assert start.overcommit_mode == int(Path("/proc/sys/vm/overcommit_memory").read_text())
    assert {"shm", "tmp", "cwd"} <= {role for found in start.filesystems for role in found.roles}
    assert all(found.total_bytes >= found.free_bytes for found in start.filesystems if found.total_bytes is not None)


def test_the_display_is_that_of_the_kernel(start_kernel: Callable[..., LiveKernel]) -> None:
    kernel = start_kernel(DISPLAY=":93")
    kernel.load()

    assert kernel.wait_recorded(lambda found: found.system_states).system_states[0].display == ":93"


@requires.root
def test_a_bus_error_on_a_full_disk_finds_the_disk_full(kernel: LiveKernel, small_disk: Path) -> None:
    status = kernel.run_and_die(
        "import mmap, time\n"
        f"file = open('{small_disk}/sparse.bin', 'w+b')\n"
        "file.truncate(64 << 20)\n"
        "mapped = mmap.mmap(file.fileno(), 0)\n"
        "time.sleep(1)\n"
        "for at in range(0, 64 << 20, 4096): mapped[at] = 1"
    )
    assert status == -signal.SIGBUS
    disk = file_system(at_the_end(kernel), small_disk)

    assert (disk.total_bytes, disk.free_bytes) == (8 * MIB, 0)
    assert "mapped" in disk.roles
    assert disk.shrunk_files == ()


def test_a_bus_error_on_a_file_that_became_shorter_names_the_file(kernel: LiveKernel, tmp_path: Path) -> None:
    status = kernel.run_and_die(
        "import mmap, os, time\n"
        "open('table.bin', 'wb').write(bytes(4 << 20))\n"
        "mapped = mmap.mmap(os.open('table.bin', os.O_RDWR), 0)\n"
        "time.sleep(1)\n"
        "os.truncate('table.bin', 4096)\n"
        "mapped[2 << 20]"
    )
    assert status == -signal.SIGBUS

    shrunk = [path for found in at_the_end(kernel).filesystems for path in found.shrunk_files]
    assert shrunk == [str(tmp_path / "table.bin")]


def test_a_kernel_that_used_up_its_cpu_time_shows_it(kernel: LiveKernel) -> None:
    status = kernel.run_and_die(
        "import resource, signal\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "limit = int(used.ru_utime + used.ru_stime) + 1\n"
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))\n"
        "while True: pass"
    )
    assert status == -signal.SIGKILL
    end = at_the_end(kernel)

    assert end.rlimits["CPU"].hard is not None
    assert end.cpu_s > end.rlimits["CPU"].hard - 0.5


def test_a_limit_that_is_set_later_is_a_change(kernel: LiveKernel) -> None:
    kernel.wait_recorded(lambda found: found.system_states)
    kernel.run("import resource, time\nresource.setrlimit(resource.RLIMIT_DATA, (9 << 30, 9 << 30))\ntime.sleep(0.7)")

    recording = kernel.wait_recorded(lambda found: found.system_states[-1].when == "changed")
    assert recording.system_states[-1].rlimits["DATA"].soft == 9 << 30


def test_a_limit_that_stops_the_kernel_without_killing_it_is_seen(limited_kernel: LiveKernel) -> None:
    lines = Path(f"/proc/{limited_kernel.pid}/cgroup").read_text().splitlines()
    path = next((line.split(":", 2)[2] for line in lines if "memory" in line.split(":")[1].split(",")), None)
    control = Path(f"/sys/fs/cgroup/memory{path}/memory.oom_control")
    if path is None or not control.exists():
        pytest.skip("cannot run here: only version 1 can hold processes at their limit without killing one")
    limited_kernel.wait_recorded(can_be_read)  # then the sidecar has all it needs: it lives under the same limit
    time.sleep(2)
    control.write_text("1")
    limited_kernel.client.execute("pile = b'x' * 2_000_000_000")
    found = limited_kernel.wait_recorded(lambda found: found.system_states[-1].under_oom)

    assert found.system_states[-1].oom_killer_disabled
    assert found.end is None
    for _ in range(60):  # pages that come free: the kernel tries again each time, and stalls again
        for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes"):
            limit = control.with_name(name)
            with suppress(OSError):  # there is none, or Linux is busy taking pages back
                limit.write_text(str(int(limit.read_text()) + 4096))
        time.sleep(0.05)
    os.kill(limited_kernel.pid, signal.SIGKILL)
    end = at_the_end(limited_kernel)
    assert (end.when, end.under_oom) == ("end", True)
    stalled = [one.under_oom for one in limited_kernel.recording().system_states]
    assert stalled == sorted(stalled)


def test_lines_of_the_system_log_name_the_death(limited_kernel: LiveKernel) -> None:
    limited_kernel.run_and_die("pile = b'x' * 2_000_000_000")
    recording = limited_kernel.wait_recorded(lambda found: found.end)
    if not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("cannot run here: the kernel log cannot be read")

    # The line before it, with CONSTRAINT_MEMCG, is left out where many were killed lately (printk_ratelimit).
    assert any(f"Killed process {limited_kernel.pid} " in line for line in recording.end.kernel_log)
    for own in recording.end.cgroups[:1]:  # none where Linux killed the recorder next, which may not protect itself
        assert own.peak_bytes == 300 * MIB
