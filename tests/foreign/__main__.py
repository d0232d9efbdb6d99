"""The test suites of the programs that kernels are made of, with KernelDoctor in every kernel and without it.

    PYTHONPATH=tests python -m foreign [--work DIRECTORY] [--only ipykernel ...]

The sources are fetched from the package index into the work directory, which is kept and used again. A test whose
result differs is run again by itself, three times each way: what then fails with KernelDoctor only is a fault of ours.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[2]

SUITES = {
    "ipykernel": ("ipykernel==7.4.0", ["tests"]),
    "jupyter_client": ("jupyter_client==8.10.0", ["tests"]),
    "nbclient": ("nbclient==0.11.0", ["tests"]),
    "jupyter_server": ("jupyter_server==2.21.1", ["tests/services/kernels", "tests/services/sessions"]),
}
"""The version, and which of its tests start kernels."""

_AGAIN = 3
_LONGEST_TEST_S = 120
_LOADED = "c.IPKernelApp.extensions = ['kerneldoctor']\nc.InteractiveShellApp.extensions = ['kerneldoctor']\n"


class Run(NamedTuple):
    """The results of a suite by test: passed, failed, error, skipped."""

    results: dict[str, str]
    recordings: int

    def count(self, *kinds: str) -> int:
        """Return how many tests had one of these results."""
        return sum(result in kinds for result in self.results.values())


class Workplace:
    """A virtual environment with the suites' needs, whose kernels may load KernelDoctor."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.python = directory / "env" / "bin" / "python"
        self._config = directory / "env" / "etc" / "ipython" / "ipython_kernel_config.py"

    def prepare(self) -> None:
        """Make the environment, and fetch the sources."""
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.directory / "env"], check=True)
            needs = [version.replace("==", "[test]==") for version, _ in SUITES.values()]
            self._pip("install", "--quiet", "psutil", "pytest-timeout", *needs)
        (packages,) = (self.directory / "env").glob("lib/python*/site-packages")
        (packages / "kerneldoctor-tree.pth").write_text(f"{ROOT}\n")
        for name, (version, _) in SUITES.items():
            if not self.source(name).exists():
                self._pip("download", "--quiet", "--no-deps", "--no-binary", name, "-d", self.directory, version)
                with tarfile.open(self.directory / f"{version.replace('==', '-')}.tar.gz") as archive:
                    archive.extractall(self.directory, filter="data")

    def source(self, name: str) -> Path:
        """Return the directory of a suite's source."""
        return self.directory / SUITES[name][0].replace("==", "-")

    def run(self, name: str, *, loaded: bool, only: str | None = None) -> Run:
        """Run a suite, or one test of it."""
        self._config.parent.mkdir(parents=True, exist_ok=True)
        self._config.write_text(_LOADED if loaded else "")
        with tempfile.TemporaryDirectory(dir=self.directory) as place:
            report, data = Path(place) / "report.xml", Path(place) / "doctor"
            options = ["-q", "-p", "no:cacheprovider", f"--timeout={_LONGEST_TEST_S}", f"--junitxml={report}"]
            options += ["-o", "asyncio_default_fixture_loop_scope=function"]  # else a warning, which the suites forbid
            tests = [only] if only else SUITES[name][1]
            environment = {key: value for key, value in os.environ.items() if not key.startswith(("JPY_", "PYTEST_"))}
            environment.pop("PYTHONPATH", None)
            environment["PATH"] = f"{self.python.parent}{os.pathsep}{environment['PATH']}"
            with (self.directory / f"{name}-{'with' if loaded else 'without'}.log").open("ab") as log:
                subprocess.run(
                    [self.python, "-m", "pytest", *options, *tests],
                    cwd=self.source(name),
                    env={**environment, "KERNELDOCTOR_DATA_DIR": str(data)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    check=False,
                )
            if not report.exists():
                raise SystemExit(f"The tests of {name} did not run: see {log.name}")
            recordings = len(list((data / "recordings").iterdir())) if data.exists() else 0
            return Run(_results(report), recordings)

    def _pip(self, *words: str | Path) -> None:
        subprocess.run([self.python, "-m", "pip", "--disable-pip-version-check", *words], check=True)


def _results(report: Path) -> dict[str, str]:
    found = {}
    for test in ET.parse(report).iter("testcase"):
        place = (test.get("classname") or "").split(".")
        name = "::".join([_node(place), test.get("name") or ""])
        kinds = [part.tag for part in test if part.tag in ("failure", "error", "skipped")]
        found[name] = kinds[0] if kinds else "passed"
    return found


def _node(place: list[str]) -> str:
    """Return the file and the class of a test, as pytest wants them, from their names in the report."""
    module = [word for word in place if not word[:1].isupper()]
    return "::".join(["/".join(module) + ".py", *place[len(module) :]])


def main() -> int:
    """Run the suites; return 1 if KernelDoctor changed a result."""
    parser = argparse.ArgumentParser(prog="foreign", description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "kerneldoctor-foreign")
    parser.add_argument("--only", nargs="+", choices=[*SUITES], default=[*SUITES])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    place = Workplace(options.work)
    place.prepare()
    rows, differing, changed = [], [], False
    for name in options.only:
        without, loaded = (place.run(name, loaded=loaded) for loaded in (False, True))
        for test in sorted({*without.results, *loaded.results}):
            results = without.results.get(test), loaded.results.get(test)
            if results[0] == results[1]:
                continue
            again = {
                is_loaded: sum(place.run(name, loaded=is_loaded, only=test).count("passed") for _ in range(_AGAIN))
                for is_loaded in (False, True)
            }
            changed = changed or again[True] < again[False]
            differing.append(f"| {name} | `{test}` | {results[0]} | {results[1]} | {again[False]} | {again[True]} |")
        counts = [f"{run.count('passed')} / {run.count('failure', 'error')}" for run in (without, loaded)]
        skipped = loaded.count("skipped")
        rows.append(f"| {SUITES[name][0]} | {counts[0]} | {counts[1]} | {skipped} | {loaded.recordings} |")
        print(rows[-1], *differing, sep="\n", flush=True)
    print("\n| suite | without: passed / failed | with | skipped | kernels recorded |\n| --- | --- | --- | --- | --- |")
    print(*rows, sep="\n")
    if differing:
        print(
            "\n| suite | differs | without | with | passed of 3 without | with |\n| --- | --- | --- | --- | --- | --- |"
        )
        print(*differing, sep="\n")
    return int(changed)


if __name__ == "__main__":
    sys.exit(main())
