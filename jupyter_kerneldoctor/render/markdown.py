"""A post-mortem as Markdown, to paste into an issue or a chat."""

import re
from collections.abc import Iterator
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import cell_name

from . import textchart, wording
from .excerpt import excerpt
from .html import escaped as as_html
from .next_steps import next_steps
from .printable import one_line, visible

Document = dict[str, Any]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$@])")  # `@` would call a person, `#1` link an issue


def render(doc: Document) -> str:
    """Return the whole post-mortem."""
    return "\n".join(_blocks(doc)).rstrip() + "\n"


def escaped(text: Any) -> str:
    """Return text that Markdown shows as it is; what stands in backticks stays code."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0 or "" in parts[1:-1]:  # an odd backtick is no code, and a run of them pairs with its like
        return _SPECIAL.sub(r"\\\1", "`".join(parts))
    return "".join(f"`{part}`" if position % 2 else _SPECIAL.sub(r"\\\1", part) for position, part in enumerate(parts))


def fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{visible(text)}\n{fence}\n"


def _blocks(doc: Document) -> Iterator[str]:
    yield f"### {escaped(doc['headline'])}\n"
    parts = (wording.certainty(doc), wording.end_summary(doc), wording.time_of_end(doc))
    yield " · ".join(escaped(part) for part in parts if part) + "  "
    subject = wording.subject(doc)
    name = f"{escaped(subject)} · " if subject else ""
    yield f"Cause: `{doc['cause']}` · {name}recording `{doc['recording']}`\n"
    if cell := wording.shown_cell(doc):
        yield from _cell(doc, cell)
    if doc.get("story"):
        yield f"{escaped(doc['story'])}\n"
    if wording.is_about_memory(doc) and (lines := textchart.chart(doc, 78)):
        yield fenced("\n".join(lines), "text")
    if again := wording.recurrence(doc):
        yield f"{escaped(again)}\n"
    yield from _fixes(doc)
    yield from _evidence(doc)
    if unknown := wording.not_known(doc):
        yield "#### What is not known\n"
        yield from (f"* {escaped(sentence)}" for sentence in unknown)
        yield ""
    if survived := wording.survived(doc):
        yield "#### Survived before\n"
        yield from (f"* {escaped(sentence)}" for sentence in survived)
        yield ""
    if steps := next_steps(doc):
        yield "#### What to do now\n"
        yield from (f"* {escaped(step)}" for step in steps)


def _cell(doc: Document, cell: Document) -> Iterator[str]:
    yield f"#### Where: {escaped(wording.place(cell))}\n"
    shown = excerpt(cell)
    above = [f"# … {shown.left_out_above} lines above"] if shown.left_out_above else []
    below = [f"# … {shown.left_out_below} lines below"] if shown.left_out_below else []
    lines = [f"{line.text}  # <-- here" if line.culprit else line.text for line in shown.lines]
    yield fenced("\n".join([*above, *lines, *below]), "python")
    if calls := wording.called_from(doc):
        yield f"{escaped(calls)}\n"
    if cell.get("truncated"):
        yield "The cell is very long: only its start and end were recorded.\n"
    if why := wording.why_no_line(doc):
        yield f"{escaped(why)}\n"


def _evidence(doc: Document) -> Iterator[str]:
    items = [_evidence_item(fact) for fact in wording.evidence(doc)]
    shown, folded = items[: wording.SHOWN_EVIDENCE], items[wording.SHOWN_EVIDENCE :]
    shown += [escaped(sentence) for sentence in wording.less_likely(doc)]
    folded += [escaped(sentence) for sentence in doc.get("ruled_out") or []]
    if shown:
        yield "#### Why we think so\n"
        yield from (f"* {item}" for item in shown)
        yield ""
    if count := wording.folded_count(doc):
        yield f"<details><summary>{count}</summary>\n"
        yield from (f"* {item}" for item in folded)
        yield "\n</details>\n"


def _evidence_item(fact: Document) -> str:
    note = wording.source_note(fact)
    return escaped(fact["text"]) + (f" ({escaped(note)})" if note else "")


def _fixes(doc: Document) -> Iterator[str]:
    """Yield the first fix open, the others folded below their titles."""
    if doc["fixes"] or doc.get("fixes_left_out"):
        yield f"#### What to change\n\n{escaped(doc.get('fixes_left_out') or '')}"
    for number, fix in enumerate(doc["fixes"], start=1):
        if number == 1:
            yield f"**{number}. {escaped(fix['title'])}**\n"
            yield from _fix(fix)
        else:
            yield f"<details><summary>{number}. {as_html(fix['title'])}</summary>\n"
            yield from _fix(fix)
            yield "</details>\n"
    if more := wording.more_fixes(doc):
        yield f"{escaped(more)}\n"


def _fix(fix: Document) -> Iterator[str]:
    said = " ".join(escaped(text) for text in (fix["why"], wording.expected_peak(fix)) if text)
    yield f"{said} ({wording.APPLICABILITY[fix['applicability']]})\n"
    for edit in fix["edits"]:
        yield f"In {escaped(cell_name(edit.get('execution_count')))}:\n"
        yield fenced(edit["diff"].rstrip("\n"), "diff")
    if fix.get("snippet"):
        yield fenced(fix["snippet"].rstrip("\n"), "python")
