"""`make deaths`: plays all cases and writes down how often the post-mortem was right (docs/accuracy.md).

    python -m deaths.accuracy [NAME ...] [--environments DIR] [--write FILE] [--jobs N]

An environment holds the libraries of the cases; what is missing is installed into it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .case import load
from .conditions import CannotRunHereError
from .play import Played, play

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .case import Case

PACKAGES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "intel_openmp": "intel-openmp",
    "tensorflow": "tensorflow-cpu",
}
PINS = {"abi": {"pyarrow": "pyarrow==15.0.1", "numpy": "numpy==2.0.2"}}
"""pyarrow 15 was built for NumPy 1 and is the case's very subject."""

LEVELS = (0.9, 0.7, 0.5, 0.0)


@dataclass
class Result:
    """One case, played and judged."""

    case: Case
    played: Played | None
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
        fixes = self.report.get("fixes") or []
        return any(re.search(self.case.fix, _text(fix), re.IGNORECASE) for fix in fixes[:3])

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
        }

    @property
    def as_expected(self) -> bool:
        return self.played is not None and self.played.ended in (self.case.ends, "gone")


def main() -> int:
    """Return 1 when an answer is wrong that was given with a confidence of 0.9 or more, or too many are wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--environments", type=Path, default=Path(".venv-deaths"))
    parser.add_argument("--package", default=".", help="what is installed as KernelDoctor: a wheel or a checkout")
    parser.add_argument("--write", type=Path, help="the file for the tables")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = [case for case in load() if not options.names or case.name in options.names]
    pythons = _environments(cases, options)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: _run(case, pythons[_environment(case)]), cases))
    first_tries = _note_first_tries(results)
    text = _tables(results, first_tries)
    print(text)
    if options.write is not None:
        options.write.write_text(text, "utf-8")
    return 0 if _is_good(results) else 1


def _run(case: Case, python: str) -> Result:
    try:
        result = Result(case, play(case, python))
    except CannotRunHereError as error:
        result = Result(case, None, str(error))
    except Exception as error:
        result = Result(case, None, f"{type(error).__name__}: {error}")
    report = result.report
    verdict = "right" if result.right else "not run" if result.played is None else "WRONG"
    ended = "" if result.played is None or result.as_expected else f", ended: {result.played.ended}"
    cell = ", WRONG CELL" if result.cell_right is False else ""
    cell += ", WRONG STATEMENT" if result.statement_right is False else ""
    cell += ", OBJECT NOT NAMED" if result.grown_right is False else ""
    fix = ", NO FIX" if result.fix_right is False else ""
    said = f"{report.get('cause')} {report.get('confidence')}{cell}{fix}{ended} {result.problem}"
    print(f"{verdict:8} {case.name:44} {said}\n         {report.get('headline')}", file=sys.stderr, flush=True)
    return result


def _text(fix: dict[str, Any]) -> str:
    """Return what a fix says: its id, title and the lines that it adds."""
    added = [line for edit in fix["edits"] for line in edit["diff"].split("\n") if line.startswith("+")]
    return "\n".join([fix["id"], fix["title"], fix.get("snippet") or "", *added])


# -- first tries -----------------------------------------------------------------------------------------------------

FIRST_TRIES = Path(__file__).parent / "fresh" / "first_try.json"


def _note_first_tries(results: list[Result]) -> dict[str, Any]:
    """Keep what was said of fresh cases that were never played before; return what is kept of all."""
    kept: dict[str, Any] = json.loads(FIRST_TRIES.read_text("utf-8")) if FIRST_TRIES.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    for result in results:
        if result.case.fresh and result.as_expected and result.case.name not in kept:
            kept[result.case.name] = {"commit": commit.stdout.strip(), **result.verdict, "said": _said(result.report)}
    FIRST_TRIES.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")
    return kept


def _said(report: dict[str, Any]) -> dict[str, Any]:
    statement = report.get("statement") or {}
    return {
        "headline": report.get("headline"),
        "statement": [statement.get(key) for key in ("execution_count", "line", "source")],
        "grown": [one["name"] for one in (report.get("grown") or [])[:3]],
        "fixes": [f"{fix['id']}: {fix['title']}" for fix in (report.get("fixes") or [])[:3]],
    }


# -- environments ----------------------------------------------------------------------------------------------------


def _environment(case: Case) -> str:
    if case.environment:
        return case.environment
    return next((name for name in ("torch", "tensorflow") if name in case.needs), "base")


def _environments(cases: list[Case], options: argparse.Namespace) -> dict[str, str]:
    """One environment for what goes together; return the interpreter of each."""
    needs: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        needs[_environment(case)] |= set(case.needs)
    pythons = {}
    with tempfile.TemporaryDirectory() as directory:
        package = options.package
        if Path(package).is_dir():
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, package]
            subprocess.run(pip, check=True)
            package = str(next(Path(directory).glob("*.whl")))
        for name, modules in needs.items():
            pythons[name] = _make(options.environments.absolute() / name, modules, package, PINS.get(name, {}))
    return pythons


def _make(directory: Path, modules: Iterable[str], package: str, pins: dict[str, str]) -> str:
    python = directory / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    noted = directory / "modules.json"
    have = set(json.loads(noted.read_text())) if noted.exists() else set()
    for module in sorted(set(modules) - have):
        subprocess.run([*pip, pins.get(module, PACKAGES.get(module, module))], check=True)
        have.add(module)
        noted.write_text(json.dumps(sorted(have)))
    subprocess.run([*pip, package], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", package], check=True)
    return str(python)


# -- tables ----------------------------------------------------------------------------------------------------------


def _is_good(results: list[Result]) -> bool:
    run = [result for result in results if result.played is not None]
    sure_and_wrong = [result for result in run if not result.right and result.report.get("confidence", 0) >= LEVELS[0]]
    alarms = [result for result in run if result.case.benign and not result.right]
    return not sure_and_wrong and not alarms and _share(result.right for result in run) >= 0.95


def _share(values: Iterable[bool | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 1.0


def _tables(results: list[Result], first_tries: dict[str, Any]) -> str:
    run = [result for result in results if result.played is not None]
    lines = [
        "# How often the diagnosis is right",
        "",
        "Measured by `make deaths`, which plays the cases in `tests/deaths/cases/` with real kernels: deaths that",
        "users reported, rebuilt, others thought up here, and what looks like trouble and is none. A case counts as",
        "right when the first cause is one of those that its file accepts.",
        "",
        "| category | cases | cause | cell | statement | object | fix found | ended as without KernelDoctor |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    categories = list(dict.fromkeys(result.case.category for result in run))
    for category in [*categories, None]:
        chosen = [result for result in run if category in (None, result.case.category)]
        name = "**all**" if category is None else category
        lines.append(
            f"| {name} | {len(chosen)} | {_count(r.right for r in chosen)} | {_count(r.cell_right for r in chosen)} "
            f"| {_count(r.statement_right for r in chosen)} | {_count(r.grown_right for r in chosen)} "
            f"| {_count(r.fix_right for r in chosen)} | {_count(r.as_expected for r in chosen)} |"
        )
    lines += ["", "## First tries", "", *_first_tries(results, first_tries)]
    lines += ["", "## Calibration", "", "| confidence | answers | right |", "| --- | --- | --- |"]
    above = 1.01
    for level in LEVELS:
        band = [result for result in run if level <= result.report.get("confidence", 0.0) < above]
        lines.append(f"| {level} and more | {len(band)} | {_count(r.right for r in band)} |")
        above = level
    own = [result for result in run if result.case.own]
    lines += ["", f"Of the {len(own)} cases thought up here, {_count(r.right for r in own)} are right."]
    lines += ["", "## Known failures", ""]
    failures = [result for result in results if not result.right or result.cell_right is False]
    lines += [_failure(result) for result in failures] or ["None."]
    return "\n".join([*lines, ""])


def _first_tries(results: list[Result], first_tries: dict[str, Any]) -> list[str]:
    """Return what was said of fresh cases when they were first played, beside what is said today."""
    fresh = [result for result in results if result.case.name in first_tries]
    if not fresh:
        return ["None were played."]
    lines = [
        "The cases in `tests/deaths/fresh/` were written down, with what ought to be said, before they were played.",
        "",
        "| | " + " | ".join(fresh[0].verdict) + " |",
        "| --- |" + " --- |" * len(fresh[0].verdict),
    ]
    first = {name: _count(first_tries[one.case.name][name] for one in fresh) for name in fresh[0].verdict}
    today = {name: _count(one.verdict[name] for one in fresh) for name in fresh[0].verdict}
    lines += [f"| at first | {' | '.join(first.values())} |", f"| today | {' | '.join(today.values())} |", ""]
    for one in fresh:
        then = first_tries[one.case.name]
        wrong = [name for name in one.verdict if then[name] is False]
        if wrong:
            cured = [name for name in wrong if one.verdict[name]]
            lines.append(
                f"* `{one.case.name}` (at {then['commit']}): wrong at first: {', '.join(wrong)}"
                f"{'; right today: ' + ', '.join(cured) if cured else ''}. Said at first: {then['said']['headline']}"
            )
    return lines


def _count(values: Iterable[bool | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known)} of {len(known)}" if known else "-"


def _failure(result: Result) -> str:
    if result.played is None:
        return f"* `{result.case.name}` was not run: {result.problem.rstrip('.')}."
    report = result.report
    wanted = " or ".join(f"`{cause}`" for cause in result.case.cause)
    said = f"`{report.get('cause')}` at {report.get('confidence')}"
    where = "" if result.cell_right is not False else ", and another cell is named"
    return f"* `{result.case.name}`: {wanted} is right; said was {said}{where}. {result.case.why}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
