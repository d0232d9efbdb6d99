"""What a fix rule is: three questions about a death, each a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from jupyter_kerneldoctor.diagnosis.registry import Rule

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability, ExpectedPeak

    from ._edits import Replacement
    from ._examples import Example

HEADINGS = ("What it does", "When it is offered", "What it costs", "Example")
"""The headings of every fix's page in the reference."""

F = TypeVar("F")


@dataclass(frozen=True)
class Size:
    """What a fix is worth."""

    explained_bytes: int | None = None
    """How much of the missing memory it accounts for; None for a death that is not about memory."""
    expected_peak: ExpectedPeak | None = None


@dataclass(frozen=True)
class CellEdit:
    """Edits of one executed cell."""

    cell: int
    """Its place in `FixContext.cells`."""
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True)
class Draft:
    """A fix before it was checked."""

    why: str
    edits: tuple[CellEdit, ...] = ()
    snippet: str | None = None
    """Code to copy. A draft whose edits fail their checks is still offered as advice when it has one."""
    instead: str | None = None
    """A snippet that is of use only when the edits fail their checks, or there are none."""
    title: str | None = None
    """In place of the rule's own."""


class FixRule(Rule, Generic[F]):
    """One fix. Its docstring is its reference page; a subclass is found by its module's place in this package.

    `detect` returns what the rule found, in a form of its own, and the other two are asked about that.
    """

    causes: ClassVar[tuple[str, ...]]
    """Ids of the causes it helps against. It is not asked about any other death."""
    applicability: ClassVar[Applicability]
    """How far its edits go. What it proposes without an edit is always advice."""
    examples: ClassVar[tuple[Example, ...]]

    def detect(self, context: FixContext, code: Notebook) -> F | None:
        """Find the pattern in the cells that ran; None where it is absent or the evidence speaks against it."""
        raise NotImplementedError

    def is_cured(self, before: F, after: F | None) -> bool:  # noqa: ARG002 - for those that change a number
        """Whether the edited cells are well, given what was found in them before and after the edit."""
        return after is None

    def size(self, context: FixContext, code: Notebook, found: F) -> Size:  # noqa: ARG002 - for those that can tell
        """Say how much of the missing memory this explains, and what the fixed cell will need."""
        return Size()

    def fix(self, context: FixContext, code: Notebook, found: F) -> Draft:
        """Write the edits, or the advice."""
        raise NotImplementedError
