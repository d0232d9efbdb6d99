"""A cell that has been at the same work for long: writing a traceback, or a regular expression that goes back."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from jupyter_kerneldoctor.recording.events import Frame, Stack
from jupyter_kerneldoctor.recording.model import Cell, Recording
from jupyter_kerneldoctor.recording.user_files import is_cell_file

from ..code.cellfiles import user_line
from ..code.cellsource import lines_of, parse
from ..code.trees import holds, walk
from .cluster_tasks import SCHEDULED_S, runs_a_task
from .library_waits import library_wait
from .thread_waits import ThreadWait

_WRITES_TRACEBACKS = ("IPython/core/ultratb.py", "IPython/core/tbtools.py", "stack_data/core.py")
_LEAST_S = 7.0
_SHALLOW_S = 30.0
"""A traceback of the thousand calls that Python allows by itself is formatted by then, on a busy machine, too."""
_LONGEST = 1000  # characters of a regular expression
_TRUSTED_S, _TRUSTED_SHARE = 12.0, 0.6
"""How old the newest look may be: looks come less and less often, the later in the cell."""

_MATCHES = re.compile(r"(?:\bre|regex|str)\.\w+\(|\.(?:match|fullmatch|search|findall|finditer|subn?)\(")
_RE_FILES = re.compile(r"re(?:/__init__)?\.py|pandas/core/(?:strings/.*|series\.py)")
_REPEATS = (ast.For, ast.While, ast.AsyncFor, ast.GeneratorExp)
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")


@dataclass(frozen=True)
class BusyCell:
    """What the thread that runs the cells was at whenever somebody looked; newest last."""

    recording: Recording
    looks: tuple[Stack, ...]

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The newest stack, innermost first."""
        return self.looks[-1].threads[0].frames

    def lasted_s(self, is_at: Callable[[Stack], bool]) -> float:
        """Return for how long it has been at something, at least; 0 where it has left that."""
        since = self.looks[-1].mono_s
        for look in reversed(self.looks):
            if not is_at(look):
                break
            since = look.mono_s
        return self.looks[-1].mono_s - since

    @property
    def formats_traceback_s(self) -> float | None:
        """For how long IPython has been formatting a traceback, if it does so for long."""
        deep = any("setrecursionlimit" in cell.source for cell in self.recording.cells)
        return self._if_long(self.lasted_s(_formats_traceback), _LEAST_S if deep else _SHALLOW_S)

    @property
    def backtracks_s(self) -> float | None:
        """For how long one regular expression with a repeat in a repeat has been matched, if for long."""
        line, cell = self.line, self.recording.running_cell
        if line is None or cell is None or not self._is_at_match(self.looks[-1]):
            return None
        return self._if_long(self.lasted_s(self._is_at_match)) if self._pattern is not None else None

    @property
    def waits_for_group_s(self) -> float | None:
        """For how long it has looked for the other processes of a group, if it has started no process."""
        return None if self.looks[-1].children else self._if_long(self.lasted_s(_waits_for_group))

    @property
    def waits_for_tasks_s(self) -> float | None:
        """For how long it has waited for tasks of a cluster, none of which runs, if for long."""
        return self._if_long(self.lasted_s(_waits_for_cluster), SCHEDULED_S)

    @property
    def waits_for_idle_workers_s(self) -> float | None:
        """For how long it has waited for a pool whose workers all wait for a task, and have used no processor time.

        The threads of a pool that has lost the one for its results may keep a processor busy meanwhile.
        """
        used = {
            sum(child.cpu_s or 0.0 for child in look.children) for look in self.looks if _waits_for_idle_workers(look)
        }
        lasted_s = self.lasted_s(_waits_for_idle_workers)
        return self._if_long(lasted_s) if len(used) == 1 else None

    def within_s(self, cell: Cell, first: int, last: int) -> float:
        """Return for how long it has been in some lines of a cell, or in what they call."""
        return self.lasted_s(lambda look: _is_within(look, cell, first, last))

    def times_within(self, cell: Cell, first: int, last: int) -> int:
        """Return how many looks found it in some lines of a cell, or in what they call."""
        return sum(_is_within(look, cell, first, last) for look in self.looks)

    @property
    def grew_bytes(self) -> int:
        """How much memory the kernel has taken between the first look and the last."""
        since = self.looks[0].mono_s
        sizes = [one.rss_bytes for one in self.recording.samples if one.mono_s >= since and one.rss_bytes is not None]
        return max(sizes) - sizes[0] if sizes else 0

    @property
    def most_bytes(self) -> int | None:
        """The most memory that the kernel had at a sample; None where there is none."""
        return max((one.rss_bytes for one in self.recording.samples if one.rss_bytes is not None), default=None)

    def rounds_within(self, cell: Cell, loop: ast.While) -> int:
        """Return how often it went round in a loop between the first look and the last, at least.

        Glances that follow a look show how often the loop begins anew meanwhile. 0 where one of them was outside.
        """
        rounds, took_s, counted = 0, 0.0, 0
        repeats = {at for at, one in enumerate(loop.body, 1) if any(isinstance(part, _REPEATS) for part in walk(one))}
        for look in self.looks:
            frames = [one for one in reversed(look.threads[0].frames) if is_cell_file(one.file)]
            of_cell = [(at, user_line(cell, one), one.line) for at, one in enumerate(frames)]
            around = [one for one in of_cell if one[1] is not None and holds(loop, one[1])]
            if not around or not look.glances_s:
                continue
            at, line, raw = around[-1]
            lines = [one[at] - (raw or 0) + (line or 0) for one in look.glances if len(one) > at]
            if len(lines) < len(look.glances) or not all(holds(loop, one) for one in lines):
                return 0
            inner = [len(one) > at + 1 for one in look.glances]
            parts = [sum(one.lineno <= line for one in loop.body) for line in lines]
            places = [
                (part, line, called) if part and part not in repeats else (part, 0, False)
                for part, line, called in zip(parts, lines, inner, strict=True)
            ]
            rounds += sum(b < a for a, b in pairwise(places))
            took_s, counted = took_s + look.glances_s, counted + 1
        lasted_s = self.within_s(cell, loop.lineno, loop.end_lineno or loop.lineno)
        return int(rounds / took_s * lasted_s) if counted > 1 else 0

    def glances_outside(self, cell: Cell, loop: ast.While, first: int, last: int) -> int:
        """Return how many glances saw it in a loop, and 0 where one of them saw it in some lines of that."""
        seen = 0
        for look in self.looks:
            frames = [one for one in reversed(look.threads[0].frames) if is_cell_file(one.file)]
            places = [(at, one.line or 0, user_line(cell, one) or 0) for at, one in enumerate(frames)]
            for at, raw, line in [one for one in places if holds(loop, one[2])][-1:]:
                lines = [one[at] - raw + line for one in look.glances if len(one) > at]
                if any(first <= one <= last for one in lines):
                    return 0
                seen += len(lines)
        return seen

    @property
    def asks_s(self) -> float | None:
        """For how long the program of a `!` line has waited for an answer, which nobody can type."""
        return self._if_long(self.lasted_s(_asks))

    @property
    def line(self) -> int | None:
        """The line of the running cell it was at."""
        cell = self.recording.running_cell
        return None if cell is None else next((at for one in self.frames if (at := user_line(cell, one))), None)

    @property
    def pattern(self) -> str:
        """The regular expression that goes back without end."""
        return self._pattern or ""

    def _if_long(self, lasted_s: float, least_s: float = _LEAST_S) -> float | None:
        return lasted_s if lasted_s >= least_s else None

    def _is_at_match(self, look: Stack) -> bool:
        """Whether a regular expression is matched: no Python function is called meanwhile."""
        for frame in look.threads[0].frames:
            cells = self.recording.cells
            found = next(((one, at) for one in reversed(cells) if (at := user_line(one, frame)) is not None), None)
            if found is not None:
                return _MATCHES.search(lines_of(found[0].source)[found[1] - 1]) is not None
            if not _RE_FILES.fullmatch(frame.short_file):
                return False
        return False

    @property
    def _pattern(self) -> str | None:
        for cell in reversed(self.recording.cells):
            for node in walk(parse(cell.source) or ast.Module([], [])):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and _goes_back(node.value):
                    return node.value
        return None


