"""What a report says, and in which order, for the formats that show all of it: HTML and Markdown."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from jupyter_kerneldoctor.diagnosis.units import cell_name

from . import wording
from .next_steps import next_steps

Document = dict[str, Any]


class Outline(ABC):
    """A subclass knows how its format writes a paragraph, a list, code. Texts are given as they are recorded."""

    @abstractmethod
    def heading(self, text: str) -> str: ...

    @abstractmethod
    def paragraph(self, text: str, note: str = "") -> str:
        """Return a paragraph, with a note in parentheses behind it."""

    @abstractmethod
    def quiet(self, text: str) -> str:
        """Return a paragraph that may be passed over."""

    @abstractmethod
    def bold(self, text: str) -> str: ...

    @abstractmethod
    def bullets(self, items: Iterable[tuple[str, str]]) -> str:
        """Return a list of texts, each with a note or ""."""

    @abstractmethod
    def folded(self, summary: str, blocks: Iterable[str]) -> str: ...

    @abstractmethod
    def excerpt(self, cell: Document) -> str: ...

    @abstractmethod
    def code(self, text: str) -> str: ...

    @abstractmethod
    def diff(self, text: str) -> str: ...

    @abstractmethod
    def chart(self, doc: Document) -> str:
        """Return the memory over time; "" where there is too little to draw."""

    def body(self, doc: Document) -> Iterator[str]:
        """Yield all that stands below the headline and the end."""
        if cell := wording.shown_cell(doc):
            yield from self._place(doc, cell)
        if doc.get("story"):
            yield self.paragraph(doc["story"])
        if wording.is_about_memory(doc) and (chart := self.chart(doc)):
            yield chart
        if again := wording.recurrence(doc):
            yield self.paragraph(again)
        yield from self._fixes(doc)
        yield from self._evidence(doc)
        yield from self._titled_list("What is not known", wording.not_known(doc))
        yield from self._titled_list("Survived before", wording.survived(doc))
        yield from self._titled_list("What to do now", next_steps(doc))

    def _titled_list(self, title: str, sentences: list[str]) -> Iterator[str]:
        if sentences:
            yield self.heading(title)
            yield self.bullets((sentence, "") for sentence in sentences)

    def _place(self, doc: Document, cell: Document) -> Iterator[str]:
        yield self.heading(f"Where: {wording.place(cell)}")
        yield self.excerpt(cell)
        cut = "The cell is very long: only its start and end were recorded." if cell.get("truncated") else None
        for said in (wording.called_from(doc), cut, wording.why_no_line(doc)):
            if said:
                yield self.quiet(said)

    def _evidence(self, doc: Document) -> Iterator[str]:
        facts = [(fact["text"], wording.source_note(fact)) for fact in wording.evidence(doc)]
        shown, more = facts[: wording.SHOWN_EVIDENCE], facts[wording.SHOWN_EVIDENCE :]
        shown += [(sentence, "") for sentence in wording.less_likely(doc)]
        more += [(sentence, "") for sentence in doc.get("ruled_out") or []]
        if shown:
            yield self.heading("Why we think so")
            yield self.bullets(shown)
        if count := wording.folded_count(doc):
            yield self.folded(count, [self.bullets(more)])

    def _fixes(self, doc: Document) -> Iterator[str]:
        """Yield the first fix open, the others folded below their titles."""
        left_out = doc.get("fixes_left_out")
        if doc["fixes"] or left_out:
            yield self.heading("What to change")
        if left_out:
            yield self.paragraph(left_out)
        for number, fix in enumerate(doc["fixes"], start=1):
            title = f"{number}. {fix['title']}"
            if number == 1:
                yield self.bold(title)
                yield from self._fix(fix)
            else:
                yield self.folded(title, self._fix(fix))
        if more := wording.more_fixes(doc):
            yield self.quiet(more)

    def _fix(self, fix: Document) -> Iterator[str]:
        said = " ".join(filter(None, (fix["why"], wording.expected_peak(fix))))
        yield self.paragraph(said, wording.APPLICABILITY[fix["applicability"]])
        for edit in fix["edits"]:
            yield self.quiet(f"In {cell_name(edit.get('execution_count'))}:")
            yield self.diff(edit["diff"])
        if fix.get("snippet"):
            yield self.code(fix["snippet"])
