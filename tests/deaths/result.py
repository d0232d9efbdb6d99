"""What was said of a case, judged."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .edited import Tried
from .play import Played

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .case import Case

SURE = 0.9


@dataclass
class Result:
    """One case, played and judged."""

    case: Case
    played: Played | None = None
    tried: list[Tried] = field(default_factory=list)
    """Those of the first three fixes that are edits, played."""
    problem: str = ""

    @property
    def report(self) -> dict[str, Any]:
        return self.played.best(self.case) if self.played else {}

    @property
    def right(self) -> bool:
        return self.report.get("cause") in self.case.cause

    @property
    def cell_right(self) -> bool | None:
        if self.case.culprit is None:
            return None
        return (self.report.get("cell") or {}).get("execution_count") == self.case.culprit

    @property
    def fix_right(self) -> bool | None:
        if self.case.fix is None:
            return None
        return any(re.search(self.case.fix, _text(fix), re.IGNORECASE) for fix in self.fixes)

    @property
    def fixes(self) -> list[dict[str, Any]]:
        """The first three."""
        return (self.report.get("fixes") or [])[:3]

    @property
    def edit_right(self) -> bool | None:
        """Whether the kernel lives with the first edit that is offered; None: there is none."""
        return self.tried[0].lives if self.tried else None

    @property
    def wrong_fixes(self) -> list[Tried]:
        return [tried for tried in self.tried if not tried.lives]

    @property
    def statement_right(self) -> bool | None:
        return self.case.is_statement(self.report.get("statement") or {}) if self.case.statement else None

    @property
    def grown_right(self) -> bool | None:
        if self.case.grown is None:
            return None
        return any(re.search(self.case.grown, one["name"]) for one in (self.report.get("grown") or [])[:3])

    @property
    def verdict(self) -> dict[str, bool | None]:
        """What of the answer was right; None: not asked for."""
        return {
            "cause": self.right,
            "cell": self.cell_right,
            "statement": self.statement_right,
            "object": self.grown_right,
            "fix": self.fix_right,
            "edit": self.edit_right,
        }

    @property
    def as_expected(self) -> bool:
        return self.played is not None and self.played.ended in (self.case.ends, "gone")


@dataclass(frozen=True)
class Kept:
    """The results of cases that were played, in a directory; None: nothing is kept."""

    directory: Path | None

    def add(self, result: Result) -> None:
        if self.directory is not None and result.played is not None and not result.problem:
            self.directory.mkdir(parents=True, exist_ok=True)
            document = {"played": asdict(result.played), "tried": [asdict(one) for one in result.tried]}
            (self.directory / f"{result.case.name}.json").write_text(json.dumps(document, indent=1), "utf-8")

    def drop(self, case: Case) -> None:
        """Forget a case, so that it is played again."""
        if self.directory is not None:
            (self.directory / f"{case.name}.json").unlink(missing_ok=True)

    def result(self, case: Case) -> Result | None:
        """Return what is kept of a case; None: it has to be played."""
        path = self.directory / f"{case.name}.json" if self.directory is not None else None
        if path is None or not path.exists():
            return None
        document = json.loads(path.read_text("utf-8"))
        return Result(case, Played(**document["played"]), [Tried(**one) for one in document["tried"]])


def is_good(results: list[Result]) -> bool:
    """Whether nothing said for sure is wrong, nothing harmless is an alarm, and 95 % of the causes are right."""
    run = [result for result in results if result.played is not None]
    sure_and_wrong = [result for result in run if not result.right and result.report.get("confidence", 0) >= SURE]
    alarms = [result for result in run if result.case.benign and not result.right]
    return not sure_and_wrong and not alarms and share(result.right for result in run) >= 0.95


def share(values: Iterable[bool | None]) -> float:
    """Return how many of these are true, of those that are not None; 1 when all are."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 1.0


def _text(fix: dict[str, Any]) -> str:
    """Return what a fix says: its id, title and the lines that it adds."""
    added = [line for edit in fix["edits"] for line in edit["diff"].split("\n") if line.startswith("+")]
    return "\n".join([fix["id"], fix["title"], fix.get("snippet") or "", *added])
