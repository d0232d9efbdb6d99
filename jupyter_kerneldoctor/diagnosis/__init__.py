"""From a recording to a post-mortem. Pure: no clock, no /proc, no network, no files.

What is judged here was all recorded before, so an old recording can be judged again by better rules.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .analysis.ending import is_death
from .analysis.memory import Memory
from .cause import all_causes
from .context import FixContext
from .culprit import culprit
from .death import Death
from .incidents import survived
from .postmortem import CauseFinding, PostMortem, iso
from .texts.memory_shape import shape
from .texts.memory_story import story
from .texts.timeline import timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from .postmortem import Culprit, Ending, FixProposal, Survived
    from .texts.memory_shape import Shape

__all__ = ["diagnose"]

_NOT_KNOWN = CauseFinding("unknown", "Not known", 0.1, "The recording does not tell what happened to this kernel.")

_NOTICEABLE = 0.2
"""A cause below this confidence is named only if it is the first."""

_LIKELY = 0.5
"""From here on a cause that says why something crashed counts against those that only say that it crashed."""


def diagnose(recording: Recording) -> PostMortem:
    """Judge how the kernel ended, why, where, and what to change. Damaged recordings get an honest answer, too."""
    death = Death(recording)
    ranked, incidents = rank(death), survived(death)
    latest = incidents[-1] if incidents and ranked[0].id == "no-death" else None
    if latest is not None:
        ranked = (latest.finding,)
    cell = culprit(death, ranked[0]) if latest is None else latest.cell
    died, stuck = is_death(recording, death.ending), latest is None and _is_stuck(death, ranked[0])
    memory = _memory(death) if (died or stuck) and _is_about_memory(ranked[0]) else None
    return PostMortem(
        recording=recording.id,
        kernel_id=recording.kernel.kernel_id,
        pid=recording.kernel.process.pid or None,
        notebook=recording.kernel.notebook,
        loaded_by=recording.kernel.loaded_by,
        started=iso(recording.started_wall_s),
        ended=_ended(death),
        died=died,
        end=_end(death, ranked[0], latest),
        causes=ranked,
        timeline=timeline(death),
        story=None if memory is None else story(death, memory),
        memory_shape=None if memory is None else memory.name,
        cell=cell,
        fixes=_fixes(death, ranked, cell, latest) if died or stuck or latest is not None else (),
        incidents=incidents,
    )


def rank(death: Death) -> tuple[CauseFinding, ...]:
    """Let the causes compete; the first is the answer. Not knowing is one of them, and no runner-up."""
    findings = []
    for cause in all_causes():
        try:
            finding = cause.judge(death)
        except Exception:  # noqa: S112 - a rule that fails on a damaged recording has no say; the others have
            continue
        if finding is not None:
            findings.append(finding)
    findings = list(_specific_first(findings))
    findings.sort(key=lambda finding: (-finding.confidence, finding.id))
    first, others = (findings[0], findings[1:]) if findings else (_NOT_KNOWN, [])
    return (first, *_runners_up(first, others))


def _specific_first(findings: list[CauseFinding]) -> Iterator[CauseFinding]:
    """Let a general cause, as a crash is, be no surer than what a likely cause that says why leaves to it."""
    best = max((one.confidence for one in findings if not one.general and one.id != "unknown"), default=0.0)
    for finding in findings:
        if finding.general and best >= _LIKELY:
            yield replace(finding, confidence=round(min(finding.confidence, 1 - best), 2))
        else:
            yield finding


def _runners_up(first: CauseFinding, others: list[CauseFinding]) -> Iterator[CauseFinding]:
    """The other causes, no surer than what the ones before them leave: only one of all can be true."""
    left = 1 - first.confidence
    for other in others:
        confidence = round(min(other.confidence, left), 2)
        if confidence >= _NOTICEABLE and other.id != "unknown":
            left -= confidence
            yield replace(other, confidence=confidence)


def _memory(death: Death) -> Shape | None:
    """The shape the memory had; None when too little was measured, or what was measured cannot be."""
    try:
        return shape(death)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _is_about_memory(cause: CauseFinding) -> bool:
    """Whether the story of the memory belongs to the answer: memory was it, or it has to be seen that it was not."""
    return cause.id.startswith("oom-") or cause.id in ("killed-externally", "memory-stall", "unknown")


def _is_stuck(death: Death, cause: CauseFinding) -> bool:
    """Whether the kernel lives, but something is wrong with it right now."""
    return death.ended is False and cause.id not in ("no-death", "unknown")


def _end(death: Death, cause: CauseFinding, incident: Survived | None) -> Ending:
    if incident is not None:
        return replace(death.ending, summary="Survived, still running")
    return replace(death.ending, summary=cause.summary) if cause.summary else death.ending


def _ended(death: Death) -> str | None:
    """When it ended; without an end that was recorded, the last that is known of it."""
    if not death.ended or death.stopped_early:
        return None
    end = death.recording.end
    return iso(end.wall_s if end is not None else death.recording.last_wall_s)


def _fixes(
    death: Death, ranked: tuple[CauseFinding, ...], cell: Culprit | None, incident: Survived | None
) -> tuple[FixProposal, ...]:
    from .fixes import propose  # noqa: PLC0415 - what went well needs no fixes

    recorded = death.cell if incident is None else death.recording.execution(incident.cell_seq)
    memory = Memory(death.recording, recorded)
    context = FixContext(
        recording=death.recording,
        causes=ranked,
        culprit=cell,
        cell=recorded,
        limit_bytes=memory.limit_bytes,
        peak_bytes=memory.peak_bytes,
        rss_before_bytes=memory.before_bytes,
    )
    try:
        return propose(context)
    except Exception:
        return ()
