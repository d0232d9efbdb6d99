"""What a fix is: one class in one file of `fixes/`, with its cases above its code.

class SvdFullMatrices(SetArgument):
    \"\"\"Its page in the reference.\"\"\"

    id, title, causes = "svd-full-matrices", "Ask the SVD only for the columns you need", (Family.MEMORY,)
    FIRES = [Case("import numpy as np", "np.linalg.svd(X)", becomes="np.linalg.svd(X, full_matrices=False)")]
    SILENT = [Case("svd = print", "svd(X)")]

Fixes that are only data: SetArgument gives a call an argument, CallAnother calls another function, and Advice
says what to do where no edit can.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from .calls import calls_at
from .case import Case, stuck
from .changes import Changes, EditRefusedError, unified_diff
from .code.notebook import Call
from .code.scopes import Scope
from .death import Death
from .edits import import_as, replace, set_argument
from .facts import Facts, UnknownFactError
from .family import Family
from .postmortem import ExpectedPeak
from .registry import Rule
from .units import cell_name, quote, size

__all__ = [
    "OUT_OF_MEMORY",
    "Advice",
    "Call",
    "CallAnother",
    "Case",
    "Death",
    "Family",
    "Fix",
    "Proposal",
    "Proposals",
    "Scope",
    "SetArgument",
    "quote",
    "size",
    "stuck",
]
"""What every fix needs, in one import."""

OUT_OF_MEMORY = (Family.MEMORY, "gpu-oom")
"""Of the machine, a container or a process, or of a graphics card."""


@dataclass(frozen=True)
class Proposal:
    """A fix for this user's cells, or a part of one. Without edits it is advice."""

    edits: Changes = ()
    why: str = ""
    """Whole sentences, each with a full stop, and the user's own names and numbers."""
    explains: int | None = None
    """How many of the missing bytes it accounts for; None for a death that is not about memory."""
    title: str | None = None
    """In place of the fix's own."""
    snippet: str | None = None
    """Code to copy, with the user's names, also beside edits."""
    instead: str | None = None
    """Code to copy where the edits fail their checks, and only there: it says the same. The fix is then advice."""
    peak: ExpectedPeak | None = None
    """What the fixed cell will need, where runs of the cell tell."""
    applicability: Literal["safe", "suggested"] = "suggested"
    """`safe`: the edits surely change nothing but the memory. Without edits it is always advice."""
    leaves: int | None = None
    """How many bytes the edited code still takes, where that is known: where they do not fit, the edit is advice."""


Proposals: TypeAlias = Iterator[Proposal]
"""What `propose` yields."""


class Fix(Rule):
    """One fix. Its docstring is its page in the reference, its cases are its tests."""

    headings = ("What it does", "When it is offered", "What it costs")
    causes: ClassVar[tuple[str, ...]]
    """Causes, or families of causes, that it helps against. It is not asked about any other death."""
    FIRES: ClassVar[Sequence[Case]]
    """Notebooks in which it has something to say."""
    SILENT: ClassVar[Sequence[Case]]
    """Notebooks that look like it, in which it says nothing."""
    general: ClassVar[bool] = False
    """It helps in any death of its causes, and comes after those that know what is special about this one."""
    last_resort: ClassVar[bool] = False
    """It says nothing of this code: it is left out where a fix that does explains as much."""
    broad: ClassVar[bool] = False
    """It knows many calls, and little of each: it comes after others that explain as much."""
    unless_offered: ClassVar[frozenset[str]] = frozenset()
    """The ids of fixes that know better: where one of them explains as much, this one is left out."""

    words_stay: ClassVar[bool] = False
    """What it says remains true when its edits are made: the cells are well when there is nothing more to edit."""
    edits_cure: ClassVar[bool] = False
    """Its edits are all that it asks for, though it would have something to say about them, too: a smaller number."""

    def __init_subclass__(cls) -> None:
        for case in (*getattr(cls, "FIRES", ()), *getattr(cls, "SILENT", ())):
            case.belongs_to(cls.causes)

    def propose(self, death: Death) -> Iterable[Proposal]:
        """Yield what to change. All that is yielded is one fix: the edits are made together, the words are the first's.

        It may raise whatever it likes: a fix that fails is left out.
        """
        raise NotImplementedError

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - for those that change a number
        """Whether the edited cells are well: by default, when this fix has nothing to say about them any more."""
        return self.edits_cure or not any(one.edits or not self.words_stay for one in self.propose(after))

    @classmethod
    def example(cls) -> str:
        """Return the first case in which it fires as Markdown: what it changes, or the cell and what it says."""
        case = cls.FIRES[0]
        changed = case.changed
        diffs = [
            unified_diff(source, changed[at], cell_name(at))
            for at, source in enumerate(case.sources, 1)
            if at in changed
        ]
        if diffs:
            return f"```diff\n{''.join(diffs)}```"
        said = next(iter(cls().propose(case.death())))
        snippet = f"\n\n```python\n{said.snippet}\n```" if said.snippet else ""
        cell = "".join(f"```python\n{source}\n```\n\n" for source in case.sources[-1:])
        return f"{cell}> {said.why}{snippet}"


