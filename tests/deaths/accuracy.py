"""`make deaths`: plays all cases and writes down how often the post-mortem was right (docs/accuracy.md).

    python -m deaths.accuracy [NAME ...] [--environments DIR] [--results DIR] [--recordings DIR]
                              [--write FILE] [--jobs N]

An environment holds the libraries of the cases; what is missing is installed into it. `--results` keeps what was said
of each case, NAME.json: a later run plays only the others, and judges all by the cases as they are written then.
`--recordings` keeps what it was said of, for `deaths.rejudge`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .case import load
from .conditions import CannotRunHereError
from .edited import try_edits
from .play import play
from .recordings import Recordings
from .result import Kept, Result, is_good
from .tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .case import Case

PACKAGES = {
    "sklearn": "scikit-learn",
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "skimage": "scikit-image",
    "intel_openmp": "intel-openmp",
    "tensorflow": "tensorflow-cpu",
}
PINS = {"abi": {"pyarrow": "pyarrow==15.0.1", "numpy": "numpy==2.0.2"}, "gui": {"cv2": "opencv-python"}}
"""In this order: pyarrow 15 was built for NumPy 1, and opencv-python brings a Qt of its own, which ends the case."""


def main() -> int:
    """Return 1 when an answer is wrong that was given with a confidence of 0.9 or more, or too many are wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--environments", type=Path, default=Path(".venv-deaths"))
    parser.add_argument("--package", default=".", help="what is installed as KernelDoctor: a wheel or a checkout")
    parser.add_argument("--results", type=Path, help="keeps what was said, and goes on from there")
    parser.add_argument("--recordings", type=Path, help="keeps the recordings, so that other rules can judge them")
    parser.add_argument("--write", type=Path, help="the file for the tables")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = [case for case in load() if not options.names or case.name in options.names]
    kept = Kept(options.results)
    pythons = _environments([case for case in cases if kept.result(case) is None], options)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: _result(case, pythons, kept, options.recordings), cases))
    first_tries = _note_first_tries(results)
    text = tables(results, first_tries)
    print(text)
    if options.write is not None:
        options.write.write_text(text, "utf-8")
    return 0 if is_good(results) else 1


def _result(case: Case, pythons: dict[str, str], kept: Kept, recordings: Path | None) -> Result:
    result = kept.result(case)
    if result is None:
        own = None if recordings is None else Recordings(recordings / case.name)
        result = _run(case, pythons[_environment(case)], own)
        kept.add(result)
    return result


def _run(case: Case, python: str, recordings: Recordings | None) -> Result:
    result = Result(case)
    try:
        result.played = play(case, python, recordings=recordings)
        result.tried = try_edits(case, result.fixes, python)
    except CannotRunHereError as error:
        result.problem = str(error)
    except Exception as error:
        result.problem = f"{type(error).__name__}: {error}"
    report = result.report
    verdict = "right" if result.right else "not run" if result.played is None else "WRONG"
    ended = "" if result.played is None or result.as_expected else f", ended: {result.played.ended}"
    cell = ", WRONG CELL" if result.cell_right is False else ""
    cell += ", WRONG STATEMENT" if result.statement_right is False else ""
    cell += ", OBJECT NOT NAMED" if result.grown_right is False else ""
    fix = ", NO FIX" if result.fix_right is False else ""
    fix += "".join(f", WRONG FIX {tried}" for tried in result.wrong_fixes)
    said = f"{report.get('cause')}, {report.get('certainty')}{cell}{fix}{ended} {result.problem}"
    print(f"{verdict:8} {case.name:44} {said}\n         {report.get('headline')}", file=sys.stderr, flush=True)
    return result


# -- first tries -----------------------------------------------------------------------------------------------------

FIRST_TRIES = Path(__file__).parent / "fresh" / "first_try.json"


def _note_first_tries(results: list[Result]) -> dict[str, Any]:
    """Keep what was said of fresh cases that were never played before; return what is kept of all."""
    kept: dict[str, Any] = json.loads(FIRST_TRIES.read_text("utf-8")) if FIRST_TRIES.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    for result in results:
        if result.case.fresh and result.as_expected and result.case.name not in kept:
            kept[result.case.name] = {"commit": commit.stdout.strip(), **result.verdict, "said": said(result.report)}
    FIRST_TRIES.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")
    return kept


def said(report: dict[str, Any]) -> dict[str, Any]:
    """Return what people read first of a report."""
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
    for module in sorted(set(modules) - have, key=lambda one: ([*pins].index(one) if one in pins else -1, one)):
        subprocess.run([*pip, pins.get(module, PACKAGES.get(module, module))], check=True)
        have.add(module)
        noted.write_text(json.dumps(sorted(have)))
    subprocess.run([*pip, package], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", package], check=True)
    return str(python)


if __name__ == "__main__":
    sys.exit(main())
