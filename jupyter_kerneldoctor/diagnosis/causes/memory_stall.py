from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from jupyter_kerneldoctor.recording.events import SystemState

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, size
from ..examples import GIB, MIB, Group, recording
from ..examples.stuck import frame, stuck_in
from ..texts import stuck_cell
from ..units import cell_name, duration

_FRESH_S = 60.0
_THRASHING_PER_S = 200
"""Pages that had to be read back from disk each second: a disk does hardly more of them, and nothing else."""

_STALLED_PERCENT = 50.0
_SILENT_S = 15.0
"""The recorder of a kernel whose cell runs looks several times a second."""
_FULL = 0.9
_MOST = 0.5
"""Of what is allowed: the rest may be cached files, which Linux drops when it has to."""


class MemoryStall(Cause):
    """The kernel has run out of memory, but nobody ends it: it waits for memory, and makes hardly any progress.

    What it means: There are two ways to wait for memory without end. A container or session reaches its memory limit
    while the out-of-memory killer of its control group (cgroup) is switched off: Linux then stops the processes that
    need more, until some memory is freed. Or a machine with swap moves memory to the disk and back all the time
    (thrashing), and everything takes a thousand times as long.

    How it is recognised: A cell is running, and its control group says `under_oom 1` with the killer disabled. Or all
    programs wait for memory most of the time (the pressure in /proc/pressure/memory) and swap is full, or hundreds of
    pages a second are read back from the disk.

    What to do: Interrupt the kernel, or end what else holds memory. If that does not help, restart it: the cell will
    not finish. Then let it need less at a time.

    Example: A batch job on a cluster that disables the killer, at its limit of 8 GiB: the cell runs all night and does
    nothing.
    """

    id, title, family = "memory-stall", "Stuck, waiting for memory", Family.MEMORY

    def judge(self, death: Death) -> CauseFinding | None:
        cell, still = death.recording.running_cell, death.stuck_cell
        if death.ended is not False or cell is None or death.stopped_early:
            return None
        found = _at_a_limit(death) or _thrashing(death) or _all_still(death)
        if found is None:
            return None
        certainty, evidence = found
        at = "" if still is None else still.at()
        allowed = f": {death.memory.limit_clause}" if death.memory.has_group_limit else ""
        return self.finding(
            death,
            certainty,
            f"The kernel is stuck waiting for memory in {cell_name(cell.execution_count)}{at}{allowed}.",
            (*evidence, *_held(death)),
            ruled_out=("Not a deadlock: the kernel waits for memory, not for another part of the program.",),
            line=None if still is None else still.line,
            summary="Running, but out of memory",
        )

    def fires_on(self) -> Recordings:
        """At a limit without a killer (memory.oom_control of version 1); swap full and pages read back all the time."""
        full, memory = Group(500 * MIB, limit_hits=(0, 900), usage_bytes=500 * MIB), (200 * MIB, 480 * MIB)
        under = [SystemState(-0.5, "stuck", under_oom=True, oom_killer_disabled=True)]
        line = "big = b'x' * 10**9"
        at_it: dict[str, Any] = {"system_states": under, "groups": [full], "memory": memory}
        yield stuck_in(line, 1, waits_in="mem_cgroup_oom_synchronize", state="D", **at_it)
        yield recording(line, alive=True, **at_it)
        swap = SystemState(-0.5, "changed", swap_total_bytes=2 * GIB, swap_free_bytes=1 * MIB, pressure_full=88.0)
        yield recording("fit()", alive=True, system_states=[swap], memory=(9 * GIB, 15 * GIB), available_bytes=99 * MIB)
        yield recording("f()", alive=True, memory=(475 * MIB,), groups=[full], silent_s=20.0)
        fitting = frame("sklearn/base.py", "fit", library=True)
        yield stuck_in("fit()", 1, fitting, state="D", system_states=[swap], faults_per_s=900.0)

    def silent_on(self) -> Recordings:
        """At a limit with cached files, after it went on, a killer that is at hand, a lock, some pressure, no cell."""
        near = Group(1 * GIB, limit_hits=(0, 700), usage_bytes=1 * GIB)
        yield recording("f()", alive=True, memory=(1 * GIB,), groups=[near])
        killer = [SystemState(-0.5, "changed", under_oom=False, oom_killer_disabled=True, pressure_full=3.0)]
        yield recording("f()", alive=True, memory=(1 * GIB,), groups=[near], system_states=killer)
        full_swap = [SystemState(-0.5, "changed", swap_total_bytes=2 * GIB, swap_free_bytes=0, pressure_full=0.4)]
        yield recording("f()", alive=True, system_states=full_swap)
        yield stuck_in("lock.acquire()", 1, waits_in="futex_wait_queue", system_states=full_swap)
        under = [SystemState(-0.5, "stuck", under_oom=True, oom_killer_disabled=True)]
        yield recording("f()", alive=True, idle=True, system_states=under)
        yield recording("f()", signal="SIGKILL", system_states=under)
        yield recording("f()", alive=True, memory=(1 * GIB,), groups=[near], silent_s=2.0)
        # A recorder that is late, beside a kernel that is not what fills the limit.
        small = recording("f()", alive=True, memory=(200 * MIB,), groups=[near])
        cached = tuple(one._replace(cgroup_bytes=1 * GIB) for one in small.samples)
        yield replace(small, samples=cached, silent_s=20.0)
        # Stopped at the limit an hour ago, and at ease since.
        ago = [SystemState(-4000, "changed", under_oom=True, oom_killer_disabled=True)]
        yield recording("f()", alive=True, system_states=ago, memory=(100 * MIB,), groups=[Group(4 * GIB)])


