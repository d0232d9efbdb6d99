"""What the kernel survived: each incident of a recording with its likeliest cause.

The causes are asked as for a death (`Cause.explain`). Where none of them explains an incident, the error itself is
reported.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import Incident, Rlimit, SystemState
from jupyter_kerneldoctor.recording.model import Recording
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from .analysis import stuck_before_shutdown
from .analysis.incident_site import that_it_was_raised
from .analysis.memory_refusals import is_used_up
from .causes import examine
from .certainty import Certainty
from .death import Death
from .family import Family
from .postmortem import CauseFinding, Culprit, Evidence, Survived, iso
from .ranking import findings_of
from .units import cell_name, duration, quote, size

MOST = 50
"""How many are told, the latest."""

_OPENBLAS = "OpenBLAS blas_thread_init: pthread_create failed"
_AT_ONCE_S = 5.0
"""So long after these words a cell is over at the latest: what takes most of it is to show the traceback."""

_STILL_FULL, _A_PART = 0.9, 0.1  # of the memory at its highest, or of all files
_NOTICED_AFTER_S = 20.0
"""A library tries for a while to reach a process that is gone."""

_TOO_DEEP = "A function called itself too often {where}, and Python stopped it."
_PAST = {"is": "was", "are": "were", "has": "had", "have": "had", "can": "could", "does": "did", "do": "did"}
_PAST |= {"waits": "waited", "wait": "waited", "holds": "held", "needs": "needed", "asks": "asked", "ask": "asked"}
_PAST |= {"sends": "sent", "send": "sent", "gets": "got", "comes": "came", "goes": "went", "reads": "read"}
_PRESENT = re.compile(rf"\b(?:{'|'.join(_PAST)})\b")

_LOST = ("unknown", "A worker process was lost", Certainty.WEAK, "A worker process was lost {where}.")
_CARD = "The graphics card reported an error"
_BY_KIND: dict[str, tuple[str, str, Certainty, str]] = {
    "recursion": ("stack-overflow", "Endless recursion, stopped by Python", Certainty.PROVEN, _TOO_DEEP),
    "broken-pool": _LOST,
    "worker-killed": _LOST,
    "cuda-error": ("unknown", _CARD, Certainty.WEAK, f"{_CARD} {{where}}."),
}
"""Cause, title, certainty and headline of kinds that a cause may leave unexplained."""

_OTHER = ("unknown", "An error that the kernel survived", Certainty.WEAK, "The kernel survived a system error {where}.")


def survived(death: Death) -> list[tuple[Survived, Death]]:
    """Return what the kernel survived, oldest first, each with the kernel as it was then."""
    found = (
        *death.recording.incidents,
        *_interrupted_by_openblas(death),
        *_known_by_name(death.recording),
        *_after_a_killed_child(death.recording),
        *(() if death.is_unasked_end and death.cell is not None else _used_up(death.recording)),
    )
    recorded = sorted(found, key=lambda one: one.mono_s)
    told = [*(_judged(death, incident) for incident in recorded[-MOST:]), *_interrupted(death.recording)]
    told.sort(key=lambda one: one[0].incident.mono_s)
    return [*told, *_stuck_until_the_end(death.recording)][-MOST:]


def first_of_a_shortage(recording: Recording, found: Sequence[tuple[Survived, Death]]) -> tuple[Survived, Death] | None:
    """Return the latest; where cells ran while all memory, or files, were in use, the one that took them."""
    first = found[-1] if found else None
    for one in reversed(found[:-1]):
        if first is None or not (_left_it_full(recording, one[0], first[0].incident) or _left_files_open(one, first)):
            break
        first = one
    return first


def _left_files_open(earlier: tuple[Survived, Death], later: tuple[Survived, Death]) -> bool:
    """Whether nearly all files were still open after an earlier cell than the one that got none."""
    same = earlier[0].incident.kind == later[0].incident.kind == "too-many-files"
    limit, opened = earlier[1].environment.soft_limit("NOFILE"), earlier[1].environment.known.open_files
    return same and None not in (limit, opened) and (opened or 0) >= _STILL_FULL * (limit or 0)


def _left_it_full(recording: Recording, earlier: Survived, later: Incident) -> bool:
    """Whether a cell had filled the memory in which a later cell was refused some."""
    filled, refused = (recording.execution(one.cell_seq) for one in (earlier.incident, later))
    if earlier.finding.family != Family.MEMORY or filled is None or refused is None or filled is refused:
        return False
    amounts = filled.rss_before_bytes, filled.peak_bytes or earlier.incident.rss_bytes, refused.rss_before_bytes
    before, peak, held = (one or 0 for one in amounts)
    took = max((refused.peak_bytes or 0) - held, later.asked_bytes or 0)
    return held >= _STILL_FULL * peak and peak - before > max(took, _A_PART * peak)


def _stuck_until_the_end(recording: Recording) -> Iterator[tuple[Survived, Death]]:
    """Yield the hang, or the endless loop, that lasted until somebody ended the kernel, as seen right before."""
    before = stuck_before_shutdown.before_the_request(recording)
    if before is not None:
        yield from _stuck(before, stuck_before_shutdown.asked_mono_s(recording), "stuck", "stuck")


def _interrupted(recording: Recording) -> Iterator[tuple[Survived, Death]]:
    """Yield the hangs, and the endless loops, that somebody interrupted, each as seen right before."""
    for before, interrupted_s in stuck_before_shutdown.before_interrupts(recording):
        yield from _stuck(before, interrupted_s, "stuck-interrupted", stuck_before_shutdown.INTERRUPTED)


def _stuck(before: Recording, until_s: float, kind: str, error: str) -> Iterator[tuple[Survived, Death]]:
    death = replace(examine(before), is_past=True)
    if death.look is None or death.cell is None:
        return
    hangs = findings_of(lambda cause: cause.judge(death) if cause.family == Family.STUCK else None)
    finding = max(hangs, key=lambda one: one.certainty, default=None)
    if finding is None:
        return
    cell, look = death.cell, death.look.stuck
    told = finding.headline
    if (still := death.stuck_cell) is not None:
        lasted = duration(max(still.lasted_s, until_s - look.since_mono_s))
        place = f"{cell_name(cell.execution_count)}{still.at()}"
        told = told.replace(place, f"{place} for {lasted}", 1)
    finding = replace(finding, headline=_in_the_past(told), summary=None)
    incident = Incident(kind, look.mono_s, error, cell.seq)
    yield Survived(finding, incident, Culprit.at(cell, finding.line), _time(death, look.mono_s)), death


def _in_the_past(headline: str) -> str:
    """Return a headline as it is told later; the user's code in it stays as it is."""
    parts = headline.split("`")
    parts[::2] = [_PRESENT.sub(lambda verb: _PAST[verb[0]], part) for part in parts[::2]]
    return "`".join(parts)


