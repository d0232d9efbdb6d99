"""Tries every edit of every death, below the same limits, and writes down whether the kernel lives (docs/tries.md).

    python -m deaths.tries [NAME ...] [--environments DIR] [--limit-by rlimit] [--write FILE]
    python -m deaths.tries --kept DIR ... [NAME ...]

The first plays the cases before; the second takes recordings that were kept: DIR/NAME/expected.json with the case, and
DIR/NAME/0/data/ with the recordings. `--results FILE` keeps what is done, and goes on from there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_kerneldoctor.diagnosis import diagnose
from jupyter_kerneldoctor.recording.reader import observe, read
from jupyter_kerneldoctor.recording.store import Store
from jupyter_kerneldoctor.trial import CannotTryError, Wishes, make_plan, run
from jupyter_kerneldoctor.trial.run import KINDS

from .accuracy import _environment, _environments
from .case import load
from .conditions import CannotRunHereError
from .play import play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

Row = dict[str, Any]

_NOT_MADE = ("mounts", "pids", "pids_max", "tmpfs", "unshare_shm_mb", "env", "fill", "oom_kill_disable")
"""Conditions of a case that a trial does not set up."""

_WORK = re.compile(r"/tmp/(?:kd-deaths|kerneldoctor-case)-\w+")


def main() -> int:
    """Return 1 when an edit did not help."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--kept", type=Path, nargs="*", default=[], help="take these recordings, and play nothing")
    parser.add_argument("--environments", type=Path, default=Path(".venv-deaths"))
    parser.add_argument("--package", default=".", help="what is installed as KernelDoctor: a wheel or a checkout")
    parser.add_argument("--limit-by", choices=KINDS, help="how memory is limited; by default the first that works")
    parser.add_argument("--seconds", type=float, help="time limit of a trial; on a busy machine more is needed")
    parser.add_argument("--results", type=Path, help="keeps what is done, and goes on from there")
    parser.add_argument("--write", type=Path, help="the file for the table")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what runs is ended, and its traces removed
    rows: list[Row] = (
        json.loads(options.results.read_text("utf-8")) if options.results and options.results.exists() else []
    )
    done = {(row["case"], row["fix"], row["by"]) for row in rows}

    def note(row: Row) -> bool:
        """Keep a result; without one, return whether it is known already."""
        if "text" not in row:
            return (row["case"], row["fix"], row["by"]) in done
        rows.append(row)
        print(f"{row['case']:44} {row['fix']:28} {row['text']}", flush=True)
        if options.results is not None:
            options.results.write_text(json.dumps(rows, indent=1), "utf-8")
        return True

    (_kept if options.kept else _played)(options, note)
    if options.write is not None:
        options.write.write_text(table(rows), "utf-8")
    return int(any(not row["lived"] for row in rows if row["kind"] != "refused"))


def _played(options: argparse.Namespace, note: Callable[[Row], bool]) -> None:
    cases = [case for case in load() if not case.benign and (not options.names or case.name in options.names)]
    pythons = _environments(cases, options)
    for case in cases:
        python = pythons[_environment(case)]

        def after(work: Path, name: str = case.name, python: str = python) -> None:
            store = Store(work / "doctor")
            for recording_id in store.ids()[-1:]:
                _try_all(name, store.open(recording_id), python, work, options, note)

        try:
            play(case, python, after)
        except CannotRunHereError as error:
            print(f"{case.name}: {error}", file=sys.stderr)


def _kept(options: argparse.Namespace, note: Callable[[Row], bool]) -> None:
    for place in sorted(place for directory in options.kept for place in directory.iterdir()):
        if options.names and place.name not in options.names:
            continue
        case = json.loads((place / "expected.json").read_text("utf-8")).get("case") or {}
        setup = case.get("setup") or case
        meta = json.loads((place / "0" / "meta.json").read_text("utf-8"))
        if meta["path"] is None or any(setup.get(name) for name in _NOT_MADE):
            continue
        recording = replace(observe(read(place / "0" / "data" / meta["path"])), **meta["observed"])
        python = options.environments / (setup.get("env_group") or _group(case)) / "bin" / "python"
        with _work(recording, setup.get("prepare") or "", str(python)) as work:
            _try_all(place.name, recording, str(python), work, options, note)


