"""A post-mortem as Markdown, to paste into an issue or a chat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.diagnosis.units import cell_name

from . import textchart, wording
from .excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

Document = dict[str, Any]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$@])")  # `@` would call a person, `#1` link an issue


def render(doc: Document) -> str:
    """The whole post-mortem."""
    return "\n".join(_blocks(doc)).rstrip() + "\n"


def escaped(text: Any) -> str:
    """Text that Markdown shows as it is; code in backticks stays code."""
    parts = wording.one_line(text).split("`")
    if len(parts) % 2 == 0:  # an odd backtick is no code
        return _SPECIAL.sub(r"\\\1", "`".join(parts))
    return "".join(f"`{part}`" if position % 2 else _SPECIAL.sub(r"\\\1", part) for position, part in enumerate(parts))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{wording.visible(text)}\n{fence}\n"


def _blocks(doc: Document) -> Iterator[str]:
    yield f"### {escaped(doc['headline'])}\n"
    facts = (wording.sureness(doc["confidence"]), wording.how_it_ended(doc), wording.when(doc))
    yield " · ".join(escaped(fact) for fact in facts if fact) + "  "
    subject = wording.subject(doc)
    whose = f"{escaped(subject)} · " if subject else ""
    yield f"Cause: `{doc['cause']}` · {whose}recording `{doc['recording']}`\n"
    if doc.get("cell"):
        yield from _cell(doc, doc["cell"])
    if lines := textchart.chart(doc, 78):
        yield "#### Memory\n"
        yield fenced("\n".join(lines), "text")
    if doc.get("story"):
        yield f"{escaped(doc['story'])}\n"
    if again := wording.recurrence(doc):
        yield f"{escaped(again)}\n"
    yield from _evidence(doc)
    yield from _fixes(doc)
    if survived := wording.survived(doc):
        yield "#### Survived before\n"
        yield from (f"* {escaped(sentence)}" for sentence in survived)
        yield ""
    if steps := wording.next_steps(doc):
        yield "#### How to go on\n"
        yield from (f"* {escaped(step)}" for step in steps)


def _cell(doc: Document, cell: Document) -> Iterator[str]:
    yield f"#### Where: {escaped(wording.where(cell))}\n"
    shown = excerpt(cell)
    above = [f"# … {shown.left_out_above} lines above"] if shown.left_out_above else []
    below = [f"# … {shown.left_out_below} lines below"] if shown.left_out_below else []
    lines = [f"{line.text}  # <-- here" if line.culprit else line.text for line in shown.lines]
    yield fenced("\n".join([*above, *lines, *below]), "python")
    if cell.get("truncated"):
        yield "The cell is very long: its middle was not recorded.\n"
    if why := wording.line_unknown(doc):
        yield f"{why}\n"


def _evidence(doc: Document) -> Iterator[str]:
    found = doc["causes"][0]["evidence"] if doc["causes"] else []
    lines = []
    for evidence in found:
        note = wording.source_note(evidence)
        lines.append(f"* {escaped(evidence['text'])}" + (f" ({escaped(note)})" if note else ""))
    if lines:
        yield "#### Why we think so\n"
        yield from lines
        yield ""
    if others := wording.alternatives(doc):
        yield "#### Also considered\n"
        yield from (f"* {escaped(sentence)}" for sentence in others)
        yield ""


def _fixes(doc: Document) -> Iterator[str]:
    if doc["fixes"]:
        yield "#### What to change\n"
    for fix in doc["fixes"]:
        yield f"**{escaped(fix['title'])}** ({wording.APPLICABILITY[fix['applicability']]})\n"
        yield " ".join(escaped(text) for text in (fix["why"], wording.sizing(fix)) if text) + "\n"
        for edit in fix["edits"]:
            yield f"In {escaped(cell_name(edit.get('execution_count')))}:\n"
            yield fenced(edit["diff"].rstrip("\n"), "diff")
        if fix.get("snippet"):
            yield fenced(fix["snippet"].rstrip("\n"), "python")
