"""Where a kernel ended: the cell, the line, and the user's functions that were being executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.model import Cell

from .analysis.background_thread import is_background
from .analysis.ending import CRASHES
from .analysis.incident_site import line_of_incident
from .analysis.last_stack import LastStack, last_stack
from .analysis.statements import short_name, statement_at, statement_of
from .analysis.traceback import Thread
from .analysis.user_frames import UserFrame, user_frames
from .code.cellfiles import user_line
from .code.cellsource import sole_statement
from .code.notebook import Call, CodeTooLargeError, Notebook, Scope
from .code.raw_addresses import raw_addresses
from .kernel_end import KernelEnd
from .postmortem import Statement
from .units import cell_name, quote, statement

T = TypeVar("T")

_MOST_FRAMES = 20  # of a stack: a recursion repeats them
_ONLY_WAITS = re.compile(r"\b(?:sleep|input|wait|join|acquire)\(")
"""What does nothing itself, so that a thread of a library works for another call."""


@dataclass(frozen=True)
class DeathSite(KernelEnd):
    """A kernel's end with the code that ran, and the place in it where the kernel ended."""

    @cached_property
    def code(self) -> Notebook:
        """The code that ran, up to the cell that was running at the end."""
        index = {id(one): at for at, one in enumerate(self.recording.cells)}
        frames = [(index[id(one.cell)], one.line) for one in self.user_frames if id(one.cell) in index]
        return Notebook(self.recording.cells, self.cell, executing=frames[:_MOST_FRAMES])

    def find(self, search: Callable[[Notebook], T]) -> T | None:
        """Return what a search of the code finds; None where it is too large or too deeply nested to be read."""
        try:
            with self.code.counted():
                return search(self.code)
        except (CodeTooLargeError, RecursionError):
            return None

    @cached_property
    def last_stack(self) -> LastStack | None:
        """The last stack that was read of a killed cell; None when it is too old."""
        if self.cell is None or self.cell.finished or self.status.exit_code is not None or self.traceback is not None:
            return None
        return last_stack(self.recording, self.cell)

    @cached_property
    def background(self) -> Frame | None:
        """Where a background thread crashed: the innermost frame of a cell, else the innermost of all."""
        if self.traceback is None or not is_background(self.traceback):
            return None
        frames = self.traceback.current.frames
        return next((frame for frame in frames if self.frames.cell_of(frame) is not None), frames[0])

    @property
    def native_thread(self) -> bool:
        """Whether it crashed in a thread that a library started: the line of the cell is not to blame."""
        return self.traceback is not None and self.traceback.without_python

    @cached_property
    def innermost(self) -> Frame | None:
        """The Python function nearest to the crash."""
        frames = self.traceback.current.frames if self.traceback else ()
        return frames[0] if frames else None

    @cached_property
    def crash_line(self) -> int | None:
        """The line of the cell in the crash report, of the innermost frame that is the cell's."""
        if self.cell is None or self.traceback is None:
            return None
        if self.background is not None:  # the line that the cell itself was at is innocent
            return user_line(self.cell, self.background)
        threads = sorted(self.traceback.threads, key=lambda thread: not thread.current)
        lines = (user_line(self.cell, frame) for thread in threads for frame in _of_cells(thread))
        return next((line for line in lines if line is not None), None)

    @cached_property
    def next_cell(self) -> Cell | None:
        """The queued cell that may have ended the kernel at once; None where it was surely the running one.

        The server hears of a cell's end from the kernel, and a crash can take that message with it.
        """
        by_itself = self.signal in CRASHES or self.status.exit_code is not None
        if self.recording.kernel.loaded_by != "server" or self.ended is not True or not by_itself:
            return None
        was_seen = self.traceback is not None or self.last_stack is not None
        return None if self.cell is None or was_seen else next(iter(self.recording.queued), None)

    @cached_property
    def sole_line(self) -> int | None:
        """The line of the one statement the cell consists of; None when it has more, or is a block of others."""
        if self.cell is None or self.cell.truncated or self.next_cell is not None:
            return None
        statement = sole_statement(self.cell.source)
        if statement is None or (hasattr(statement, "body") and statement.end_lineno != statement.lineno):
            return None
        return statement.lineno

    @cached_property
    def line(self) -> int | None:
        """The line that was being executed, where the recording tells."""
        if self.incident is not None:
            return line_of_incident(self.recording, self.incident) or self.sole_line
        if self.crash_line is not None or self.background is not None or self.native_thread:
            return self.crash_line or self.line_beside
        return self.last_stack.line if self.last_stack is not None else self.sole_line

    @cached_property
    def line_beside(self) -> int | None:
        """The line that had called a library one of whose own threads crashed; None in a thread of the user's."""
        thread = self.background
        if self.native_thread and thread is None and self.cell is not None:
            line = self.last_stack.line if self.last_stack is not None else self.sole_line
            code = "" if line is None else self.cell.source.split("\n")[line - 1]
            return line if "(" in code and not _ONLY_WAITS.search(code) else None
        if self.cell is None or thread is None or thread.module is None or self.frames.cell_of(thread) is not None:
            return None
        if (beside := last_stack(self.recording, self.cell)) is not None:
            return beside.line if any(frame.module == thread.module for frame in beside.frames) else None
        called = self.find(lambda code: [*code.calls_in(code.scopes(code.last), f"{thread.module}.*")]) or []
        lines = {call.statement.lineno for call in called}
        return lines.pop() if len(lines) == 1 and all(call.scope.is_cell for call in called) else None

    @cached_property
    def user_frames(self) -> tuple[UserFrame, ...]:
        """The user's own functions that were being executed, innermost first: cells, and files beside the notebook."""
        if self.incident is not None:
            frames = self.incident.frames
        elif self.traceback is not None:
            frames = self.traceback.current.frames
        elif self.stuck_cell is not None:
            frames = self.stuck_cell.main.frames
        else:
            frames = self.last_stack.frames if self.last_stack is not None else ()
        return user_frames(frames, self.frames, self.recording.kernel.notebook)

    def is_at_crash(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a node stands at the line of a cell that the crash report names; True where it names none."""
        at = next(iter(self.user_frames), None) if self.traceback is not None else None
        if at is None or at.cell is None:
            return True
        return self.code.cells[scope.cell] is at.cell and node.lineno <= at.line <= (node.end_lineno or 0)

    @cached_property
    def raw_addresses(self) -> Sequence[tuple[Call, int]]:
        """The calls of ctypes that crashed at an address which the code itself gives, and the address."""
        return self.find(lambda code: raw_addresses(code, self.is_at_crash)) or ()

    @cached_property
    def in_function(self) -> Statement | None:
        """The statement of a function of the user's that was being executed; None where it was the cell's own."""
        is_cell = not self.user_frames or self.user_frames[0].is_cell
        return None if is_cell else statement_of(self.code, self.user_frames)

    def statement_at(self, line: int | None) -> Statement | None:
        """Return the user's innermost statement where a cause points at this line of the cell.

        That is the one which was being executed, in whichever cell its function stands, if the line was; else the line.
        """
        shown = self.line if self.ended or self.stuck_cell is None else self.stuck_cell.line
        if self.user_frames and line == shown:
            return statement_of(self.code, self.user_frames)
        if self.cell is None or line is None:
            return None
        return statement_at(self.code, self.code.cells[self.code.last], line)  # the cell as an edit made it, if one did

    def where(self, line: int | None = None) -> str:
        """Return "in cell [2] on `code`", as much of it as is known."""
        if self.incident is not None:
            return self._where_raised()
        if self.background is not None:
            beside = f", {self.when()}" if self.cell is None else self._code_beside
            return f"in a background thread, in {self.frames.name(self.background)}{beside}"
        if self.native_thread:
            return f"in a native library's thread, {self.when()}"
        if self.cell is None:
            return self.when()
        if line is None and self.in_function is not None:
            return self._named(self.in_function)
        loop = self.last_stack.loop if line is None and self.ended and self.last_stack is not None else None
        line = loop or line or self.line
        lines = self.cell.source.split("\n")
        code = statement(lines[line - 1]) if line is not None and 0 < line <= len(lines) else ""
        place = f"in {self._cell_names}"
        on = " on" if loop is None else ", in the loop"
        return f"{place}{on} {quote(code)}" if code else place

    def _named(self, found: Statement) -> str:
        return short_name(found) + (f", called from {self._cell_names}" if found.file is not None else "")

    @property
    def _code_beside(self) -> str:
        if self.cell is None or self.line_beside is None:
            return ""
        line = self.cell.source.split("\n")[self.line_beside - 1]
        return f", {self.when()} {quote(statement(line))}"

    def _where_raised(self) -> str:
        if self.cell is None:
            return "in this kernel"
        if self.in_function is not None:
            return self._named(self.in_function)
        code = "" if self.line is None else statement(self.cell.source.split("\n")[self.line - 1])
        place = f"in {cell_name(self.cell.execution_count)}"
        return f"{place} on {quote(code)}" if code else place

    def when(self) -> str:
        """Return "while cell [2] was running"."""
        if self.stopped_early:
            return "after its recording had stopped"
        if self.last_cell_is_unknown:
            return "at a moment that was not recorded"
        if self.cell_may_be_unheard:
            return "while no cell was seen to run"
        running = "no cell" if self.cell is None else self._cell_names
        return f"while {running} was running"

    @property
    def _cell_names(self) -> str:
        """Return "cell [2]", or "cell [2] or cell [3]" where it may have been either."""
        return " or ".join(cell_name(cell.execution_count) for cell in (self.cell, self.next_cell) if cell is not None)


def _of_cells(thread: Thread) -> tuple[Frame, ...]:
    return tuple(frame for frame in thread.frames if frame.file.startswith("<") or "ipykernel_" in frame.file)
