"""An example of a fix: cells that ran, how the last one died, and what the fix answers. Tests and pages use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal

from jupyter_kerneldoctor.recording.events import ChildState, Frame, Held, NamedObject, ThreadStack

from .causes import all_causes, examine
from .certainty import Certainty
from .death import Death
from .examples import MIB, Group, recording
from .examples.stuck import look
from .family import Family
from .postmortem import CauseFinding

_SAMPLES = 20
_SIGNALS = {
    **dict.fromkeys(("disk-full", "file-truncated", "shm-exhausted"), "SIGBUS"),
    "abort": "SIGABRT",
    "cpu-time-limit": "SIGXCPU",
}
"""What ends a kernel by such a cause; SIGSEGV and SIGKILL are usual."""


@dataclass(frozen=True)
class Ran:
    """A cell that ran to its end before the one that died, with what was measured."""

    source: str
    before_mib: int | None = None
    peak_mib: int | None = None
    after_mib: int | None = None
    error: str | None = None


class Case:
    """The cells of a notebook in the order in which they ran; the last was running at the death.

    Where memory ran out, it grows from `before_mib` to the limit meanwhile, evenly or in one jump.
    """

    def __init__(
        self,
        *cells: str | Ran,
        becomes: str | Mapping[int, str] | Mapping[str, str] = {},
        says: Sequence[str] = (),
        cause: str | None = None,
        growth: Literal["ramp", "jump"] = "ramp",
        before_mib: int = 200,
        limit_mib: int = 2000,
        line: int | None = None,
        crash: str = "",
        children_mib: int = 0,
        grew: NamedObject | None = None,
        **recorded: Any,
    ) -> None:
        """Take the cells, and what the fix makes of them.

        Parameters
        ----------
        cells
            Their text, or with `Ran` what was measured of them as well.
        becomes
            The new text of the last cell; or of cells by their number; or what stands in the place of which texts, each
            of which occurs once in all cells. Nothing: the fix is silent, or only advice.
        says
            What must stand in the title, the reason or the snippet.
        cause
            The id of the likeliest cause; by default the first that the fix names, or a container's memory limit. A
            kernel that is stuck lives; others are ended by the signal that is usual.
        line
            The line of the last cell at which it died, where that is known.
        children_mib
            How much of the limit four child processes held at the end.
        grew
            What was seen to grow in the last cell.
        recorded
            What else was recorded, as `examples.recording` takes it: `output="Killed"`, `signal="SIGBUS"`.
        """
        self.sources = tuple(one.source if isinstance(one, Ran) else one for one in cells)
        self.changed = {len(cells): becomes} if isinstance(becomes, str) else _changed(self.sources, becomes)
        self.says, self.limit_mib, self.line = says, limit_mib, line
        self.cause, self._names_its_cause = cause or "oom-cgroup", cause is not None
        self.cells, self._growth, self._before_mib = cells, growth, before_mib
        seen = {} if grew is None else {"held": [Held(-0.5, len(cells), (grew,))]}
        self._recorded, self._children_mib = {"crash": crash, **seen, **recorded}, children_mib

    def belongs_to(self, causes: Sequence[str]) -> None:
        """Let it die of the first of its fix's causes, where it names none itself and that is no family."""
        if not self._names_its_cause and causes[0] not in list(Family):
            self.cause = causes[0]

    def with_sources(self, *sources: str) -> Case:
        """Return the same case with other text in its cells."""
        other = copy(self)
        other.sources = sources
        other.cells = tuple(
            replace(cell, source=source) if isinstance(cell, Ran) else source
            for cell, source in zip(self.cells, sources, strict=True)
        )
        return other

    def saying(self, *more: str) -> Case:
        """Return the same case, of which the answer must hold these texts, too."""
        other = copy(self)
        other.says = (*self.says, *more)
        return other

    def death(self) -> Death:
        """Return the death, judged."""
        family = {one.id: one.family for one in all_causes()}[self.cause]
        low, high = self._before_mib, self.limit_mib if family == Family.MEMORY else self._before_mib
        high -= self._children_mib
        steps = [step / _SAMPLES for step in range(_SAMPLES + 1)]
        shares = steps if self._growth == "ramp" else [*(0.0 for _ in steps), 1.0]
        usual: dict[str, Any] = {
            "memory": [int((low + (high - low) * share) * MIB) for share in shares],
            "groups": [Group(self.limit_mib * MIB)],
        }
        if family == Family.STUCK:
            usual["alive"] = True
        elif not self._recorded.keys() & {"exit_code", "alive"}:
            usual["signal"] = _SIGNALS.get(self.cause, "SIGSEGV" if family == Family.NATIVE_CRASH else "SIGKILL")
        made = recording(*self.sources, **{**usual, **self._recorded})
        cause = CauseFinding(self.cause, self.cause, Certainty.PROVEN, "It died.", line=self.line, family=family)
        cells = [
            replace(
                cell,
                rss_before_bytes=None if ran.before_mib is None else ran.before_mib * MIB,
                peak_bytes=None if ran.peak_mib is None else ran.peak_mib * MIB,
                rss_after_bytes=cell.rss_after_bytes if ran.after_mib is None else ran.after_mib * MIB,
                error=ran.error,
            )
            if isinstance(ran, Ran)
            else cell
            for cell, ran in zip(made.cells, self.cells, strict=True)
        ]
        held = self._children_mib * MIB
        samples = [
            one._replace(tree_bytes=(one.rss_bytes or 0) + int(held * share), children=4) if held else one
            for one, share in zip(made.samples, shares, strict=False)
        ]
        return examine(replace(made, cells=tuple(cells), samples=tuple(samples))).judged((cause,))


def stuck(
    *cells: str,
    inner: Sequence[Frame] = (),
    waits_in: str | None = "futex_wait_queue",
    line: int | None = None,
    threads: Sequence[ThreadStack] = (),
    processes: Sequence[ChildState] = (),
    **case: Any,
) -> Case:
    """Return the case of a kernel that waits in the last line of its last cell, or in another, within these functions.

    `waits_in` is the function of the Linux kernel, by default that of a lock; all else is as `Case` takes it.
    """
    line = line or cells[-1].count("\n") + 1
    seen = look(cells[-1], line, *inner, waits_in=waits_in, threads=threads, children=processes)
    return Case(*cells, line=line, stuck=[seen], **case)


def _changed(sources: Sequence[str], becomes: Mapping[int, str] | Mapping[str, str]) -> dict[int, str]:
    """Return the new text of cells by their number."""
    changed = dict[int, str]()
    for key, new in becomes.items():
        if isinstance(key, int):
            changed[key] = new
        else:
            (at,) = (number for number, source in enumerate(sources, 1) for _ in range(source.count(key)))
            changed[at] = changed.get(at, sources[at - 1]).replace(key, new)
    return changed
