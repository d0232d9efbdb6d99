"""What a trial runs: which cells, with which change, in which interpreter, directory and limits."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..diagnosis.analysis.memory import Memory
from ..diagnosis.units import enumeration, plural
from ..recording.model import Cell, Recording
from ..recording.private_files import others_may_change
from .failure import failure, how_it_ended, survived_in, took_s

_LEAST_PATIENCE_S = 60.0
_PATIENCE = 3  # times what the cells took before
_RLIMITS = ("AS", "DATA", "STACK", "NOFILE", "CPU", "FSIZE")
_PREFIX = re.compile(r"(/.+)/lib/python(3\.\d+t?)/site-packages/")


class CannotTryError(RuntimeError):
    """The fix cannot be tried; the message says why, `help` what to do."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem)
        self.help = advice


@dataclass(frozen=True)
class Wishes:
    """What the user chose; None or false is the usual."""

    fix: str | None = None
    """The id of a fix; the first that changes a cell by default."""
    python: str | None = None
    """The interpreter; the recorded one by default."""
    here: bool = False
    """Run in the notebook's directory, not in a copy."""
    patience_s: float | None = None


@dataclass(frozen=True)
class PlannedCell:
    """One execution of one cell."""

    source: str
    execution_count: int | None
    is_changed: bool = False
    raised: str | None = None
    """The exception that it raised when it was recorded."""


@dataclass(frozen=True)
class Plan:
    """All that a trial needs to know."""

    recording: str
    cells: tuple[PlannedCell, ...]
    python: str
    directory: Path
    """Where the notebook's files are; the present directory where that is gone."""
    copies: bool
    """Whether the cells run in a copy of it."""
    limit_bytes: int | None
    """As much memory as the recorded kernel could have, and as this machine has now; None where that is not known."""
    patience_s: float
    rlimits: Mapping[str, int] = field(default_factory=dict)
    """The resource limits of the recorded kernel, by their names without `RLIMIT_`."""
    fix: Mapping[str, Any] = field(default_factory=dict)
    """The fix as in the post-mortem."""
    gone: str | None = None
    """The notebook's directory, where it is gone; then the cells run in the present one."""
    before: str = ""
    """How it ended before: "killed by Linux at the memory limit"."""
    failed_in: int | None = None
    """Which of the cells failed before, from 1; None where that is not known."""
    failed_after_s: float = 0.0
    """For how long that cell had run by then."""


def make_plan(recording: Recording, post_mortem: Mapping[str, Any], wishes: Wishes) -> Plan:
    """Plan the trial of one fix. Raises CannotTryError."""
    cells = recorded_cells(recording, post_mortem)
    fix = _chosen(post_mortem, wishes.fix)
    return plan_for(recording, post_mortem, wishes, changed(cells, fix["edits"]), fix)


def plan_for(
    recording: Recording,
    post_mortem: Mapping[str, Any],
    wishes: Wishes,
    cells: tuple[PlannedCell, ...],
    fix: Mapping[str, Any],
) -> Plan:
    """Return the plan for cells that are changed already. Raises CannotTryError."""
    _check_user(recording.kernel.uid)
    patience_s = wishes.patience_s or max(_LEAST_PATIENCE_S, _PATIENCE * took_s(recording))
    rlimits = _rlimits(recording)
    directory, gone = _directory(recording)
    bounds = (_limit_bytes(recording), rlimits.get("AS"), rlimits.get("DATA"), _available_bytes())
    failed_in, failed_after_s = failure(recording, post_mortem)
    return Plan(
        recording=recording.id,
        cells=cells,
        python=_interpreter(recording, wishes.python),
        directory=directory,
        gone=gone,
        copies=not wishes.here,
        limit_bytes=min((one for one in bounds if one is not None), default=None),
        patience_s=patience_s,
        rlimits=rlimits,
        fix=fix,
        before=how_it_ended(post_mortem),
        failed_in=failed_in,
        failed_after_s=failed_after_s,
    )


def recorded_cells(recording: Recording, post_mortem: Mapping[str, Any]) -> list[Cell]:
    """Return the cells up to the one that died. Raises CannotTryError where they are not all known."""
    kernel, again = recording.kernel, "Only a kernel that is recorded from its first cell on can be tried again."
    if kernel.language not in (None, "python"):
        raise CannotTryError(f"The cells are {kernel.language}; only Python can be tried.")
    if recording.stopped_early:
        raise CannotTryError("The recording stopped before the kernel ended, so cells are missing.", again)
    if not recording.cells:
        raise CannotTryError("The recording has no cells.", again)
    cells = _until(recording.cells, post_mortem)
    if any(cell.truncated for cell in cells):
        raise CannotTryError("A cell is so long that only its beginning and its end were recorded.")
    expected = 1
    for cell in cells:
        if cell.execution_count is not None and cell.execution_count != expected:
            gap = f"cell [{expected}]" if cell.execution_count == expected + 1 else f"cells from [{expected}] on"
            enable = "`jupyter kerneldoctor enable` records every new kernel from its start."
            raise CannotTryError(f"The recording lacks {gap}; the next it has is [{cell.execution_count}].", enable)
        expected += cell.execution_count is not None
    return cells


def changed(cells: Sequence[Cell], edits: Iterable[Mapping[str, Any]]) -> tuple[PlannedCell, ...]:
    """Return the cells with edits made, in each execution of an edited cell. Raises CannotTryError."""
    made = [PlannedCell(cell.source, cell.execution_count, raised=cell.error) for cell in cells]
    for edit in edits:
        places = [place for place, cell in enumerate(cells) if _is_of(edit, cell)]
        if not places:
            raise CannotTryError(
                f"The fix changes cell [{edit['execution_count']}], which did not run before the death."
            )
        for place in places:
            cell = cells[place]
            made[place] = PlannedCell(edit["new_source"], cell.execution_count, is_changed=True, raised=cell.error)
    return tuple(made)


