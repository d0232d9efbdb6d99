"""Worker processes that were lost while the kernel lived: of a DataLoader, a process pool, joblib."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.events import Child, Incident
from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Evidence
from ..units import plural, quote, signal_name, size

INCIDENTS = frozenset({"worker-killed", "broken-pool"})
"""The kinds of incidents that tell of a lost worker."""

WORKERS = re.compile(r"(?i)python|pypy|ipykernel|loky|^(?:pt_|ray::)")
"""What a worker is called: as the program it runs, or as PyTorch and Ray name their processes."""

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


@dataclass(frozen=True)
class LostWorker:
    """A worker process that an exception reported as lost."""

    incident: Incident
    child: Child | None
    """The process, where one was seen to end."""

    @property
    def name(self) -> str:
        """What it was, for a sentence."""
        name = "" if self.child is None else self.child.name or ""
        if name == "java":
            return "the JVM (`java`) of this kernel"
        return "a worker process" if not name or WORKERS.search(name) else f"{quote(name)}, a process of this kernel,"

    @property
    def signal(self) -> str | None:
        """The signal that ended it, as seen, else as the exception says; None where neither tells, or it left."""
        return _said(self.incident) if self.child is None else self.child.signal

    @property
    def killed_for_memory(self) -> bool | None:
        """Whether Linux counted a kill for memory when the worker ended; None where that is not known."""
        return None if self.child is None or self.child.oom_kills is None else self.child.oom_kills > 0

    @property
    def exit_code(self) -> int | None:
        """The exit code with which it left by itself; None where it did not."""
        return self.child.exit_code if self.child is not None and self.child.kind == "exit" else None

    def evidence(self) -> Iterator[Evidence]:
        """Yield what the exception said, how the process ended, and what it held."""
        incident, child = self.incident, self.child
        words = f' with the words "{incident.signature}"' if incident.signature else ""
        yield Evidence(f"{incident.error} was raised{words}.", incident.error, None, "the exception")
        if child is None:
            return
        subject = f"Child process {child.pid}"
        if child.signal is not None:
            yield Evidence(f"{subject} was ended by {child.signal}.", child.signal, None, "/proc")
        if child.kind == "exit":
            yield Evidence(f"{subject} left with exit code {child.exit_code}.", child.exit_code, None, "/proc")
        if child.peak_bytes:
            yield Evidence(f"It held up to {size(child.peak_bytes)}.", child.peak_bytes, "bytes", "samples")
        if child.oom_kills:
            text = f"Linux killed {plural(child.oom_kills, 'process')} for memory at that moment."
            yield Evidence(text, child.oom_kills, "processes", "oom_kill")


def lost_worker(recording: Recording, incident: Incident) -> LostWorker | None:
    """Return the worker that an incident reports as lost; None for other incidents."""
    return LostWorker(incident, _lost(recording, incident)) if incident.kind in INCIDENTS else None


def _lost(recording: Recording, incident: Incident) -> Child | None:
    """The process that was lost: the one the error names, one that ended as it says, else the first that ended badly.

    The first, as a pool ends the workers that are left when it finds one gone: by SIGTERM, as concurrent.futures does,
    or by SIGKILL, as loky. So one that ended in another way comes before those.
    """
    cell = recording.execution(incident.cell_seq)
    since = max(incident.mono_s - _JUST_BEFORE_S, cell.started_mono_s if cell is not None else 0.0)
    ended = [one for one in recording.children if since <= one.mono_s <= incident.mono_s + 1]
    said = _said(incident)
    ended = [one for one in ended if one.kind == "signal" or (said is None and _left(recording, incident, one))]
    named = [one for one in ended if one.pid == incident.numbers.get("pid")]
    alike = [one for one in ended if said in (None, one.signal)]
    for_memory = [one for one in alike if one.oom_kills]
    not_by_the_pool = [one for one in alike if one.signal not in _BY_THE_POOL]
    return next(iter((*named, *for_memory, *not_by_the_pool, *alike)), None)


def _left(recording: Recording, incident: Incident, child: Child) -> bool:
    """Whether it is a worker that left by itself: right before, and of the kernel's own. Programs may leave so, too."""
    own = child.parent_pid in (None, recording.kernel.process.pid)
    ended = [one.mono_s for one in recording.children if one.signal in _BY_THE_POOL]  # when the pool found it gone
    at_once = any(0 <= after - child.mono_s < _NOTICED_S for after in (incident.mono_s, *ended))
    return own and child.kind == "exit" and bool(child.exit_code) and at_once


def _said(incident: Incident) -> str | None:
    """The signal that the error speaks of."""
    code = incident.numbers.get("exit_code", 0)
    if -65 < code < 0:
        return signal_name(-code)
    said = incident.signature or ""
    return next((name for word, name in _NAMES.items() if said.endswith((word, name))), None)