def _goes_back(pattern: str) -> bool:
    """Whether a text reads as a regular expression with a repeated group that may match the same text in two ways."""
    inner: list[bool] = []  # of each group that is open: whether something in it is repeated, or there is a choice
    in_class, at = False, 0
    while at < min(len(pattern), _LONGEST):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            inner.append(False)
        elif char == ")" and inner:
            is_open = inner.pop()
            if is_open and _UNBOUNDED.match(pattern, at + 1):
                return True
            if inner:
                inner[-1] |= is_open
        elif inner and (char == "|" or _UNBOUNDED.match(pattern, at)):
            inner[-1] = True
        at += 1
    return False


def _is_within(look: Stack, cell: Cell, first: int, last: int) -> bool:
    lines = (user_line(cell, frame) for frame in look.threads[0].frames)
    return any(line is not None and first <= line <= last for line in lines)


def _formats_traceback(look: Stack) -> bool:
    return any(frame.short_file in _WRITES_TRACEBACKS for frame in look.threads[0].frames)


def _waits_for_group(look: Stack) -> bool:
    return library_wait(look.threads[0].frames) == "group"


def _waits_for_cluster(look: Stack) -> bool:
    return library_wait(look.threads[0].frames) == "cluster" and not runs_a_task(look.children)


def _waits_for_idle_workers(look: Stack) -> bool:
    """Whether it waits for a pool of which one worker reads the pipe of tasks, and the others wait for their turn."""
    thread = look.threads[0]
    waits = ThreadWait(thread.frames, thread.state, thread.waits_in).waits_for_a_pool
    kinds = [ThreadWait((), one.state, one.waits_in).kind for one in look.children]
    return waits and kinds.count("pipe") == 1 and all(one in ("pipe", "lock") for one in kinds)


def _asks(look: Stack) -> bool:
    """Whether the program of a `!` line waits for a key: IPython looks again and again for what it writes."""
    return library_wait(look.threads[0].frames) == "program" and any(one.reads_terminal for one in look.children)


def busy_cell(recording: Recording) -> BusyCell | None:
    """Return what a running cell is at, where that was looked at lately."""
    cell = recording.running_cell
    if cell is None or not recording.samples:
        return None
    since_s = cell.started_mono_s
    looks = tuple(one for one in recording.stacks if one.reason == "busy" and one.mono_s >= since_s and one.threads)
    if not looks:
        return None
    still = (one for one in recording.stuck if one.threads and since_s <= one.since_mono_s < looks[-1].mono_s)
    while_still = (Stack(one.since_mono_s, "busy", one.threads, one.children) for one in still)
    looks = tuple(sorted((*while_still, *looks), key=lambda one: one.mono_s))
    age_s = recording.samples[-1].mono_s - looks[-1].mono_s
    trusted_s = max(_TRUSTED_S, _TRUSTED_SHARE * (looks[-1].mono_s - since_s))
    return BusyCell(recording, looks) if age_s <= trusted_s else None
