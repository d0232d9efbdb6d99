"""Makes the edits of a fix in a case's cells, and plays the case again: does the kernel live now?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.trial.outcome import names_error

from .play import play

if TYPE_CHECKING:
    from .case import Case


@dataclass(frozen=True)
class Tried:
    """One fix, tried."""

    fix: str
    ended: str
    """As in `Case.ends`; `hangs`: it was still at work when the patience ended."""
    error: str | None
    meant: bool
    """Whether the fix says in its title that this exception comes in place of the death."""

    @property
    def lives(self) -> bool:
        return self.ended in ("lives", "hangs") and (self.error is None or self.meant)

    def __str__(self) -> str:
        raised = f", raised {self.error}" if self.error else ""
        return f"{self.fix}: {'still at work' if self.ended == 'hangs' else self.ended}{raised}"


def try_edits(case: Case, fixes: list[dict[str, Any]], python: str) -> list[Tried]:
    """Play a case once for each of these fixes that is an edit. Raises CannotRunHereError."""
    tried = []
    for fix in fixes:
        if fix["edits"] and case.ends != "hangs":
            played = play(replace(case, cells=_edited(case, fix["edits"])), python)
            tried.append(Tried(fix["id"], played.ended, played.error, names_error(fix["title"], played.error)))
    return tried


def _edited(case: Case, edits: list[dict[str, Any]]) -> tuple[str, ...]:
    cells = list(case.cells)
    for edit in edits:
        number = edit["execution_count"] - 2  # cell [1] loads the extension
        if cells[number] != edit["old_source"]:
            raise ValueError(f"{case.name}: the edit is for another cell [{edit['execution_count']}]")
        cells[number] = edit["new_source"]
    return tuple(cells)
