"""docs/accuracy.md: the tables that `make deaths` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import calibration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .result import Result


def tables(results: list[Result], first_tries: dict[str, Any]) -> str:
    """Return docs/accuracy.md; `first_tries` as in fresh/first_try.json."""
    run = [result for result in results if result.played is not None]
    lines = [
        "# How often the diagnosis is right",
        "",
        "Measured by `make deaths`, which plays the cases in `tests/deaths/cases/` with real kernels: deaths that",
        "users reported, rebuilt, others thought up here, and what looks like trouble and is none. A case counts as",
        "right when the first cause is one of those that its file accepts. A fix counts when one of the first three is",
        "accepted by the file; an edit, when the cells run to their end with it. What is not played, and why:",
        "[notes](accuracy_notes.md).",
        "",
        "| category | cases | cause | cell | statement | object | fix | first edit lives | ended as meant |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    categories = list(dict.fromkeys(result.case.category for result in run))
    for category in [*categories, None]:
        chosen = [result for result in run if category in (None, result.case.category)]
        name = "**all**" if category is None else category
        lines.append(
            f"| {name} | {len(chosen)} | {_count(r.right for r in chosen)} | {_count(r.cell_right for r in chosen)} "
            f"| {_count(r.statement_right for r in chosen)} | {_count(r.grown_right for r in chosen)} "
            f"| {_count(r.fix_right for r in chosen)} | {_count(r.edit_right for r in chosen)} "
            f"| {_count(r.as_expected for r in chosen)} |"
        )
    lines += ["", "## First tries", "", *first_try_table(results, first_tries)]
    lines += ["", "## Edits", "", *_edits(run)]
    lines += ["", "## Calibration", "", *calibration.table(_answers(run))]
    own = [result for result in run if result.case.own]
    lines += ["", f"Of the {len(own)} cases thought up here, {_count(r.right for r in own)} are right."]
    lines += ["", "## Known failures", ""]
    failures = [result for result in results if not result.right or result.cell_right is False]
    lines += [_failure(result) for result in failures] or ["None."]
    return "\n".join([*lines, ""])


def _answers(run: list[Result]) -> list[calibration.Answer]:
    """Return what was said of the cases of which there is a report."""
    said = [(result, result.report) for result in run if result.report.get("cause") is not None]
    return [calibration.Answer(report["certainty"], report["general"], result.right) for result, report in said]


def _edits(run: list[Result]) -> list[str]:
    """Return how the edits among the first three fixes did when they were made and the cells were run again."""
    tried = [one for result in run for one in result.tried]
    lived = sum(one.lives for one in tried)
    wrong = [f"* `{result.case.name}`: {one}." for result in run for one in result.wrong_fixes]
    return [f"{len(tried)} edits were made and played; {lived} kernels lived. Wrong fixes: {len(wrong)}.", *wrong]


COLUMNS = ("cause", "cell", "statement", "object", "fix", "edit")


def first_try_table(results: list[Result], first_tries: dict[str, Any]) -> list[str]:
    """Return what was said of fresh cases when they were first played, beside what is said of those played today."""
    played = {result.case.name: result.verdict for result in results if result.case.name in first_tries}
    rows = [("at first", [*first_tries.values()])]
    if played:
        rows += (
            [("of these, at first", [first_tries[name] for name in played])] if len(played) < len(first_tries) else []
        )
        rows.append(("today", [*played.values()]))
    for commit in sorted({one["commit"] for one in first_tries.values()}):
        rows.append((f"first played at {commit}", [one for one in first_tries.values() if one["commit"] == commit]))
    lines = [
        "The cases in `tests/deaths/fresh/` were written down, with what ought to be said, before they were played.",
        "None is a near-copy of another case (`tests/deaths/test_cases.py`).",
        "",
        f"| | cases | {' | '.join(COLUMNS)} |",
        "| --- |" + " --- |" * (1 + len(COLUMNS)),
    ]
    for name, verdicts in rows:
        counts = [_count(one.get(column) for one in verdicts) for column in COLUMNS]
        lines.append(f"| {name} | {len(verdicts)} | {' | '.join(counts)} |")
    lines.append("")
    for name, then in sorted(first_tries.items()):
        if wrong := [column for column in COLUMNS if then.get(column) is False]:
            cured = [column for column in wrong if played.get(name, {}).get(column)]
            lines.append(
                f"* `{name}` (at {then['commit']}): wrong at first: {', '.join(wrong)}"
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
    said = f"`{report.get('cause')}`, {report.get('certainty')}"
    where = "" if result.cell_right is not False else ", and another cell is named"
    return f"* `{result.case.name}`: {wanted} is right; said was {said}{where}. {result.case.why}".rstrip()
