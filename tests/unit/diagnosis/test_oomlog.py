"""Lines of the system's log that say who was ended for memory, and by whom."""

from __future__ import annotations

import pytest

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.diagnosis.analysis.oom_log import oom_kill
from jupyter_kerneldoctor.diagnosis.examples import MIB, PID, Group, recording

MEMCG = (
    "[8.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c1,mems_allowed=0,oom_memcg=/kubepods/pod1,"
    f"task_memcg=/kubepods/pod1/c1,task=python3,pid={PID},uid=1000"
)
NONE = (
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,"
    f"task=python3,pid={PID},uid=0"
)
KILLED = f"Out of memory: Killed process {PID} (python3) total-vm:9kB, anon-rss:1048576kB, file-rss:0kB, shmem-rss:0kB"
OLD = f"Memory cgroup out of memory: Kill process {PID} (python) score 974 or sacrifice child"
EARLYOOM = f'earlyoom[77]: sending SIGTERM to process {PID} uid 1000 "python3": badness 911, VmRSS 12288 MiB'
OOMD = (
    "systemd-oomd[9]: Killed /user.slice/x.scope due to memory used (32G) / total (32G) and swap used (8G) / total (8G)"
)


@pytest.mark.parametrize(
    ("lines", "scope"),
    [
        ([MEMCG], "cgroup"),
        ([OLD], "cgroup"),
        ([NONE, KILLED], "machine"),
        ([EARLYOOM], "service"),
        ([OOMD], "service"),
        ([f"python3[{PID}]: segfault at 0 ip 0"], None),
        ([f"python3 invoked oom-killer: gfp_mask=0xcc0, order=0, pid {PID}"], None),
        ([], None),
    ],
)
def test_whose_memory_ran_out(lines, scope):
    found = oom_kill(lines, PID)
    assert (None if found is None else found.scope) == scope


def test_figures_and_names():
    assert oom_kill([KILLED], PID).held_bytes == 1024 * MIB
    assert oom_kill([MEMCG], PID).group == "/kubepods/pod1"
    assert oom_kill([EARLYOOM], PID).service == "earlyoom"
    assert oom_kill([OOMD], PID).service == "systemd-oomd"


def test_a_line_about_another_process_says_nothing_of_this_one():
    for line in (MEMCG, KILLED, EARLYOOM):
        assert oom_kill([f"[{PID}]: {line.replace(str(PID), '9')}"], PID) is None
    assert oom_kill([MEMCG.replace(str(PID), "9"), KILLED], PID).scope == "machine"
    assert oom_kill([OOMD, EARLYOOM], PID).service == "earlyoom"


@pytest.mark.parametrize("lines", [[MEMCG], [NONE, KILLED], [EARLYOOM]])
def test_who_left_with_an_exit_code_was_not_killed(lines):
    answer = diagnose(recording("f()", exit_code=1, memory=(400 * MIB,), kernel_log=lines))
    assert not any(cause.id.startswith("oom-") for cause in answer.causes)


def test_the_log_decides_where_the_counts_leave_it_open():
    """A memory kill of the machine counts in the kernel's group, too."""
    group = Group(500 * MIB, oom_kills=(0, 1), limit_hits=(0, 3), usage_bytes=499 * MIB)
    by_group = recording("f()", signal="SIGKILL", memory=(400 * MIB,), groups=[group], kernel_log=[MEMCG])
    by_machine = recording("f()", signal="SIGKILL", memory=(400 * MIB,), groups=[group], kernel_log=[NONE, KILLED])
    assert diagnose(by_group).cause.id == "oom-cgroup"
    assert diagnose(by_machine).cause.id == "oom-host"
    assert min(diagnose(one).cause.confidence for one in (by_group, by_machine)) >= 0.95


def test_of_a_long_line_the_process_and_the_group_are_quoted():
    group = "/kubepods/burstable/" + "pod1f2e" * 30 + "/cri-containerd-abc"
    line = (
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={group},"
        f"task_memcg={group},task=python3,pid=4242,uid=1000"
    )
    killed = "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:2034848kB, anon-rss:500120kB"

    assert oom_kill([line], 4242).short.startswith("oom-kill: task=python3,pid=4242, oom_memcg=…")
    assert oom_kill([line], 4242).short.endswith("/cri-containerd-abc")
    assert len(oom_kill([line], 4242).short) <= 120
    assert oom_kill([killed], 4242).short == "Memory cgroup out of memory: Killed process 4242 (python3)"
