"""What a cause is: one class in one file of `causes/`."""

from collections.abc import Iterable
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from jupyter_kerneldoctor.recording.events import Incident
from jupyter_kerneldoctor.recording.model import Recording

from .certainty import Certainty
from .conflicts import settled
from .death import Death
from .family import Family
from .postmortem import CauseFinding, Evidence, Reason
from .registry import Rule
from .texts import evidence as texts
from .texts import exclusions
from .units import quote, size

__all__ = [
    "Cause",
    "CauseFinding",
    "Certainty",
    "Death",
    "Evidence",
    "Family",
    "Incident",
    "Reason",
    "Recordings",
    "WorkerEnd",
    "quote",
    "size",
]
"""What every cause needs, in one import."""

Recordings: TypeAlias = Iterable[Recording]
"""The examples of a cause."""


class WorkerEnd(NamedTuple):
    """How a cause ends a worker process, while the kernel lives on."""

    signal: str
    certainty: Certainty
    what: str
    """What the worker did, for a sentence: "aborted"."""
    title: str = "A worker process crashed"


class Cause(Rule):
    """A reason why a kernel ends. Its docstring is its page in the reference, its examples are tests."""

    headings = ("What it means", "How it is recognised", "What to do", "Example")
    family: ClassVar[Family]
    general: ClassVar[bool] = False
    """It only says in which way the kernel ended: a cause that says why comes first."""
    last_words: ClassVar[tuple[str, ...]] = ()
    """Regular expressions for lines with which a process gives up for this cause."""
    warnings: ClassVar[tuple[str, ...]] = ()
    """The same for lines after which the process goes on, and may crash of what they warn of."""
    incidents: ClassVar[frozenset[str]] = frozenset()
    """The kinds of incidents (`recording.events.Incident.kind`) that it may explain."""
    worker_end: ClassVar[WorkerEnd | None] = None
    """How it ends a worker process, where that alone explains the incident of a lost one."""

    def judge(self, death: Death) -> CauseFinding | None:  # noqa: ARG002 - for those that can
        """Say whether this cause fits, how sure that is, and why; None when it does not."""
        return None

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002 - for those that can
        """Say the same of an incident that the kernel survived, of one of the kinds in `incidents`.

        `death` is the kernel as that incident shows it: its cell, its line, the process and machine at that moment. By
        default this explains a lost worker process with `worker_end`.
        """
        worker, end = death.lost_worker, self.worker_end
        if worker is None or end is None or worker.signal != end.signal:
            return None
        told = f"A worker process {end.what} {death.where()}; the kernel lived on."
        return self.finding(death, end.certainty, told, worker.evidence(), title=end.title)

    def finding(
        self,
        death: Death,
        certainty: Certainty,
        headline: str,
        evidence: Iterable[Evidence] = (),
        *,
        ruled_out: Iterable[str | None] = (),
        line: int | Literal["running"] | None = "running",
        summary: str | None = None,
        title: str | None = None,
        family: Family | None = None,
        general: bool | None = None,
        not_known: str | None = None,
        usual_reasons: tuple[Reason, ...] = (),
    ) -> CauseFinding:
        """Return what this cause says of a death or an incident.

        To its own evidence, strongest first, come the last words that name it (in front) and what every answer shows:
        the crash report, the exit status, the cell that ran; and what can be ruled out with certainty. To that of an
        incident nothing is added. `certainty` is what this evidence makes of it; what speaks against it (`conflicts`)
        lowers that. `line` is the line it points at: by default the one that was being executed. `title`, `family` and
        `general` are by default those of the class. A general cause says what is not known, and what it usually is.
        """
        family, general = family or self.family, self.general if general is None else general
        if death.incident is None:
            evidence = (*texts.last_words(death, self.id), *evidence, *texts.standard(death, family))
            ruled_out = (*ruled_out, *exclusions.standard(death, family))
        return CauseFinding(
            self.id,
            title or self.title,
            settled(death, certainty, family, general=general),
            headline,
            evidence=tuple(dict.fromkeys(evidence)),
            ruled_out=exclusions.known(*ruled_out),
            line=death.line if line == "running" else line,
            summary=summary,
            general=general,
            not_known=not_known if general else None,
            usual_reasons=usual_reasons if general else (),
            family=family,
        )

    def fires_on(self) -> Recordings:
        """Recordings for which this is the answer."""
        raise NotImplementedError

    def silent_on(self) -> Recordings:
        """Recordings that look like it, for which it is not the answer."""
        raise NotImplementedError
