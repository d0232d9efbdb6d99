"""A post-mortem as Markdown, to paste into an issue or a chat."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import plural

from . import textchart, wording
from .excerpt import excerpt
from .html import escaped as as_html
from .outline import Outline
from .printable import one_line, visible
from .told_incident import explained_cause

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
    yield f"Cause: `{explained_cause(doc)}` · {name}recording `{doc['recording']}`\n"
    yield from _Markdown().body(doc)


class _Markdown(Outline):
    def heading(self, text: str) -> str:
        return f"#### {escaped(text)}\n"

    def paragraph(self, text: str, note: str = "") -> str:
        return f"{escaped(text)}{f' ({note})' if note else ''}\n"

    def quiet(self, text: str) -> str:
        return self.paragraph(text)

    def bold(self, text: str) -> str:
        return f"**{escaped(text)}**\n"

    def bullets(self, items: Iterable[tuple[str, str]]) -> str:
        return "".join(f"* {escaped(text)}{f' ({escaped(note)})' if note else ''}\n" for text, note in items)

    def folded(self, summary: str, blocks: Iterable[str]) -> str:
        return "\n".join([f"<details><summary>{as_html(summary)}</summary>\n", *blocks, "</details>\n"])

    def excerpt(self, cell: Document) -> str:
        shown = excerpt(cell)
        above = [f"# … {plural(shown.left_out_above, 'line')} above"] if shown.left_out_above else []
        below = [f"# … {plural(shown.left_out_below, 'line')} below"] if shown.left_out_below else []
        lines = [f"{line.text}  # <-- here" if line.culprit else line.text for line in shown.lines]
        return fenced("\n".join([*above, *lines, *below]), "python")

    def code(self, text: str) -> str:
        return fenced(text.rstrip("\n"), "python")

    def diff(self, text: str) -> str:
        return fenced(text.rstrip("\n"), "diff")

    def chart(self, doc: Document) -> str:
        lines = textchart.chart(doc, 78)
        return fenced("\n".join(lines), "text") if lines else ""