def _group(case: dict[str, Any]) -> str:
    known = {"torch": "torch", "tensorflow": "tf"}
    return case.get("environment") or next((known[one] for one in case.get("needs") or () if one in known), "own-base")


class _work:  # noqa: N801 - a context manager
    """The directory that a kept case ran in, by its old name, with what had been prepared there."""

    def __init__(self, recording: Recording, prepare: str, python: str) -> None:
        text = "\n".join(cell.source for cell in recording.cells)
        self.path = Path(next(iter(_WORK.findall(text)), "/tmp/kerneldoctor-tries"))
        self._shared = Path("/dev/shm") / self.path.name
        names = {"{work}": str(self.path), "{shm_work}": str(self._shared)}
        for name, value in names.items():
            prepare = prepare.replace(name, value)
        self._prepare, self._python = prepare, python

    def __enter__(self) -> Path:
        self.path.mkdir()
        if self._prepare:
            subprocess.run([self._python, "-c", self._prepare], cwd=self.path, check=True, capture_output=True)
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self._shared, ignore_errors=True)


def _try_all(  # noqa: PLR0917
    name: str, recording: Recording, python: str, work: Path, options: argparse.Namespace, note: Callable[[Row], bool]
) -> None:
    post_mortem = diagnose(recording).to_json()
    kinds = KINDS if options.limit_by is None else (options.limit_by,)
    for fix in (one for one in (*post_mortem["fixes"], *post_mortem["more_fixes"]) if one["edits"]):
        row = {"case": name, "fix": fix["id"], "by": kinds[0]}
        if note(row):
            continue
        try:
            plan = make_plan(recording, post_mortem, Wishes(fix["id"], python, here=True, patience_s=options.seconds))
            outcome = run(replace(plan, directory=work), kinds=kinds)
        except CannotTryError as error:
            note({**row, "kind": "refused", "lived": False, "text": f"{error} {error.help}"})
            continue
        note({**outcome.to_json(), **row})


def table(rows: list[Row]) -> str:
    """Return the page with one line for each edit."""
    kinds = Counter(row["kind"] if row["lived"] else "not" for row in rows)
    by = Counter(_BY[row["by"]] for row in rows if row["lived"])
    how = ", ".join(f"{count} below {name}" for name, count in by.items())
    return "\n".join(
        [
            "# Which edits live",
            "",
            "Measured by `python -m deaths.tries`, which lets real kernels die, and runs the same cells with each edit",
            "again, by what `jupyter kerneldoctor try` does: a kernel of its own, the recorded limits, the recorder.",
            "",
            f"Of {len(rows)} trials {len(rows) - kinds['not']} lived, {how}:",
            f"{kinds['lived']} ran to their end, {kinds['raised']} raised the exception that the fix's title names,",
            f"and {kinds['still running']} were still at work, below the limit, when their time was over.",
            "",
            "| death | fix | limited by | outcome |",
            "| --- | --- | --- | --- |",
            *(f"| {row['case']} | `{row['fix']}` | {_BY[row['by']]} | {_cell(row['text'])} |" for row in _sorted(rows)),
            "",
        ]
    )


_BY = {"cgroup": "a control group", "systemd": "a systemd scope", "rlimit": "RLIMIT_DATA"}


def _sorted(rows: list[Row]) -> Iterator[Row]:
    yield from sorted(rows, key=lambda row: (not row["lived"], row["by"], row["case"]))


def _cell(text: str) -> str:
    return _WORK.sub("...", text).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
