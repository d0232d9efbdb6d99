import re
from typing import Any

from jupyter_kerneldoctor.recording.events import SystemState

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote, size
from ..examples import GIB, MIB, PID, Group, recording
from ..texts import evidence
from ..texts.allocation_site import allocating_line, line_needs, taken_where
from ..texts.growth import growth

_MONITORS = (
    re.compile(r"killed due to the node running low on memory"),
    re.compile(r"^.*\bexceeded \d+% memory budget.*$", re.MULTILINE),
    re.compile(r"\bWorker is at \d+% memory usage\b.*$", re.MULTILINE),
)
"""What Ray's memory monitor, Dask's nanny, and Dask's worker say before they end a worker, or when they do
(distributed/worker_memory.py). The nanny's own words do not leave the kernel's process: they are output of the cell."""


class OutOfMemoryInUserspace(Cause):
    """A service that watches over the machine's memory ended the kernel before Linux itself had to.

    What it means: Linux ends a program for memory only at the very last moment, when a machine may not have answered
    for minutes. So many systems run a service that acts earlier: systemd-oomd (Fedora, Ubuntu), earlyoom, nohang. When
    memory and swap get low, or everything waits for memory, it ends the program that holds the most: often the kernel.

    How it is recognised: The process was ended by SIGTERM or SIGKILL, Linux itself counted no out-of-memory kill, and
    memory was short at the last measurement: the machine had less than a tenth of its memory and swap left, or all
    programs waited for memory much of the time (the pressure in /proc/pressure/memory). It is less likely where the
    kernel held little, as such a service ends what holds most, or where it was SIGTERM and more than a twentieth was
    left, as runners send that, too. It is proven only where the service's own line in the log names the process.

    What to do: Let the cell need less at a time, and shut down kernels that you do not use. `journalctl -u
    systemd-oomd` or `journalctl -u earlyoom` says what the service did and why.

    Example: A merge on a laptop with 16 GiB, of which a browser holds ten: earlyoom ends the kernel at 5% of memory
    left.
    """

    id, title, family = "oom-userspace", "Out of memory: ended by a service that watches over memory", Family.MEMORY
    incidents = frozenset({"worker-killed"})

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Explain a worker that its own scheduler ended, as Ray's memory monitor and Dask's nanny do."""
        said = next((found for name in _MONITORS if (found := name.search(_said(death, incident))) is not None), None)
        if said is None:
            return None
        told = f"A worker process took more memory than its scheduler allows {death.where()}, and was ended for it."
        words = Evidence(f"The scheduler said: {quote(said[0], 160)}.", said[0][:200], None, "the process's output")
        title = "Out of memory: a worker was ended by its scheduler"
        return self.finding(death, Certainty.STRONG, told, (words, *evidence.child_memory(death)), title=title)

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or not (death.status.signal in ("SIGTERM", "SIGKILL") or _gone_together(death)):
            return None
        logged, shortage = death.logged_kill("service"), death.memory_pressure
        certainty = Certainty.PROVEN if logged is not None else _likelihood(death)
        if certainty is None:
            return None
        verb = (
            "ended" if logged is not None else "probably ended" if certainty >= Certainty.POSSIBLE else "may have ended"
        )
        left = f"only {size(shortage.available_bytes)} was left" if shortage.available_bytes else ""
        why = left if shortage.is_low and left else "memory was short"
        return self.finding(
            death,
            certainty,
            f"A service that watches memory {verb} the kernel {taken_where(death)}, as {why}.",
            (
                *evidence.logged_kill(logged),
                *shortage.evidence(),
                *growth(death),
                *line_needs(death),
                *evidence.last_measurement(death),
            ),
            ruled_out=(_not_by_linux(death),),
            line=allocating_line(death),
            summary="Ended by a service that watches over memory" if certainty > Certainty.POSSIBLE else None,
        )

    def fires_on(self) -> Recordings:
        """As the manual pages of earlyoom and oomd.conf(5) say when they act; and their own words in the log."""
        memory, group = (3 * GIB, 9 * GIB, 12 * GIB), [Group()]
        no_swap = [SystemState(-0.5, "end", swap_total_bytes=0, swap_free_bytes=0)]
        full_swap = [SystemState(-0.5, "end", swap_total_bytes=2 * GIB, swap_free_bytes=60 * MIB, pressure_full=72.5)]
        low: dict[str, Any] = {"memory": memory, "available_bytes": 600 * MIB, "groups": group, "server": "watched"}
        yield recording("m = a.merge(b)", signal="SIGTERM", **low, system_states=no_swap)
        yield recording("m = a.merge(b)", signal="SIGKILL", **low, system_states=full_swap)
        # earlyoom's kill.c
        line = f'sending SIGTERM to process {PID} uid 1000 "python3": badness 911, VmRSS 12288 MiB'
        yield recording("m = a.merge(b)", signal="SIGTERM", memory=memory, kernel_log=[line])
        gone = [SystemState(-2, "changed", swap_total_bytes=2 * GIB, swap_free_bytes=10 * MIB, pressure_full=80.0)]
        yield recording("m = a.merge(b)", end="not-seen", memory=memory, available_bytes=300 * MIB, system_states=gone)
        # systemd's oomd-manager.c
        line = "systemd-oomd: Killed /user.slice/jupyter.scope due to memory pressure for /user.slice being 82.12%"
        yield recording("m = a.merge(b)", signal="SIGKILL", memory=memory, kernel_log=[line])

    def silent_on(self) -> Recordings:
        """With memory left, with swap left, killed by Linux itself, and a crash."""
        memory, group, low = (3 * GIB, 12 * GIB), [Group()], 600 * MIB
        yield recording("f()", signal="SIGTERM", memory=memory, available_bytes=4 * GIB, groups=group)
        swap = [SystemState(-0.5, "end", swap_total_bytes=8 * GIB, swap_free_bytes=7 * GIB)]
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=low, groups=group, system_states=swap)
        killed = [Group(oom_kills=(0, 1))]
        yield recording("f()", signal="SIGKILL", memory=memory, available_bytes=low, groups=killed)
        yield recording("f()", signal="SIGSEGV", memory=memory, available_bytes=low, groups=group)
        line = 'sending SIGTERM to process 777 uid 1000 "chrome": badness 911'
        yield recording("f()", signal="SIGTERM", memory=memory, groups=[Group()], kernel_log=[line])
        # A small kernel is not what such a service ends; and above 5 % left SIGTERM is likelier a runner's.
        yield recording("f()", signal="SIGTERM", memory=(60 * MIB,), available_bytes=low, groups=[Group()])
        yield recording("f()", signal="SIGTERM", memory=memory, available_bytes=1500 * MIB, groups=[Group()])


def _gone_together(death: Death) -> bool:
    """Whether the recorder is gone as well: systemd-oomd ends all processes of a scope."""
    recording = death.recording
    unseen = recording.end is None and not death.status.known and not recording.stopped_early
    return unseen and not recording.rebooted and not recording.recorder_alive and not death.memory.has_group_limit


def _said(death: Death, incident: Incident) -> str:
    since = 0.0 if death.cell is None else death.cell.started_mono_s
    text = "".join(one.text for one in death.recording.output if since <= one.mono_s <= incident.mono_s)
    return f"{incident.signature or ''}\n{text}"


def _likelihood(death: Death) -> Certainty | None:
    """Judge without the service's own word: anybody may have sent the signal."""
    kills, shortage = death.memory.kills, death.memory_pressure
    if (kills is not None and kills.oom_kills) or death.own_signals or not (shortage.is_low or shortage.is_pressed):
        return None
    if not death.would_be_ended_by_a_memory_service:
        return Certainty.WEAK
    is_urgent = shortage.is_nearly_gone or (shortage.is_low and shortage.is_pressed)
    if not is_urgent and _gone_together(death):
        return None
    others_were_seen = kills is not None or death.server_watched  # Linux itself, or a restart
    return Certainty.LIKELY if is_urgent and others_were_seen else Certainty.POSSIBLE


def _not_by_linux(death: Death) -> str | None:
    kills = death.memory.kills
    if kills is None or kills.oom_kills:
        return None
    return f"Not ended by Linux itself: its out-of-memory kill count stayed at {kills.oom_kills_after}."
