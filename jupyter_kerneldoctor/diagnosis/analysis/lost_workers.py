"""Worker processes that were lost while the kernel lived: of a DataLoader, a process pool, joblib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..postmortem import CauseFinding, Evidence
from ..units import plural, size
from .ending import signal_name
from .incident_site import line_of_incident, where_raised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.evidence import Child, Incident

    from ..death import Death

_JUST_BEFORE_S = 30.0
"""A library may notice only after a while that a worker is gone."""

_NOTICED_S = 2.0
"""A pool of the same machine notices at once."""

_BY_THE_POOL = ("SIGTERM", "SIGKILL")

_NAMES = {
    "Killed": "SIGKILL",
    "Bus error": "SIGBUS",
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Terminated": "SIGTERM",
    "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE",
}
"""Signals as strsignal(3) writes them."""

_CRASHES = {
    "SIGBUS": (
        "shm-exhausted",
        "A worker found no room in shared memory",
        "for want of shared memory, most likely",
        0.7,
    ),
    "SIGSEGV": ("segfault", "A worker process crashed", "by a crash in native code (SIGSEGV)", 0.9),
    "SIGABRT": ("abort", "A worker process gave up", "as a library gave up on it (SIGABRT)", 0.85),
    "SIGILL": ("illegal-instruction", "A worker process crashed", "at an instruction the processor lacks", 0.9),
    "SIGFPE": ("arithmetic-fault", "A worker process crashed", "at an impossible calculation in native code", 0.9),
    "SIGTERM": ("killed-externally", "A worker process was ended", "by a request to end (SIGTERM)", 0.6),
}


def explains(death: Death, incident: Incident) -> CauseFinding | None:
    """Say why a worker was lost; None for other incidents, and where nothing is known of it."""
    if incident.kind not in ("worker-killed", "broken-pool"):
        return None
    child = _lost(death, incident)
    if child is not None and child.kind == "exit":
        told = f"A worker process ended by itself with exit code {child.exit_code}"
        return _finding(death, incident, child, ("exit-call", "A worker process ended by itself", told, 0.85))
    signal = child.signal if child is not None else _said(incident)
    if signal == "SIGKILL":
        return _killed(death, incident, child)
    if signal not in _CRASHES:
        return None
    cause, title, how, confidence = _CRASHES[signal]
    return _finding(death, incident, child, (cause, title, f"A worker process was lost, {how},", confidence))


def _killed(death: Death, incident: Incident, child: Child | None) -> CauseFinding:
    grouped = death.memory.has_group_limit
    title = "A worker process was killed for memory"
    if child is not None and child.oom_kills:
        limit = death.memory.limit_bytes
        where = f"the {death.memory.limit_name}" if grouped else "the end of the machine's memory"
        allowed = f" of {size(limit)}" if grouped and limit else ""
        headline = f"Linux killed a worker process at {where}{allowed}"
        return _finding(death, incident, child, ("oom-cgroup" if grouped else "oom-host", title, headline, 0.95))
    if child is not None and child.oom_kills == 0:
        text = "Something other than a shortage of memory killed a worker process"
        return _finding(death, incident, child, ("killed-externally", "A worker process was killed", text, 0.7))
    cause = "oom-cgroup" if grouped else "oom-host"
    return _finding(
        death, incident, child, (cause, title, "A worker process was killed, most likely as memory ran out,", 0.6)
    )


def _finding(death: Death, incident: Incident, child: Child | None, told: tuple[str, str, str, float]) -> CauseFinding:
    cause, title, headline, confidence = told
    return CauseFinding(
        cause,
        title,
        confidence,
        f"{headline} {where_raised(death, incident)}; the kernel lived on.",
        (*_exception(incident), *_child(child)),
        line=line_of_incident(death, incident),
    )


def _exception(incident: Incident) -> Iterator[Evidence]:
    words = f' with the words "{incident.signature}"' if incident.signature else ""
    yield Evidence(f"{incident.error} was raised{words}.", incident.error, None, "the exception")


def _child(child: Child | None) -> Iterator[Evidence]:
    if child is None:
        return
    if child.signal is not None:
        yield Evidence(
            f"Process {child.pid}, below the kernel, was ended by {child.signal}.", child.signal, None, "/proc"
        )
    if child.kind == "exit":
        yield Evidence(
            f"Process {child.pid}, below the kernel, left with exit code {child.exit_code}.",
            child.exit_code,
            None,
            "/proc",
        )
    if child.peak_bytes:
        yield Evidence(f"It held {size(child.peak_bytes)} at its largest.", child.peak_bytes, "bytes", "samples")
    if child.oom_kills:
        yield Evidence(
            f"Linux killed {plural(child.oom_kills, 'process')} for memory at that moment, by the count of the control "
            "group (cgroup).",
            child.oom_kills,
            "processes",
            "oom_kill",
        )


def _lost(death: Death, incident: Incident) -> Child | None:
    """The process that was lost: the one the error names, one that ended as it says, else the first that ended badly.

    The first, as a pool ends the workers that are left when it finds one gone: by SIGTERM, as concurrent.futures does,
    or by SIGKILL, as loky. So one that ended in another way comes before those.
    """
    cell = death.recording.execution(incident.cell_seq)
    since = max(incident.mono_s - _JUST_BEFORE_S, cell.started_mono_s if cell is not None else 0.0)
    ended = [one for one in death.recording.children if since <= one.mono_s <= incident.mono_s + 1]
    said = _said(incident)
    ended = [one for one in ended if one.kind == "signal" or (said is None and _left(death, incident, one))]
    named = [one for one in ended if one.pid == incident.numbers.get("pid")]
    alike = [one for one in ended if said in (None, one.signal)]
    for_memory = [one for one in alike if one.oom_kills]
    not_by_the_pool = [one for one in alike if one.signal not in _BY_THE_POOL]
    return next(iter((*named, *for_memory, *not_by_the_pool, *alike)), None)


def _left(death: Death, incident: Incident, child: Child) -> bool:
    """Whether it is a worker that left by itself: right before, and of the kernel's own. Programs may leave so, too."""
    own = child.parent_pid in (None, death.recording.kernel.process.pid)
    return own and child.kind == "exit" and bool(child.exit_code) and incident.mono_s - child.mono_s < _NOTICED_S


def _said(incident: Incident) -> str | None:
    """The signal that the error speaks of."""
    code = incident.numbers.get("exit_code", 0)
    if -65 < code < 0:
        return signal_name(-code)
    said = incident.signature or ""
    return next((name for word, name in _NAMES.items() if said.endswith((word, name))), None)
