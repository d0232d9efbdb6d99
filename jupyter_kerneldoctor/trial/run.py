"""Runs a plan: a second kernel below the same limits, with the recorder attached, and nothing left of it afterwards."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..diagnosis import diagnose
from ..diagnosis.units import size
from ..recording.layout import ROOT_VARIABLE
from ..recording.model import Recording
from ..recording.store import Store
from .directory import copy
from .kernel import CellRun, OwnKernel
from .memory_limit import Limit, NoMemoryLimitError, lower_limit, memory_limit
from .outcome import Kind, Outcome
from .plan import CannotTryError, Plan, PlannedCell
from .workspace import end_processes, workspace

KINDS = ("cgroup", "systemd", "rlimit")
_READY_S = 60.0
_MEMORY_INCIDENTS = ("memory-error", "no-memory-for-process")

# Our own modules, whatever the kernel's environment has, and nothing else of ours.
_LOAD = """
import importlib.util as _u, sys as _s
for _n, _f in {modules!r}.items() if 'kerneldoctor' not in _s.modules else ():
    _p = _u.spec_from_file_location(_n, _f)
    _s.modules[_n] = _u.module_from_spec(_p)
    _p.loader.exec_module(_s.modules[_n])
get_ipython().run_line_magic('load_ext', 'kerneldoctor')
del _u, _s
"""


@dataclass(frozen=True)
class Told:
    """How far a trial is."""

    what: Literal["started", "cell", "cell over"]
    """`started`: the kernel is ready; `cell`: one begins; `cell over`: it ended, or the kernel did."""
    limited_by: str = ""
    number: int = 0
    """Which of the planned cells, from 1."""
    cell: PlannedCell | None = None
    run: CellRun | None = None
    took_s: float = 0.0
    memory_bytes: int | None = None


def run(
    plan: Plan,
    tell: Callable[[Told], None] | None = None,
    stop: threading.Event | None = None,
    kinds: Sequence[str] = KINDS,
) -> Outcome:
    """Run the cells to their end, to the time limit, or until `stop` is set; `kinds` are those of `memory_limit`.

    All that it started and wrote is gone when it returns or raises, but for what the cells themselves did outside of
    their directory. Raises CannotTryError.
    """
    with ExitStack() as stack:
        work = stack.enter_context(workspace())
        directory = copy(plan.directory, work / "copy") if plan.copies else plan.directory
        limit = _limited(plan, stack, kinds)
        # Without the user's history: these cells did not run in a notebook.
        launch = [plan.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        kernel = OwnKernel(limit.command([*launch, "--HistoryManager.hist_file=:memory:"]), work)
        stack.callback(end_processes, work)
        stack.callback(kernel.close)
        return _Trial(plan, kernel, limit, tell or _ignore, stop or threading.Event()).play(work, directory)


def _ignore(told: Told) -> None:
    """Who waits for the outcome alone."""


@dataclass
class _Trial:
    plan: Plan
    kernel: OwnKernel
    limit: Limit
    tell: Callable[[Told], None]
    stop: threading.Event
    peak_bytes: int = 0
    deadline: float = 0.0
    cell_began: float = 0.0

    def play(self, work: Path, directory: Path) -> Outcome:
        if (problem := self._start(work, directory)) is not None:
            return Outcome("not started", self.plan, self.limit.kind, message=problem)
        self.tell(Told("started", self._limited_by))
        began = time.monotonic()
        self.deadline = began + self.plan.patience_s
        kind, number, ran = self._run_cells()
        outcome = Outcome(
            kind,
            self.plan,
            self._limited_by,
            took_s=time.monotonic() - began,
            error=ran.error,
            message=_line(ran.message),
        )
        if kind != "lived":
            outcome = replace(outcome, execution_count=self.plan.cells[number - 1].execution_count)
        if kind == "still running" and self.plan.failed_in is not None:
            ran_s = time.monotonic() - self.cell_began
            got_past = (number, ran_s) > (self.plan.failed_in, self.plan.failed_after_s)
            outcome = replace(outcome, got_past=got_past)
        return self._diagnosed(outcome, work)

    @property
    def _limited_by(self) -> str:
        """In words, what limits the memory: also what the recorded process was limited by itself."""
        own = ((name, option) for name, option in (("AS", "v"), ("DATA", "d")) if name in self.plan.rlimits)
        own = ((name, option) for name, option in own if f"ulimit -{option}" not in self.limit.kind)
        texts = [f"`ulimit -{option}` of {size(self.plan.rlimits[name])}, as recorded" for name, option in own]
        return " and by ".join([self.limit.kind, *texts])

    def _start(self, work: Path, directory: Path) -> str | None:
        """Start the kernel with its recorder; return what is wrong."""
        try:
            is_ready = self.kernel.start(_environment(work), directory, _READY_S)
        except OSError as error:
            return f"{self.plan.python}: {error.strerror or error}."
        if not is_ready:
            said = self.kernel.said().decode("utf-8", "replace").strip().splitlines()
            return _line(said[-1]) if said else "It did not answer within a minute."
        package = Path(__file__).parent.parent
        modules = {
            "jupyter_kerneldoctor": str(package / "__init__.py"),
            "kerneldoctor": str(package.parent / "kerneldoctor.py"),
        }
        until = time.monotonic() + _READY_S
        self.kernel.execute(
            _LOAD.format(modules=modules), lambda: time.monotonic() < until and not self.stop.is_set(), silent=True
        )
        try:
            self.limit.enforce(self.kernel.pid)
            for name, value in self.plan.rlimits.items():
                lower_limit(self.kernel.pid, name, value)
        except (OSError, ValueError) as error:
            return f"Its limits could not be set: {error}."
        return None

    def _run_cells(self) -> tuple[Kind, int, CellRun]:
        """Run the cells; return what came of it, the number of the last that ran, and how it went."""
        touched = False
        for number, cell in enumerate(self.plan.cells, 1):
            touched = touched or cell.is_changed
            self.cell_began, told = time.monotonic(), Told("cell", number=number, cell=cell)
            self.tell(replace(told, memory_bytes=self._measured()))
            with_history = cell.execution_count is not None
            is_last = number == len(self.plan.cells)
            ran = self.kernel.execute(cell.source, self._goes_on, waits=is_last, store_history=with_history)
            took_s, held = time.monotonic() - self.cell_began, self._measured()
            self.tell(replace(told, what="cell over", run=ran, took_s=took_s, memory_bytes=held))
            if ran.how == "died":
                return "died", number, ran
            if ran.how == "cut off":
                return ("stopped" if self.stop.is_set() else "still running"), number, ran
            if ran.error is not None and ran.error != cell.raised:
                return ("raised" if touched else "differs"), number, ran
        return "lived", len(self.plan.cells), CellRun("ok")

    def _goes_on(self) -> bool:
        self._measured()
        return not self.stop.is_set() and time.monotonic() < self.deadline

    def _measured(self) -> int | None:
        """Return the kernel's resident memory, and keep the highest."""
        try:
            status = Path(f"/proc/{self.kernel.pid}/status").read_text()
        except OSError:
            return None
        found = {name: int(kib) << 10 for name, kib in re.findall(r"^(VmHWM|VmRSS):\s+(\d+) kB", status, re.MULTILINE)}
        self.peak_bytes = max(self.peak_bytes, found.get("VmHWM", 0))
        return found.get("VmRSS")

    def _diagnosed(self, outcome: Outcome, work: Path) -> Outcome:
        """Add the peak, and what the trial's own recording says of a death, a hang, or memory that was refused."""
        found = _recording(work, self.kernel.pid)
        if found is None:
            return replace(outcome, peak_bytes=self.peak_bytes or None)
        seen = [cell.peak_bytes for cell in found.cells]
        seen += [one for sample in found.samples for one in (sample.rss_bytes, sample.tree_bytes)]
        outcome = replace(outcome, peak_bytes=max([self.peak_bytes, *(one for one in seen if one)]) or None)
        if outcome.kind in ("raised", "differs"):
            of_memory = any(
                one.kind in _MEMORY_INCIDENTS or "out-of-memory" in one.kind for one in found.incidents[-1:]
            )
            return replace(outcome, kind="out of memory") if of_memory and not outcome.is_meant else outcome
        if outcome.kind not in ("died", "still running"):
            return outcome
        said = diagnose(found)
        if outcome.kind == "still running" and said.state != "stuck":
            return outcome
        kind: Kind = "stuck" if outcome.kind == "still running" else "died"
        return replace(outcome, kind=kind, headline=said.cause.headline, cause=said.cause.id)


def _limited(plan: Plan, stack: ExitStack, kinds: Sequence[str]) -> Limit:
    """Set the limit up. Raises CannotTryError where none can be set."""
    if plan.limit_bytes is None:
        return Limit("nothing", [])
    try:
        return stack.enter_context(memory_limit(plan.limit_bytes, kinds))
    except NoMemoryLimitError as error:
        raise CannotTryError(f"{error}") from None


def _environment(work: Path) -> dict[str, str]:
    """Return the environment of the trial's kernel; it marks all processes of the trial, too."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JPY_", "KERNELDOCTOR"))}
    return {**kept, ROOT_VARIABLE: str(work / "data")}


def _recording(work: Path, pid: int) -> Recording | None:
    """Return the recording of the trial, its end included."""
    store = Store(work / "data")
    found = [store.open(one) for one in store.ids() if one.split("-")[1] == str(pid)]
    return found[0] if found else None


def _line(message: str) -> str:
    """Return what an exception says, on one line of ordinary length."""
    line = " ".join(message.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
