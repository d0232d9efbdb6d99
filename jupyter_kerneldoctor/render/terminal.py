"""A post-mortem in a terminal, or as plain text in a pipe."""

import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jupyter_kerneldoctor.diagnosis.units import cell_name, enumeration, plural, size

from . import diff, textchart, wording
from .excerpt import excerpt
from .next_steps import next_steps
from .printable import one_line, visible

Document = dict[str, Any]

_DIFF_STYLES = {"+": "green", "-": "red", diff.GAP: "dim"}
_CELL_STYLE, _CULPRIT_STYLE, _QUIET = "default", "bold red", "dim"

_NARROW = 60
"""Below so many columns the list has no room for an id and a headline side by side."""

_SHOWN_EDITS = 3
"""So many changed cells of a fix are shown without `details`."""

_WORDS = re.compile(r"(?:`[^`]+`|\S)+")


class _Paragraph(NamedTuple):
    """Text to wrap. What stands in backticks is not broken: people copy commands from here."""

    text: str
    indent: int = 0
    mark: str = ""
    style: str = ""

    def lines(self, width: int) -> Iterator[Text]:
        lines = [""]
        for word in _WORDS.findall(one_line(self.text)):
            if lines[-1] and self.indent + cell_len(f"{lines[-1]} {word}") > width:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
        for number, line in enumerate(lines):
            before = f"{self.mark if number == 0 else '':>{self.indent - 1}} " if self.indent else ""
            yield Text(before + line, style=self.style)


def render(
    doc: Document,
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    details: bool = False,
    note: str | None = None,
) -> str:
    """Return the post-mortem, below a note where there is one.

    With `details` it has all fixes in full, all evidence, what was ruled out and the memory over time. Without `color`
    it has no escape sequences, without `unicode` no block characters.
    """
    console = _console(width, color)
    glyphs = textchart.BLOCKS if unicode else textchart.ASCII
    above = [_Paragraph(note), Text("")] if note else []
    for part in (*above, *_parts(doc, width, glyphs, details=details)):
        for line in part.lines(width) if isinstance(part, _Paragraph) else [part]:
            console.print(line, soft_wrap=True)  # whole: the terminal wraps what is wider, and can be copied from
    text = _text_of(console)
    return text if unicode else text.translate({ord("·"): "-", ord("•"): "*", ord("…"): "...", ord("▶"): ">"})