def _all_still(death: Death) -> tuple[Certainty, tuple[Evidence, ...]] | None:
    """Judge by the recorder, which lives under the same limit: it is stuck, too, and the limit was all but reached.

    None where that is not so.
    """
    silent_s, share = death.recording.silent_s, death.memory.share_of_limit
    if silent_s is None or silent_s < _SILENT_S or share is None or share < _FULL or not death.memory.has_group_limit:
        return None
    if (death.memory.held_bytes or 0) < _MOST * (death.memory.limit_bytes or 0):
        return None
    used = f"{share:.0%} of the memory allowed was in use {duration(silent_s)} ago"
    text = f"{used}; since then the recorder has been stuck, too."
    return Certainty.LIKELY, (Evidence(text, round(silent_s, 1), "seconds", "samples"),)


def _at_a_limit(death: Death) -> tuple[Certainty, tuple[Evidence, ...]] | None:
    """Judge by a memory limit that was reached, with nobody to end a process below it; None where there is none."""
    around, still = death.environment.known, death.stuck_cell
    stack = tuple(stuck_cell.evidence(still))
    if not around.under_oom or around.oom_killer_disabled is False or _is_over(death):
        return (Certainty.STRONG, stack) if still is not None and still.main.kind == "memory" else None
    text = "The memory limit is reached and the out-of-memory killer is switched off, so Linux stops what needs more."
    reached = Evidence(text, 1, None, "memory.oom_control: under_oom")
    return (Certainty.PROVEN if around.oom_killer_disabled else Certainty.LIKELY), (reached, *stack)


def _is_over(death: Death) -> bool:
    """Return whether memory was seen to be there again, long after the look that found none."""
    share = death.memory.share_of_limit
    return share is not None and share < _FULL and not _is_fresh(death, "under_oom")


def _thrashing(death: Death) -> tuple[Certainty, tuple[Evidence, ...]] | None:
    """Judge by memory that is moved to the disk and back, while everything waits for it; None where that is not so."""
    shortage, still = death.memory_pressure, death.stuck_cell
    faults = None if still is None else still.stuck.faults_per_s
    thrashes = faults is not None and faults >= _THRASHING_PER_S
    pressed = (shortage.pressure_full or 0.0) >= _STALLED_PERCENT and _is_fresh(death, "pressure_full")
    if not (pressed and (shortage.swap_is_full or shortage.is_nearly_gone or thrashes)):
        return None
    found = Certainty.STRONG if thrashes else Certainty.LIKELY
    return found, (*shortage.evidence(), *(_faults(faults) if thrashes else ()), *stuck_cell.evidence(still))


def _is_fresh(death: Death, name: str) -> bool:
    """Return whether this was looked at lately: pressure comes and goes."""
    known = death.recording
    seen_s = [one.mono_s for one in known.system_states if getattr(one, name) is not None]
    last_s = (*(one.mono_s for one in known.samples[-1:]), *(one.mono_s for one in known.stuck[-1:]))
    return bool(seen_s) and max(*seen_s, *last_s, 0.0) - max(seen_s) <= _FRESH_S


def _faults(faults_per_s: float | None) -> Iterator[Evidence]:
    if faults_per_s is not None:
        text = f"{faults_per_s:.0f} pages of memory a second were read back from the disk."
        yield Evidence(text, round(faults_per_s), "pages/s", "/proc/PID/stat majflt")


def _held(death: Death) -> Iterator[Evidence]:
    last = death.memory.last
    if last is not None and last.rss_bytes is not None:
        yield Evidence(f"The kernel process holds {size(last.rss_bytes)}.", last.rss_bytes, "bytes", "samples")
