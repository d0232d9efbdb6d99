"""Lets the causes compete: the surest is the answer."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from .cause import Cause
from .causes import all_causes
from .certainty import Certainty
from .death import Death
from .family import Family
from .postmortem import CauseFinding

_NO_ANSWER = "The recording does not tell what happened to this kernel."
_NOT_KNOWN = CauseFinding("unknown", "Not known", Certainty.WEAK, _NO_ANSWER)


def rank(death: Death) -> tuple[CauseFinding, ...]:
    """Return the causes that fit, likeliest first; always one, as not knowing is one of them, and no runner-up."""
    findings = sorted(_specific_first(list(findings_of(lambda cause: cause.judge(death)))), key=_order)
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
    """Let a general cause, as a crash is, stand back behind a cause that says why."""
    best = max((one.certainty for one in findings if not _is_general(one)), default=Certainty.WEAK)
    for finding in findings:
        if _is_general(finding) and best >= Certainty.POSSIBLE:
            yield replace(finding, certainty=Certainty.WEAK)
        else:
            yield finding


def _is_general(finding: CauseFinding) -> bool:
    """Whether it does not say why: nor does it say why a cell does nothing that the kernel lives."""
    return finding.general or finding.family in (Family.ALIVE, Family.UNKNOWN)


def _order(finding: CauseFinding) -> tuple[float, bool, str]:
    return -finding.certainty, _is_general(finding), finding.id


def _runners_up(first: CauseFinding, others: list[CauseFinding]) -> Iterator[CauseFinding]:
    """Yield the other causes, no surer than what the ones before them leave: only one of all can be true."""
    left = 1 - first.certainty
    for other in others:
        certainty = Certainty.up_to(min(other.certainty, left))
        if certainty is not None and other.family != Family.UNKNOWN:
            left -= certainty
            yield replace(other, certainty=certainty)
