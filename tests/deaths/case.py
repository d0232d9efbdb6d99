"""The cases: real deaths, hangs and false alarms, as cells that can be run (`cases/*.toml`, `fresh/*.toml`).

Those in `fresh/` were written down before KernelDoctor had seen them; `fresh/first_try.json` keeps what was said first.

| key | meaning |
| --- | --- |
| `name`, `why` | what happens, and why, in a sentence |
| `cells` | the notebook; `%load_ext kerneldoctor` runs before as cell [1], so they count from [2] |
| `ends` | `SIGKILL`, ..., `exit 3`, `lives`, `hangs`, `restarted`, `never starts` |
| `dies_in` | which of the cells is the culprit, from 1; the last one by default, 0: whichever ran |
| `cause` | the accepted answers, the best first |
| `fix` | a regular expression that one of the fixes must match |
| `statement` | the guilty one: its cell, from 1, its first and last line; a list of these where several are right |
| `grown` | a regular expression for the name of the object that memory grew in, among the first three |
| `needs`, `environment` | modules that must be there; another environment where they do not go together with the rest |
| `memory_mb`, `pids`, `oom_killer` | the kernel's control group |
| `rlimits`, `env`, `mounts` | resource limits, environment, small file systems (MiB; `{work}`: the run's directory) |
| `prepare` | Python that runs before, in the directory of the run |
| `compiler`, `machine`, `display` | what else is needed: a C compiler; the processor; an X server (Xvfb is started) |
| `send`, `then` | a signal from outside; what the user does |
| `via`, `interpreter` | `server`: the kernel belongs to a Jupyter server; the kernelspec's interpreter |
| `patience_s` | a cell that takes longer hangs |
| `own` | thought up here; the others are deaths that users reported, rebuilt |
| `quick` | part of `make test` |
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

LISTS = ("cells", "cause", "needs", "statement")
BENIGN = {"ordinary-end", "no-death"}


@dataclass(frozen=True)
class Case:
    """One case; see above."""

    name: str
    category: str
    cells: tuple[str, ...]
    ends: str
    cause: tuple[str, ...]
    why: str = ""
    dies_in: int | None = None
    fix: str | None = None
    statement: tuple[Any, ...] = ()
    grown: str | None = None
    needs: tuple[str, ...] = ()
    environment: str | None = None
    memory_mb: int | None = None
    pids: int | None = None
    oom_killer: bool = True
    rlimits: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    mounts: dict[str, int] = field(default_factory=dict)
    prepare: str = ""
    compiler: bool = False
    machine: str | None = None
    display: bool = False
    send: str | None = None
    then: str | None = None
    via: str | None = None
    interpreter: str | None = None
    patience_s: float = 90.0
    own: bool = False
    quick: bool = False

    @property
    def benign(self) -> bool:
        """Whether there is nothing to tell."""
        return set(self.cause) <= BENIGN

    @property
    def fresh(self) -> bool:
        """Whether it was written down before the engine had seen it."""
        return self.category.startswith("fresh")

    @property
    def culprit(self) -> int | None:
        """The execution count of the cell that must be named; None where it does not matter."""
        if self.benign or self.dies_in == 0 or self.ends in ("lives", "never starts", "restarted"):
            return None
        return 1 + (self.dies_in or len(self.cells))

    @property
    def guilty(self) -> list[tuple[int, int, int]]:
        """The statements that may be named: cell, from 1, first and last line."""
        return [self.statement] if self.statement and isinstance(self.statement[0], int) else list(self.statement)

    def is_statement(self, found: dict[str, Any]) -> bool:
        """Whether a report's statement is the guilty one."""
        return any(
            found.get("execution_count") == 1 + cell and first <= (found.get("line") or 0) <= last
            for cell, first, last in self.guilty
        )


def load() -> list[Case]:
    """All cases. Raises ValueError for a key that does not exist."""
    known = {entry.name for entry in fields(Case)}
    cases = []
    for path in [*sorted((HERE / "cases").glob("*.toml")), *sorted((HERE / "fresh").glob("*.toml"))]:
        for entry in tomllib.loads(path.read_text("utf-8"))["case"]:
            if unknown := set(entry) - known:
                raise ValueError(f"{path.name}: {entry.get('name')} has unknown keys {unknown}")
            lists = {name: tuple(entry[name]) for name in LISTS if name in entry}
            lists["cells"] = tuple(cell.strip("\n") for cell in lists["cells"])
            category = f"fresh {path.stem}" if path.parent.name == "fresh" else path.stem
            cases.append(Case(**{**entry, **lists, "category": category}))
    return cases