def _judged(kernel: Death, incident: Incident) -> tuple[Survived, Death]:
    death = kernel.at(incident)
    explained = findings_of(lambda one: one.explain(death, incident) if incident.kind in one.incidents else None)
    finding = max(explained, key=lambda one: one.certainty, default=None) or _unexplained(death, incident)
    finding = replace(finding, evidence=(*finding.evidence, *_circumstances(incident)))
    cell = None if death.cell is None else Culprit.at(death.cell, death.line)
    return Survived(finding, incident, cell, _time(death, incident.mono_s)), death


def _unexplained(death: Death, incident: Incident) -> CauseFinding:
    cause, title, certainty, headline = _BY_KIND.get(incident.kind, _OTHER)
    words = f": {quote(incident.signature, 100)}" if incident.signature else ""
    raised = (that_it_was_raised(incident, words),)
    return CauseFinding(cause, title, certainty, headline.format(where=death.where()), raised, line=death.line)


def _circumstances(incident: Incident) -> Iterator[Evidence]:
    """Yield where in which library it was raised, and the memory at that moment."""
    inner = incident.frames[0] if incident.frames else None
    if inner is not None and not inner.file.startswith("<") and not is_cell_file(inner.file):
        file = "/".join(inner.file.replace("\\", "/").rsplit("/", 2)[-2:])
        at, unit = (f", line {inner.line}", "line") if inner.line else ("", None)
        yield Evidence(f"It was raised in {quote(inner.function)} ({file}{at}).", inner.line, unit, "the exception")
    if incident.rss_bytes is not None:
        text = f"The kernel process held {size(incident.rss_bytes)} (resident memory, RSS) right after it."
        yield Evidence(text, incident.rss_bytes, "bytes", "samples")