class _OfCalls(Fix):
    """What the fixes share that are only data: which calls they are about, and why."""

    functions: ClassVar[tuple[str, ...]]
    """Their full names, `numpy.linalg.svd`; `torch.optim.*` stands for all that begins so."""
    why: ClassVar[str]
    """What is wrong with the call, as a sentence that follows it: "computes all columns of U."."""

    def propose(self, death: Death) -> Proposals:
        """Propose it for the calls that may have been running at the death."""
        for call in self.calls(death):
            if not call.is_written_out or not (saved := self.saves(call, death)):
                continue
            if changes := self.change(call, death):
                told = death.is_about_memory and saved != death.memory.missing_bytes
                worth = f" That saves {size(saved)}." if told else ""
                explains = saved if death.is_about_memory else None
                yield Proposal(changes, f"{quote(call.text)} {self.why}{worth}", explains)

    def calls(self, death: Death) -> Iterator[Call]:
        """Yield the calls that it is about: those of `functions` that may have been running at the death."""
        return calls_at(death, *self.functions)

    def change(self, call: Call, death: Death) -> Changes:
        """Return the edit of a call; none where it is right as it is."""
        raise NotImplementedError

    def saves(self, call: Call, death: Death) -> int | None:  # noqa: ARG002 - for those that can tell
        """Return how many bytes it saves: all that was missing, where that is not known; None or 0 when nothing.

        For a death that is not about memory, anything but None and 0 says that it helps.
        """
        return death.memory.missing_bytes if death.is_about_memory else 1


class SetArgument(_OfCalls):
    """A fix that is only data: a call gets an argument that it was not given."""

    argument: ClassVar[str]
    position: ClassVar[int | None] = None
    """Where it may be given without its name, from 0."""
    value: ClassVar[str]

    def change(self, call: Call, death: Death) -> Changes:  # noqa: ARG002 - as in the base
        """Give the call its argument, where it has none."""
        places = (self.argument,) if self.position is None else (self.argument, self.position)
        return () if call.argument(*places) is not None else set_argument(call, self.argument, self.value)


class CallAnother(_OfCalls):
    """A fix that is only data: another function is called."""

    becomes: ClassVar[str]
    """The new call: `{module}.float32({0})`.

    `{0}` and `{name}` are the call's arguments as they are written, `{arguments}` all of them, `{function}` what is
    called and `{module}` what stands before its last dot, `{imported}` the module that `imports` names. Where one of
    them is missing, nothing is proposed.
    """
    imports: ClassVar[tuple[str, str] | None] = None
    """A module that the new call needs, and its usual name: `("matplotlib.pyplot", "plt")`."""

    def change(self, call: Call, death: Death) -> Changes:
        """Put the new call in the place of the old."""
        name, imported = import_as(call.scope, death.code, *self.imports) if self.imports is not None else ("", ())
        segment = call.scope.segment
        function = segment(call.node.func)
        words = {word.arg: segment(word.value) for word in call.node.keywords if word.arg is not None}
        given = [segment(one) for one in call.node.args]
        known = {
            **words,
            "function": function,
            "module": function.rpartition(".")[0],
            "arguments": ", ".join([*given, *(f"{word}={value}" for word, value in words.items())]),
            "imported": name,
        }
        try:
            return imported + replace(call.scope, call.node, self.becomes.format(*given, **known))
        except (KeyError, IndexError) as error:
            raise EditRefusedError(f"{call.text} has no {error}") from error


class Advice(Fix):
    """A fix that is only words, for what no edit can do: texts with names in braces, which `facts.Facts` knows.

    `why = "{call} uses all of {cores} cores."`; a name that is not known for this death keeps the fix silent. Braces
    that are meant are doubled.
    """

    functions: ClassVar[tuple[str, ...]] = ()
    """Only where one of these may have been running; `{call}` is the first of them."""
    share: ClassVar[float | None] = None
    """How much of the missing memory it saves, 0 to 1, whoever took that."""
    library: ClassVar[str] = ""
    """Only where a cell imports it."""
    unless: ClassVar[tuple[str, ...]] = ()
    """Not where one of these texts stands in a cell: the advice was taken already."""
    headline: ClassVar[str] = ""
    """In place of the title, with names in braces, too."""
    why: ClassVar[str]
    """Whole sentences."""
    snippet: ClassVar[str] = ""
    """What to copy: code for a cell, or a command with `!` or `%pip`."""

    def propose(self, death: Death) -> Proposals:
        """Fill in what is known of this death."""
        code = death.code
        if (self.library and not code.imports(self.library)) or code.has_text(*self.unless):
            return
        call = next(calls_at(death, *self.functions), None) if self.functions else None
        if (self.functions and call is None) or (more := self.facts(death)) is None:
            return
        names, texts = Facts(death, call, more), (self.headline, self.why, self.snippet)
        saved = self.saves(death) if death.is_about_memory else None
        if death.is_about_memory and not saved:
            return
        try:
            title, why, snippet = (text.format_map(names) for text in texts)
        except UnknownFactError:
            return
        yield Proposal((), why, saved, title or None, snippet or None)

    def facts(self, death: Death) -> Mapping[str, str] | None:  # noqa: ARG002 - for those that have any
        """Return what more names stand for; None where it has nothing to say."""
        return {}

    def saves(self, death: Death) -> int | None:
        """Return how many bytes it saves: its share, or else all that was missing, where the cell itself took that."""
        if self.share is not None:
            return round((death.memory.missing_bytes or 0) * self.share)
        return death.wanted_bytes if death.is_of_this_cell else None
