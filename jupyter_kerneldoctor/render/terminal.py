"""A post-mortem in a terminal, or as plain text in a pipe."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jupyter_kerneldoctor.diagnosis.units import cell_name

from . import textchart, wording
from .excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

Document = dict[str, Any]

_DIFF_STYLES = {"+": "green", "-": "red", "@": "dim"}
_CELL_STYLE, _CULPRIT_STYLE, _QUIET = "default", "bold red", "dim"


def render(doc: Document, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The whole post-mortem; without `color` no escape sequence is in it, without `unicode` no block character."""
    console = _console(width, color)
    glyphs = textchart.BLOCKS if unicode else textchart.ASCII
    for part in _parts(doc, width, glyphs):
        console.print(part)
    text = _text_of(console)
    return text if unicode else text.translate({ord("·"): "-", ord("•"): "*", ord("…"): "...", ord("▶"): ">"})


def render_list(rows: list[Document], *, width: int = 80, color: bool = False) -> str:
    """A table of recordings: the id to ask for, what happened, and below it to whom and when."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if color else "", leading=1)
    table.add_column("Recording", no_wrap=True)
    table.add_column("What happened", ratio=1)
    for row in rows:
        headline = Text(wording.one_line(row["headline"]), style="bold" if row.get("died") else "")
        started = wording.clock(row["started"], date=True) or "not known when"
        whose = Text(f"{wording.subject(row)} · started {started}", style=_QUIET)
        table.add_row(Text(wording.one_line(row["recording"])), Text("\n").join([headline, whose]))
    console = _console(width, color)
    console.print(table)
    return _text_of(console)


def _console(width: int, color: bool) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
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


def _parts(doc: Document, width: int, glyphs: textchart.Glyphs) -> Iterator[RenderableType]:
    yield Text(wording.one_line(doc["headline"]), style="bold")
    sure = wording.sureness(doc["confidence"])
    yield Text(" · ".join(filter(None, (sure, wording.how_it_ended(doc), wording.when(doc)))))
    yield Text(f"{wording.subject(doc)} · process {doc.get('pid')} · recording {doc['recording']}", style=_QUIET)
    if doc.get("cell"):
        yield from _cell(doc["cell"])
    if lines := textchart.chart(doc, min(width, 100) - 2, glyphs):
        yield _title("Memory")
        yield from (_indented(Text(line, no_wrap=True)) for line in lines)
    if doc.get("story"):
        yield Text("")
        yield _indented(Text(wording.one_line(doc["story"])))
    yield from _evidence(doc)
    yield from _fixes(doc)
    yield from _incidents(doc)
    if steps := wording.next_steps(doc):
        yield _title("How to go on")
        yield from (_item(step) for step in steps)


def _title(words: str) -> RenderableType:
    return Padding(Text(words.upper(), style="bold cyan"), (1, 0, 0, 0))


def _indented(part: RenderableType, by: int = 2) -> RenderableType:
    return Padding(part, (0, 0, 0, by))


def _item(text: str, note: str = "", mark: str = "•") -> RenderableType:
    """A sentence with a mark before it, its continuation lines indented, and a quiet line below."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(f"  {mark}", Text(wording.one_line(text)))
    if note:
        grid.add_row("", Text(note, style=_QUIET))
    return grid


def _cell(cell: Document) -> Iterator[RenderableType]:
    yield _title("Where")
    yield _indented(Text(wording.where(cell)))
    shown = excerpt(cell)
    digits = len(str(shown.lines[-1].number)) if shown.lines else 1
    if shown.left_out_above:
        yield _indented(Text(f"  … {shown.left_out_above} lines above", style=_QUIET))
    for line in shown.lines:
        mark, style = ("▶", _CULPRIT_STYLE) if line.culprit else (" ", _CELL_STYLE)
        text = Text(f"{mark} {line.number:>{digits}}  {line.text}", style=style, no_wrap=True, overflow="ellipsis")
        yield _indented(text)
    if shown.left_out_below:
        yield _indented(Text(f"  … {shown.left_out_below} lines below", style=_QUIET))
    if cell.get("truncated"):
        yield _indented(Text("The cell is very long: its middle was not recorded.", style=_QUIET))


def _evidence(doc: Document) -> Iterator[RenderableType]:
    found = doc["causes"][0]["evidence"] if doc["causes"] else []
    if found:
        yield _title("Why we think so")
    for evidence in found:
        yield _item(evidence["text"], wording.source_note(evidence))
    if others := wording.alternatives(doc):
        yield _title("Also considered")
        yield from (_item(sentence) for sentence in others)


def _fixes(doc: Document) -> Iterator[RenderableType]:
    if doc["fixes"]:
        yield _title("What to change")
    for number, fix in enumerate(doc["fixes"], start=1):
        if number > 1:
            yield Text("")
        yield _indented(Text(f"{number}. {wording.one_line(fix['title'])}", style="bold"))
        details = (fix["why"], wording.sizing(fix), f"({wording.APPLICABILITY[fix['applicability']]})")
        yield _indented(Text(" ".join(wording.one_line(detail) for detail in details if detail)), 5)
        for edit in fix["edits"]:
            yield _indented(Text(f"In {cell_name(edit.get('execution_count'))}:", style=_QUIET), 5)
            yield from _code(edit["diff"].splitlines(), diff=True)
        if fix.get("snippet"):
            yield from _code(fix["snippet"].splitlines())


def _code(lines: list[str], *, diff: bool = False) -> Iterator[RenderableType]:
    for line in lines:
        if diff and line.startswith(("---", "+++")):
            continue
        style = _DIFF_STYLES.get(line[:1], "") if diff else ""
        yield _indented(Text(wording.visible(line.expandtabs(4)), style=style), 7)


def _incidents(doc: Document) -> Iterator[RenderableType]:
    if doc.get("incidents"):
        yield _title("Survived before")
    for incident in doc.get("incidents") or []:
        yield _item(incident["title"])