def _time(death: Death, mono_s: float) -> str | None:
    return iso(death.recording.wall_s(mono_s)) if death.recording.started_wall_s else None


def _interrupted_by_openblas(death: Death) -> Iterator[Incident]:
    """Find interrupts that nobody sent: OpenBLAS raises one when it gets no threads (driver/others/blas_server.c)."""
    told = [piece.mono_s for piece in death.recording.output if _OPENBLAS in piece.text]
    for cell in death.recording.cells if told else ():
        ended = cell.ended_mono_s
        if cell.error != "KeyboardInterrupt" or ended is None:
            continue
        if any(max(cell.started_mono_s, ended - _AT_ONCE_S) <= moment <= ended + 1 for moment in told):
            yield Incident("interrupted-by-openblas", ended, cell.error, cell.seq, signature=_OPENBLAS)


def _known_by_name(recording: Recording) -> Iterator[Incident]:
    """Find errors of which only the name is known: nothing in the kernel looked, or no memory was left to note more."""
    told = {incident.cell_seq for incident in recording.incidents}
    for cell in recording.cells:
        if cell.error == "MemoryError" and cell.ended_mono_s is not None and cell.seq not in told:
            yield Incident("memory-error", cell.ended_mono_s, cell.error, cell.seq, rss_bytes=cell.rss_after_bytes)


def _after_a_killed_child(recording: Recording) -> Iterator[Incident]:
    """Find errors that followed when Linux killed a process of the cell for memory: the JVM of a Spark session."""
    told = {incident.cell_seq for incident in recording.incidents}
    killed = [child.mono_s for child in recording.children if child.oom_kills and child.signal == "SIGKILL"]
    for cell in recording.cells if killed else ():
        ended = cell.ended_mono_s
        if ended is None or cell.error in (None, "KeyboardInterrupt", "MemoryError") or cell.seq in told:
            continue
        if any(max(cell.started_mono_s, ended - _NOTICED_AFTER_S) <= moment <= ended for moment in killed):
            yield Incident("worker-killed", ended, cell.error, cell.seq)


def _used_up(recording: Recording) -> Iterator[Incident]:
    """Find the cell after which no file, thread or memory was to be had: no error may tell of it."""
    told = {incident.kind for incident in (*recording.incidents, *_known_by_name(recording))}
    for kind, has_none_left in _USED_UP.items():
        state = next((one for one in recording.system_states if has_none_left(one, recording)), None)
        ran = [cell for cell in recording.cells if state is not None and cell.started_mono_s <= state.mono_s]
        if state is not None and ran and kind not in told:
            yield Incident(kind, state.mono_s, ran[-1].error or "", ran[-1].seq, surroundings=state)


def _has_no_file_left(state: SystemState, _: Recording) -> bool:
    limit = state.rlimits.get("NOFILE", Rlimit()).soft
    return limit is not None and state.open_files is not None and state.open_files >= limit - 1


def _has_no_thread_left(state: SystemState, recording: Recording) -> bool:
    """Whether all were in use, or the recorder, which is under the same limit, could not start one beside them."""
    if state.pids_limit is None or state.pids_current is None:
        return False
    left = state.pids_limit - state.pids_current
    return left <= 0 or (left == 1 and "can't start new thread" in (recording.no_stacks or ""))


_USED_UP: dict[str, Callable[[SystemState, Recording], bool]] = {
    "too-many-files": _has_no_file_left,
    "no-threads": _has_no_thread_left,
    "memory-error": lambda state, _: is_used_up(state),
}
"""Kinds of incidents, and whether there was nothing left of what they are about."""