def _is_of(edit: Mapping[str, Any], cell: Cell) -> bool:
    is_it = cell.execution_count == edit["execution_count"] and cell.cell_id == edit["cell_id"]
    is_rerun = cell.cell_id is not None and cell.cell_id == edit["cell_id"]
    return cell.source == edit["old_source"] and (is_it or is_rerun)


def _until(cells: Sequence[Cell], post_mortem: Mapping[str, Any]) -> list[Cell]:
    """Return the cells up to the one that raised, where the kernel survived that; all where it did not."""
    culprit = post_mortem.get("cell") if survived_in(post_mortem) is not None else None
    if culprit is None:
        return list(cells)
    last = [n for n, cell in enumerate(cells, 1) if cell.execution_count == culprit["execution_count"]]
    return list(cells[: last[-1]] if last else cells)


def _chosen(post_mortem: Mapping[str, Any], wanted: str | None) -> Mapping[str, Any]:
    """Return the fix to try. Raises CannotTryError."""
    fixes = [*post_mortem["fixes"], *post_mortem["more_fixes"]]
    ids = [fix["id"] for fix in fixes if fix["edits"]]
    if wanted is not None and wanted not in [fix["id"] for fix in fixes]:
        known = f"What can be tried: {enumeration(ids)}." if ids else "None of its fixes changes a cell."
        raise CannotTryError(f"The report has no fix {wanted!r}.", known)
    if not ids:
        advice = "The report has none: what went wrong has run well since, or nothing is known to help."
        if fixes:
            advice = "`jupyter kerneldoctor report` says what else helps."
        raise CannotTryError("No fix changes a cell, so there is nothing to try.", advice)
    if wanted is not None and wanted not in ids:
        raise CannotTryError(f"{wanted} is advice: it changes no cell.", f"What can be tried: {enumeration(ids)}.")
    return next(fix for fix in fixes if fix["edits"] and wanted in (None, fix["id"]))


def _check_user(uid: int | None) -> None:
    """Raise CannotTryError where the kernel ran as another user: its cells, run by this one, could do more."""
    if uid is not None and uid != os.geteuid():
        advice = f"Only user {uid} can run them again, from a recording of a server of their own."
        raise CannotTryError(f"The cells ran as another user (id {uid}); a trial would run them as you.", advice)


def _interpreter(recording: Recording, wanted: str | None) -> str:
    """Return the interpreter. Raises CannotTryError."""
    if wanted is not None:
        path = Path(wanted).expanduser().absolute()
        if not os.access(path, os.X_OK) or path.is_dir():
            raise CannotTryError(f"{path} is no program.", "`--python` names an interpreter: /path/to/bin/python.")
        return str(path)
    recorded, was_ours = recording.kernel.executable, recording.kernel.uid is not None or os.geteuid() != 0
    found = [one for one in (recorded, *_seen_interpreters(recording)) if one is not None and os.access(one, os.X_OK)]
    for candidate in found:
        if (candidate == recorded and was_ours) or not others_may_change(candidate):
            return candidate
    if (named := next(iter(found), recorded)) is not None:
        advice = "`--python /path/to/bin/python` names another one with the same packages."
        problem = "can be changed by other users" if found else "is gone"
        raise CannotTryError(f"The kernel's interpreter {named} {problem}.", advice)
    return sys.executable


def _seen_interpreters(recording: Recording) -> Iterable[str]:
    """Yield the interpreters to which the libraries in the recorded stacks belong."""
    for stack in recording.stacks:
        for frame in (frame for thread in stack.threads for frame in thread.frames):
            if (found := _PREFIX.match(frame.file)) is not None:
                yield f"{found[1]}/bin/python{found[2]}"


def _directory(recording: Recording) -> tuple[Path, str | None]:
    """Return the notebook's directory, else the recorded one; else the present one, and which is gone."""
    notebook = recording.kernel.notebook
    known = [str(Path(notebook).parent)] if notebook and Path(notebook).is_absolute() else []
    known += [recording.kernel.directory] if recording.kernel.directory else []
    found = next((Path(one) for one in known if Path(one).is_dir()), None)
    return (Path.cwd(), next(iter(known), None)) if found is None else (found, None)


def _limit_bytes(recording: Recording) -> int | None:
    """Return the limit that counted, less what other programs used below it all the time."""
    memory = Memory(recording, recording.running_cell)
    if memory.limit_bytes is None:
        return None
    others = []
    for sample in recording.samples:
        used = sample.cgroup_bytes
        if not memory.has_group_limit:
            used = None if sample.available_bytes is None else memory.limit_bytes - sample.available_bytes
        if used is not None:
            others.append(max(0, used - max(sample.rss_bytes or 0, sample.tree_bytes or 0)))
    return memory.limit_bytes - min(others, default=0)


def _available_bytes() -> int | None:
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        return int(found[1]) << 10 if found else None
    return None


def _rlimits(recording: Recording) -> dict[str, int]:
    states = recording.system_states[:1]
    known = ((name, one.soft) for state in states for name, one in state.rlimits.items() if name in _RLIMITS)
    return {name: soft for name, soft in known if soft is not None}


def cells_text(plan: Plan) -> str:
    """Return "cells [1] to [4]", "cell [1]", "7 cells"."""
    counts = [cell.execution_count for cell in plan.cells]
    if len(counts) == 1 and counts[0] is not None:
        return f"cell [{counts[0]}]"
    if None in counts:
        return plural(len(counts), "cell")
    return f"cells [{counts[0]}] to [{counts[-1]}]"