def render_list(rows: list[Document], *, width: int = 80, color: bool = False) -> str:
    """Return a table of recordings: the id, what happened, and below it to which kernel and when."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if color else "", leading=1)
    table.add_column("Recording", no_wrap=True)
    table.add_column("What happened", ratio=1, overflow="fold")
    console = _console(width, color)
    for row in rows:
        recording_id = Text(one_line(row["recording"]))
        headline = Text(wording.row_headline(row), style="bold" if row["state"] == "died" else "")
        kernel = Text(wording.row_identification(row), style=_QUIET)
        if width < _NARROW:
            console.print(recording_id, headline, kernel, "", sep="\n")
        else:
            table.add_row(recording_id, Text("\n").join([headline, kernel]))
    if width >= _NARROW:
        console.print(table)
    return _text_of(console).rstrip("\n")


def list_summary(count: int, orderly: int, used_bytes: int | None) -> str:
    """Return how many recordings there are, what they take on the disk, and how many of them a list leaves out."""
    room = "" if used_bytes is None else f", {size(used_bytes)} on disk"
    said = f"{count} recording{'' if count == 1 else 's'}{room}."
    kernels = "1 kernel" if orderly == 1 else f"{orderly} kernels"
    return said if not orderly else f"{said} Left out: {kernels} that ended as asked (`--all` shows them)."


def _console(width: int, color: bool) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        force_jupyter=False,  # in a kernel rich would display each line by itself
        no_color=not color,
        color_system="standard" if color else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )


def _text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def _parts(doc: Document, width: int, glyphs: textchart.Glyphs, *, details: bool) -> Iterator[_Paragraph | Text]:
    """Yield paragraphs, and lines to print as they are."""
    yield _Paragraph(doc["headline"], style="bold")
    yield _Paragraph(
        " · ".join(filter(None, (wording.certainty(doc), wording.end_summary(doc), wording.time_of_end(doc))))
    )
    if cell := wording.shown_cell(doc):
        yield from _cell(doc, cell)
    for said in (doc.get("story"), wording.recurrence(doc)):
        if said:
            yield Text("")
            yield _Paragraph(said, 2)
    yield from _fixes(doc, details=details)
    yield from _evidence(doc, details=details)
    yield from _titled_list("What is not known", wording.not_known(doc))
    if details and (lines := textchart.chart(doc, min(width, 100) - 2, glyphs)):
        yield from _title("Memory")
        yield from (Text(f"  {line}") for line in lines)
    yield from _titled_list("Survived before", wording.survived(doc))
    yield from _titled_list("What to do now", next_steps(doc))
    yield Text("")
    if not details:
        left_out = ", ".join(filter(None, (wording.folded_count(doc), "the memory over time")))
        command = f"`jupyter kerneldoctor report {one_line(doc['recording'])} --details`"
        yield _Paragraph(f"More ({left_out}): {command}", style=_QUIET)
    yield _Paragraph(wording.identification(doc), style=_QUIET)


def _title(words: str) -> Iterator[Text]:
    yield Text("")
    yield Text(words.upper(), style="bold cyan")


def _titled_list(title: str, sentences: list[str]) -> Iterator[_Paragraph | Text]:
    if sentences:
        yield from _title(title)
    yield from (_Paragraph(sentence, 4, "•") for sentence in sentences)


def _cell(doc: Document, cell: Document) -> Iterator[_Paragraph | Text]:
    yield from _title("Where")
    yield _Paragraph(wording.place(cell), 2)
    shown = excerpt(cell)
    digits = len(str(shown.lines[-1].number)) if shown.lines else 1
    if shown.left_out_above:
        yield Text(f"    … {plural(shown.left_out_above, 'line')} above", style=_QUIET)
    for line in shown.lines:
        mark, style = ("▶", _CULPRIT_STYLE) if line.culprit else (" ", _CELL_STYLE)
        yield Text(f"  {mark} {line.number:>{digits}}  {line.text}", style=style)
    if shown.left_out_below:
        yield Text(f"    … {plural(shown.left_out_below, 'line')} below", style=_QUIET)
    if calls := wording.called_from(doc):
        yield _Paragraph(calls, 2, style=_QUIET)
    if cell.get("truncated"):
        yield _Paragraph("The cell is very long: only its start and end were recorded.", 2, style=_QUIET)
    if why := wording.why_no_line(doc):
        yield _Paragraph(why, 2, style=_QUIET)


def _evidence(doc: Document, *, details: bool) -> Iterator[_Paragraph | Text]:
    facts, others = wording.evidence(doc), wording.less_likely(doc)
    if facts or others:
        yield from _title("Why we think so")
    for fact in facts if details else facts[: wording.SHOWN_EVIDENCE]:
        yield _Paragraph(fact["text"], 4, "•")
        if details and (note := wording.source_note(fact)):
            yield _Paragraph(note, 4, style=_QUIET)
    yield from (_Paragraph(sentence, 4, "•") for sentence in others)
    if details:
        yield from _titled_list("Ruled out", doc.get("ruled_out") or [])


def _fixes(doc: Document, *, details: bool) -> Iterator[_Paragraph | Text]:
    """Yield the first fix in full; the others by their titles alone, but with `details`."""
    if doc["fixes"] or doc.get("fixes_left_out"):
        yield from _title("What to change")
    if doc.get("fixes_left_out"):
        yield _Paragraph(doc["fixes_left_out"], 2)
    for number, fix in enumerate(doc["fixes"], start=1):
        full = details or number == 1
        if number > 1 and (details or number == 2):
            yield Text("")
        yield _Paragraph(fix["title"], 5, f"{number}.", style="bold" if full else "")
        if full:
            yield from _fix(fix, None if details else _SHOWN_EDITS)
    if more := wording.more_fixes(doc):
        yield _Paragraph(more, 4, style=_QUIET)


def _fix(fix: Document, shown_edits: int | None) -> Iterator[_Paragraph | Text]:
    said = (fix["why"], wording.expected_peak(fix), f"({wording.APPLICABILITY[fix['applicability']]})")
    yield _Paragraph(" ".join(one for one in said if one), 5)
    for edit in fix["edits"][:shown_edits]:
        yield _Paragraph(f"In {cell_name(edit.get('execution_count'))}:", 5, style=_QUIET)
        yield from (_code(line, _DIFF_STYLES.get(line[:1], "")) for line in diff.lines_of(edit["diff"]))
    if left_out := fix["edits"][shown_edits:] if shown_edits else []:
        others = enumeration([cell_name(edit.get("execution_count")) for edit in left_out])
        yield _Paragraph(f"And in {others}: `--details` shows it.", 5, style=_QUIET)
    if fix.get("snippet"):
        if fix["edits"]:
            yield Text("")
        yield from (_code(line) for line in fix["snippet"].splitlines())


def _code(line: str, style: str = "") -> Text:
    return Text(f"       {visible(line.expandtabs(4))}", style=style)
