"""Control groups of both versions, read from directory trees laid out as Linux lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_kerneldoctor.sidecar.meters.cgroup import CgroupMeter, deltas

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30
RUNNING = "42 (python3 (x)) S 1 42 42 0 -1 4194304 0"
EXITING = "42 (python3 (x)) Z 1 42 42 0 -1 4194308 0"
"""The flags of proc_pid_stat(5) with PF_EXITING."""


class Tree:
    """A /proc and a /sys/fs/cgroup of one process."""

    def __init__(self, root: Path, membership: str, mounts: list[str]) -> None:
        self.root = root
        (root / "proc/42").mkdir(parents=True)
        (root / "proc/42/cgroup").write_text(membership)
        (root / "proc/42/stat").write_text(RUNNING)
        lines = [mount.format(sys=root / "sys") for mount in mounts]
        (root / "proc/self").mkdir()
        (root / "proc/self/mountinfo").write_text("\n".join(["22 1 8:1 / / rw - ext4 /dev/sda1 rw", *lines, ""]))

    def group(self, path: str, **files: object) -> None:
        directory = self.root / "sys" / path
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (directory / name.replace("__", ".")).write_text(f"{content}\n")

    def meter(self, known: str = "") -> CgroupMeter:
        return CgroupMeter(42, known=known, proc=str(self.root / "proc"))


V2_MOUNT = "30 22 0:26 / {sys} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "33 30 0:29 / {sys}/memory rw - cgroup cgroup rw,memory"


def v2_files(usage: int, limit: object, kills: int = 0, hits: int = 0, cache: int = 0) -> dict[str, object]:
    return {
        "memory__current": usage,
        "memory__max": limit,
        "memory__events": f"low 0\nhigh 0\nmax {hits}\noom 0\noom_kill {kills}\noom_group_kill 0",
        "memory__stat": f"anon 5\ninactive_file {cache}\nactive_file 7",
    }


def test_version_2_reads_the_own_group_and_its_ancestors(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/user.slice/job.scope\n", [V2_MOUNT])
    tree.group("user.slice/job.scope", **v2_files(900, "max", kills=1))
    tree.group("user.slice", **v2_files(3 * GIB, 4 * GIB, hits=12, cache=GIB))
    meter = tree.meter()

    own, parent = meter.snapshot()
    assert (own["path"], own["oom_kills"], own["limit_bytes"]) == ("/user.slice/job.scope", 1, None)
    assert (parent["limit_bytes"], parent["limit_hits"], parent["usage_bytes"]) == (4 * GIB, 12, 3 * GIB)
    assert [(limit["bytes"], limit["name"]) for limit in meter.limits()] == [(4 * GIB, "session limit")]
    assert meter.nearest_in_use_bytes(meter.snapshot()) == 2 * GIB, "without the page cache that can be dropped"


def test_version_2_tells_the_peak_and_the_kills_of_whole_groups_without_those_of_a_sister(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/pod/mine\n", [V2_MOUNT])
    local = {"memory__events__local": "low 0\noom_kill 0\noom_group_kill 0"}
    tree.group("pod/mine", **v2_files(1, GIB), **local, memory__peak=3 * GIB)
    tree.group("pod", **v2_files(1, GIB), **local, memory__peak=4 * GIB)
    meter = tree.meter()
    before = meter.snapshot()
    # A sister's group was killed, which the pod's hierarchical counter says, and then ours.
    tree.group("pod", memory__events="max 0\noom_kill 9\noom_group_kill 2")
    tree.group("pod/mine", memory__events__local="low 0\noom_kill 4\noom_group_kill 1")

    own, pod = deltas(before, meter.snapshot(), meter.peaks())
    assert (own["group_kills_before"], own["group_kills_after"], own["peak_bytes"]) == (0, 1, 3 * GIB)
    assert (pod["group_kills_before"], pod["group_kills_after"], pod["peak_bytes"]) == (0, 0, 4 * GIB)


def test_version_1_shows_whether_processes_wait_at_the_limit_instead_of_being_killed(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "4:memory:/a/b\n", [V1_MOUNT])
    for path, control in (("memory/a/b", "0\nunder_oom 0"), ("memory/a", "1\nunder_oom 1")):
        tree.group(path, memory__usage_in_bytes=5, memory__oom_control=f"oom_kill_disable {control}\noom_kill 0",
                   memory__max_usage_in_bytes=7)  # fmt: skip
    meter = tree.meter()

    own, parent = meter.snapshot()
    assert (own["under_oom"], own["oom_killer_disabled"]) == (False, False)
    assert (parent["under_oom"], parent["oom_killer_disabled"]) == (True, True)
    assert meter.peaks() == {"/a/b": 7, "/a": 7}


def test_version_2_in_a_container_is_its_own_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/\n", [V2_MOUNT])
    tree.group("", **v2_files(GIB, 2 * GIB))

    (limit,) = tree.meter().limits()
    assert (limit["bytes"], limit["name"]) == (2 * GIB, "container limit")
    assert limit["source"].endswith("/memory.max")


def test_version_1_with_the_mount_rooted_in_the_container(tmp_path: Path) -> None:
    mount = V1_MOUNT.replace(" / ", " /docker/abc ", 1)
    tree = Tree(tmp_path, "9:pids:/docker/abc\n4:memory:/docker/abc\n0::/\n", [mount])
    tree.group(
        "memory",
        memory__limit_in_bytes=500 << 20,
        memory__usage_in_bytes=400 << 20,
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3",
        memory__failcnt=77,
        memory__stat="cache 5\ninactive_file 1\ntotal_inactive_file 104857600",
    )

    meter = tree.meter()
    (group,) = meter.snapshot()
    assert (group["oom_kills"], group["limit_hits"], group["limit_bytes"]) == (3, 77, 500 << 20)
    assert meter.nearest_in_use_bytes([group]) == 300 << 20


def test_version_1_says_no_limit_with_a_huge_number(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "4:memory:/\n", [V1_MOUNT])
    tree.group("memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=5)

    assert tree.meter().limits() == []


def test_a_process_that_is_moved_is_followed(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/a\n", [V2_MOUNT])
    tree.group("a", **v2_files(1, GIB))
    tree.group("b", **v2_files(1, 2 * GIB))
    meter = tree.meter()
    (tmp_path / "proc/42/cgroup").write_text("0::/b\n")

    assert meter.refresh()
    assert [limit["bytes"] for limit in meter.limits()] == [2 * GIB]


@pytest.mark.parametrize("stat", [EXITING, ""], ids=["zombie", "waited for"])
def test_a_process_that_ends_leaves_no_group(tmp_path: Path, stat: str) -> None:
    """Version 1 shows its root for a process that waits for its parent."""
    tree = Tree(tmp_path, "4:memory:/a\n0::/\n", [V1_MOUNT])
    tree.group("memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=5)
    tree.group("memory/a", memory__limit_in_bytes=GIB, memory__usage_in_bytes=5)
    meter = tree.meter()
    (tmp_path / "proc/42/cgroup").write_text("4:memory:/\n0::/\n")
    (tmp_path / "proc/42/stat").write_text(stat)

    assert not tree.meter().levels, "nothing is known of one that is first seen as it ends"
    for seen in ("4:memory:/\n0::/\n", ""):
        (tmp_path / "proc/42/cgroup").write_text(seen)
        told = tree.meter("4:memory:/a\n0::/\n")
        assert [limit["bytes"] for limit in told.limits()] == [GIB], "but what it said of itself"
    assert not meter.refresh()
    assert [limit["bytes"] for limit in meter.limits()] == [GIB]


@pytest.mark.parametrize("membership", ["", "nonsense", "0::/gone\n", "4:memory:/x:y\n", "::\n"])
def test_what_cannot_be_read_is_left_out(tmp_path: Path, membership: str) -> None:
    tree = Tree(tmp_path, membership, ["33 30 0:29 / {sys} rw - cgroup2 cgroup2 rw", "short"])
    meter = tree.meter()

    assert meter.limits() == []
    assert meter.nearest_in_use_bytes(meter.snapshot()) is None


def test_a_group_that_disappears_with_its_kernel_has_no_second_counter(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/a\n", [V2_MOUNT])
    tree.group("a", **v2_files(1, GIB, kills=2))

    (delta,) = deltas(tree.meter().snapshot(), [])
    assert (delta["oom_kills_before"], delta["oom_kills_after"]) == (2, None)


def test_without_a_first_look_only_a_counter_at_zero_is_known_to_have_been_so(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/a\n", [V2_MOUNT])
    tree.group("a", **v2_files(1, GIB, kills=1, hits=0))

    (delta,) = deltas([], tree.meter().snapshot())
    assert (delta["oom_kills_before"], delta["oom_kills_after"]) == (None, 1)
    assert (delta["limit_hits_before"], delta["limit_hits_after"]) == (0, 0)
