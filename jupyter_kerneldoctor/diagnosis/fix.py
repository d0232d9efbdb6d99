"""What a fix is: one class in one file of `fixes/`, with its cases above its code.

class SvdFullMatrices(SetArgument):
    \"\"\"Its page in the reference.\"\"\"

    id, title, causes = "svd-full-matrices", "Ask the SVD only for the columns you need", (Family.MEMORY,)
    FIRES = [Case("import numpy as np", "np.linalg.svd(X)", becomes="np.linalg.svd(X, full_matrices=False)")]
    SILENT = [Case("svd = print", "svd(X)")]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from .edits import set_argument, unified_diff
from .registry import Rule
from .units import cell_name, quote, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .case import Case
    from .code.notebook import Call
    from .death import Death
    from .edits import Changes
    from .postmortem import ExpectedPeak

HEADINGS = ("What it does", "When it is offered", "What it costs")
"""The headings of every fix's page in the reference. The example below them is the first case in which it fires."""


@dataclass(frozen=True)
class Proposal:
    """A fix for this user's cells, or a part of one. Without edits it is advice."""

    edits: Changes = ()
    why: str = ""
    """Whole sentences, with the user's own names and numbers."""
    explains: int | None = None
    """How many of the missing bytes it accounts for; None for a death that is not about memory."""
    title: str | None = None
    """In place of the fix's own."""
    snippet: str | None = None
    """Code to copy, with the user's names. Where the edits fail their checks, it is offered alone, as advice."""
    peak: ExpectedPeak | None = None
    """What the fixed cell will need, where runs of the cell tell."""
    applicability: Literal["safe", "suggested"] = "suggested"
    """`safe`: the edits surely change nothing but the memory. Without edits it is always advice."""


class Fix(Rule):
    """One fix. Its docstring is its page in the reference, its cases are its tests."""

    causes: ClassVar[tuple[str, ...]]
    """Causes, or families of causes, that it helps against. It is not asked about any other death."""
    FIRES: ClassVar[Sequence[Case]]
    """Notebooks in which it has something to say."""
    SILENT: ClassVar[Sequence[Case]]
    """Notebooks that look like it, in which it says nothing."""

    def propose(self, death: Death) -> Iterable[Proposal]:
        """Yield what to change. All that is yielded is one fix: the edits are made together, the words are the first's.

        It may raise whatever it likes: a fix that fails is left out.
        """
        raise NotImplementedError

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - for those that change a number
        """Whether the edited cells are well: by default, when this fix has nothing to say about them any more."""
        return not any(True for _ in self.propose(after))

    @classmethod
    def example(cls) -> str:
        """Return the first case in which it fires as Markdown."""
        case = cls.FIRES[0]
        changed = case.changed
        diffs = [
            unified_diff(source, changed[at], cell_name(at))
            for at, source in enumerate(case.sources, 1)
            if at in changed
        ]
        kind, text = ("diff", "".join(diffs)) if diffs else ("python", case.sources[-1] + "\n")
        return f"```{kind}\n{text}```"


class SetArgument(Fix):
    """A fix that is only data: a call gets an argument that it was not given."""

    functions: ClassVar[tuple[str, ...]]
    """Their full names, `numpy.linalg.svd`."""
    argument: ClassVar[str]
    position: ClassVar[int | None] = None
    """Where it may be given without its name, from 0."""
    value: ClassVar[str]
    why: ClassVar[str]
    """What the call does without it, as a sentence that follows the call: "computes all columns of U."."""

    def propose(self, death: Death) -> Iterator[Proposal]:
        """Propose it for the calls that may have been running when memory ran out."""
        for call in death.code.running.calls(*self.functions):
            places = (self.argument,) if self.position is None else (self.argument, self.position)
            at_it = death.memory.grew_here and death.code.is_at_line(call.node, call.scope)
            if at_it and call.is_written_out and call.argument(*places) is None and (saved := self.saves(call, death)):
                edits = set_argument(call, self.argument, self.value)
                worth = "" if saved == death.memory.missing_bytes else f" That saves {size(saved)}."
                yield Proposal(edits, f"{quote(call.text)} {self.why}{worth}", explains=saved)

    def saves(self, call: Call, death: Death) -> int | None:  # noqa: ARG002 - for those that can tell
        """Return how many bytes it saves: all that was missing, where that is not known; None or 0 when nothing."""
        return death.memory.missing_bytes
