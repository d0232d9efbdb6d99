"""`python -m versions.suite [3.13 ...]`: the unit tests, and some real deaths and stacks, on each Python.

"3.14t" is 3.14 without the GIL. uv finds it where its directory of commands is in PATH.
"""

from __future__ import annotations

import subprocess
import sys

from versions.environments import PYTHONS, ROOT, NotToBeHadError, environment

TESTS = [
    "tests/unit",
    *(f"tests/integration/test_{name}.py" for name in ("ends", "line", "memory_deaths", "held", "namespace")),
    "tests/integration/server/test_whole_chain.py",
]


def main(pythons: list[str]) -> int:
    outcomes = {}
    for python in pythons:
        print(f"== Python {python}", flush=True)
        try:
            commands = environment(python, python, ".[demo,test]")
        except NotToBeHadError as error:
            outcomes[python] = f"not tested: {error}"
            continue
        tests = subprocess.run([commands / "python", "-m", "pytest", "-q", "-n", "2", *TESTS], cwd=ROOT, check=False)
        outcomes[python] = "failed" if tests.returncode else "passed"
    for python, outcome in outcomes.items():
        print(f"Python {python}: {outcome}")
    return int("failed" in outcomes.values() or "passed" not in outcomes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [*PYTHONS, "3.14t"]))
