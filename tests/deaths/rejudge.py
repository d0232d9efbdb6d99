"""Judges kept recordings by the present rules, and says what that changes: in seconds, where a play takes an hour.

    python -m deaths.accuracy --results DIR --recordings DIR    plays the cases, and keeps both
    python -m deaths.rejudge --results DIR --recordings DIR [NAME ...] [--update]

`--update` keeps what is said now in place of what was said before. A case with other edits than those that were tried
is then forgotten: the next `deaths.accuracy` plays it again.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from difflib import ndiff
from pathlib import Path
from typing import TYPE_CHECKING

from .accuracy import said
from .case import load
from .recordings import Recordings
from .result import Kept, Result

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> int:
    """Return 1 when something that was right is not any more."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--results", type=Path, required=True, help="what was said before")
    parser.add_argument("--recordings", type=Path, required=True, help="the recordings it was said of")
    parser.add_argument("--update", action="store_true", help="keep what is said now")
    options = parser.parse_args()
    kept, pairs, untried = Kept(options.results), list[tuple[Result, Result]](), list[str]()
    for case in load():
        before = kept.result(case) if not options.names or case.name in options.names else None
        after = None if before is None else rejudged(before, Recordings(options.recordings / case.name))
        if before is None or after is None:
            continue
        pairs.append((before, after))
        for line in differences(before, after):
            print(line)
        if len(after.tried) < len(offered(after)) and case.ends != "hangs":
            untried.append(case.name)
        if options.update:
            kept.drop(case) if case.name in untried else kept.add(after)
    print(f"{len(pairs)} cases judged again.", f"Edits to be tried: {', '.join(untried)}." if untried else "")
    for key in pairs[0][0].verdict if pairs else ():
        was, now = (_right(key, results) for results in zip(*pairs, strict=True))
        print(f"{key:10} {now}" + (f", before {was}" if was != now else ""))
    return int(any(a is True and b.verdict[key] is False for one, b in pairs for key, a in one.verdict.items()))


def rejudged(before: Result, recordings: Recordings) -> Result | None:
    """Return what the present rules say of a case; None where its recordings were not kept."""
    reports = recordings.reports()
    if before.played is None or not reports or len(reports) != len(before.played.reports):
        return None
    after = Result(before.case, replace(before.played, reports=reports))
    outcomes = {edits: tried for (_, edits), tried in zip(offered(before), before.tried, strict=False)}
    after.tried = [replace(outcomes[edits], fix=fix) for fix, edits in offered(after) if edits in outcomes]
    return after


def offered(result: Result) -> list[tuple[str, str]]:
    """Return the ids of the fixes that are edits, with what they make of the cells, as one text."""
    edits = [
        (fix["id"], [(edit["execution_count"], edit["new_source"]) for edit in fix["edits"]]) for fix in result.fixes
    ]
    return [(fix, json.dumps(sources)) for fix, sources in edits if sources]


def differences(before: Result, after: Result) -> Iterator[str]:
    """Yield what is said of a case now and was not before, as lines of a diff; nothing where all is the same."""
    changed = [line for line in ndiff(_answer(before), _answer(after)) if line.startswith(("-", "+"))]
    if changed:
        worse = [key for key, right in after.verdict.items() if right is False and before.verdict[key] is not False]
        better = [key for key, right in after.verdict.items() if right and before.verdict[key] is False]
        words = [f"now WRONG: {', '.join(worse)}"] * bool(worse) + [f"now right: {', '.join(better)}"] * bool(better)
        yield " ".join([after.case.name, *words])
        yield from (f"  {line}" for line in changed)


def _answer(result: Result) -> list[str]:
    """Return what people see of an answer first, in lines."""
    told = {**{key: result.report.get(key) for key in ("state", "cause", "certainty")}, **said(result.report)}
    fixes = told.pop("fixes")
    diffs = [line for fix in result.fixes for edit in fix["edits"] for line in edit["diff"].splitlines()]
    return [*(f"{key}: {value}" for key, value in told.items()), *fixes, *(f"  {line}" for line in diffs)]


def _right(key: str, results: tuple[Result, ...]) -> str:
    asked = [one.verdict[key] for one in results if one.verdict[key] is not None]
    return f"{sum(map(bool, asked))} of {len(asked)}"


if __name__ == "__main__":
    sys.exit(main())
