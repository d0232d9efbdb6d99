"""Lets the causes compete: the surest is the answer."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from .cause import Cause
from .causes import all_causes
from .death import Death
from .family import Family
from .postmortem import CauseFinding

_NOT_KNOWN = CauseFinding("unknown", "Not known", 0.1, "The recording does not tell what happened to this kernel.")

_NOTICEABLE = 0.2
"""A cause below this confidence is named only if it is the first."""

_LIKELY = 0.5
"""From here on a cause that says why something crashed counts against those that only say that it crashed."""


def rank(death: Death) -> tuple[CauseFinding, ...]:
    """Return the causes that fit, likeliest first; always one, as not knowing is one of them, and no runner-up."""
    findings = list(_specific_first(list(findings_of(lambda cause: cause.judge(death)))))
    findings.sort(key=lambda finding: (-finding.confidence, finding.id))
    first, others = (findings[0], findings[1:]) if findings else (_NOT_KNOWN, [])
    return (first, *_runners_up(first, others))


def findings_of(ask: Callable[[Cause], CauseFinding | None]) -> Iterator[CauseFinding]:
    """Yield what the causes answer. One that fails on a damaged recording has no say; the others have."""
    for cause in all_causes():
        try:
            finding = ask(cause)
        except Exception:  # noqa: S112 - see the docstring
            continue
        if finding is not None:
            yield finding


def _specific_first(findings: list[CauseFinding]) -> Iterator[CauseFinding]:
    """Let a general cause, as a crash is, be no surer than what a likely cause that says why leaves to it."""
    specific = (one.confidence for one in findings if not one.general and one.family != Family.UNKNOWN)
    best = max(specific, default=0.0)
    for finding in findings:
        if finding.general and best >= _LIKELY:
            yield replace(finding, confidence=round(min(finding.confidence, 1 - best), 2))
        else:
            yield finding


def _runners_up(first: CauseFinding, others: list[CauseFinding]) -> Iterator[CauseFinding]:
    """Yield the other causes, no surer than what the ones before them leave: only one of all can be true."""
    left = 1 - first.confidence
    for other in others:
        confidence = round(min(other.confidence, left), 2)
        if confidence >= _NOTICEABLE and other.family != Family.UNKNOWN:
            left -= confidence
            yield replace(other, confidence=confidence)
