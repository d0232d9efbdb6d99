"""What each word of certainty is worth, measured: of the answers with it, how many were right."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from jupyter_kerneldoctor.diagnosis.certainty import Certainty

if TYPE_CHECKING:
    from collections.abc import Iterable

_Z = 1.96
"""For an interval that holds the true share in 95 of 100 such measurements."""

TARGETS = {Certainty.PROVEN: 0.98, Certainty.STRONG: 0.9}
"""The least share of right answers; of the other words nothing is promised."""


class Answer(NamedTuple):
    """What was said of one case, and whether the cause was right."""

    certainty: str
    general: bool
    right: bool


def interval(right: int, answers: int) -> tuple[float, float]:
    """Return the interval that so many cases allow for the true share of right answers, by Wilson's formula."""
    share, squared = right / answers, _Z * _Z
    middle = (share + squared / (2 * answers)) / (1 + squared / answers)
    half = _Z * sqrt(share * (1 - share) / answers + squared / (4 * answers * answers)) / (1 + squared / answers)
    return max(0.0, middle - half), min(1.0, middle + half)


def table(answers: Iterable[Answer]) -> list[str]:
    """Return the lines of the table, and a sentence on answers that say only how a kernel ended."""
    given = list(answers)
    lines = [
        "Each answer says in a word how sure it is (`jupyter_kerneldoctor/diagnosis/certainty.py`). The interval is",
        "what so many cases allow for the true share (Wilson, 95 %).",
        "",
        "| said | number in the JSON | answers | right | interval | promised |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for word in Certainty:
        those = [one for one in given if one.certainty == word.word]
        right = sum(one.right for one in those)
        low, high = interval(right, len(those)) if those else (0.0, 0.0)
        within = f"{low:.0%} to {high:.0%}" if those else "-"
        promised = f"{TARGETS[word]:.0%}" if word in TARGETS else "-"
        counted = f"{right} of {len(those)}" if those else "-"
        lines.append(f"| {word.word} | {word.value} | {len(those)} | {counted} | {within} | {promised} |")
    general = [one for one in given if one.general]
    right = sum(one.right for one in general)
    too_sure = sum(one.certainty in (Certainty.PROVEN.word, Certainty.STRONG.word) for one in general)
    told = f"{len(general)} of them say only how the kernel ended, {right} of these rightly"
    return [*lines, "", f"{told}; {too_sure} of these claim more than likely."]
