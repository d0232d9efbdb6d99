"""What the cause rules look at: the recording, and what follows from it without any judgement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from .analysis import traceback as tracebacks
from .analysis.background_thread import is_background
from .analysis.call_reached import reached
from .analysis.ending import (
    ExitStatus,
    Request,
    ending,
    exit_status,
    has_ended,
    left_on_request_of_a_cell,
    missed_the_end,
    request,
    unseen,
)
from .analysis.environment import Environment, at_the_end
from .analysis.last_stack import LastStack, last_stack
from .analysis.last_words import FRESH_S, Words, farewell, last_line, naming_a_cause, newest_text
from .analysis.memory import Memory
from .analysis.stuck_cell import StuckCell, stuck_cell
from .code.cellfiles import CellFiles, is_cell_file, user_line
from .code.cellsource import sole_statement
from .code.ending_calls import EndingCall, ending_calls
from .code.notebook import CodeTooLargeError, Notebook
from .code.signal_targets import Sending, sendings
from .units import cell_name, quote, statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_kerneldoctor.recording.model import Cell, Recording

    from .analysis.traceback import Frame, Thread, Traceback
    from .postmortem import Ending

T = TypeVar("T")

_CRASHES = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS")
"""Signals of a program that fails by itself."""


@dataclass(frozen=True)
class Death:
    """A recording, read. Everything is worked out when it is first asked for."""

    recording: Recording

    @cached_property
    def ending(self) -> Ending:
        """How it ended."""
        return ending(self.recording)

    @cached_property
    def ended(self) -> bool | None:
        """Whether it ended; None when that cannot be told."""
        return has_ended(self.recording)

    @cached_property
    def status(self) -> ExitStatus:
        """What the operating system reported."""
        return exit_status(self.recording)

    @cached_property
    def request(self) -> Request | None:
        """What was asked for from outside."""
        return request(self.recording)

    @cached_property
    def told_to_exit(self) -> bool:
        """Whether the kernel obeyed an `exit()` of a cell."""
        return left_on_request_of_a_cell(self.recording)

    @property
    def is_unasked_end(self) -> bool:
        """It is gone, nobody asked for that, and somebody saw the end or recorded up to it: here the causes compete."""
        return self.ended is True and self.request is None and not self.missed_the_end

    @cached_property
    def missed_the_end(self) -> bool:
        """Whether the recording stopped before the end, and nobody else saw it."""
        return missed_the_end(self.recording)

    @cached_property
    def stopped_early(self) -> bool:
        """Whether the recording stopped while the kernel ran on."""
        return self.recording.stopped_early

    @property
    def server_watched(self) -> bool:
        """Whether a Jupyter server with KernelDoctor watched the kernel: it would have noted a request."""
        return self.recording.server.returncode is not None

    @cached_property
    def cell(self) -> Cell | None:
        """The cell that was running at the end; after an `exit()` that was obeyed later, the one that asked.

        Of a kernel that lives, the one that runs.
        """
        if self.ended is None or self.stopped_early or self._recorder_stands_still:
            return None  # a cell in the middle of which the recording stopped is no cell that died
        if self.ended and self.told_to_exit:
            asked = [cell for cell in self.recording.cells if cell.asked_exit]
            if asked:
                return asked[-1]
        return self.recording.running_cell

    @cached_property
    def last_cell_is_unknown(self) -> bool:
        """Whether cells may have run that were not recorded: nobody wrote down the end, or what came before it."""
        return unseen(self.recording) and self.cell is None

    @property
    def cell_may_be_unheard(self) -> bool:
        """Whether a cell may have ended it that nobody heard of.

        A kernel without the extension tells of a cell in a thread of its own (ipykernel's IOPub thread), which a crash
        within the first milliseconds takes with it.
        """
        from_outside, by_itself = self.recording.kernel.loaded_by == "server", self.status.signal in _CRASHES
        return from_outside and self.cell is None and (by_itself or self.status.exit_code is not None)

    @property
    def _recorder_stands_still(self) -> bool:
        return unseen(self.recording) and self.recording.recorder_alive is True

    @cached_property
    def stuck_cell(self) -> StuckCell | None:
        """Who waits for whom, where the kernel lives and its cell does nothing."""
        return stuck_cell(self)

    @cached_property
    def memory(self) -> Memory:
        """What is known of the memory."""
        return Memory(self.recording, self.cell)

    @cached_property
    def traceback(self) -> Traceback | None:
        """What faulthandler wrote, if it fits the end."""
        if self.status.exit_code is not None:
            return None
        return tracebacks.fitting(self.recording.crash_text, self.status.signal)

    @cached_property
    def signal(self) -> str | None:
        """The signal that ended it; where nobody has the exit status, the one that the crash report speaks of."""
        if self.status.known or self.traceback is None:
            return self.status.signal
        return tracebacks.signal_of(self.traceback)

    @cached_property
    def environment(self) -> Environment:
        """The limits, file systems and the like when it ended."""
        return at_the_end(self.recording)

    @cached_property
    def words(self) -> Words | None:
        """The last line it wrote that names a cause, if it ended by itself and not at once with anything."""
        by_itself = self.signal in _CRASHES or bool(self.status.exit_code) or not self.status.known
        if not by_itself or self.told_to_exit:
            return None
        named = naming_a_cause(self.text)
        return named[-1] if named else None

    def said(self, cause: str) -> Words | None:
        """Return the last words if they speak for this cause."""
        return self.words if self.words is not None and self.words.cause == cause else None

    @cached_property
    def farewell(self) -> str | None:
        """The last line that reads like giving up, in words that speak for no cause."""
        return farewell(self.text)

    @cached_property
    def last_line(self) -> str | None:
        """The last line it wrote while the cell ran that ran at the end; it need not have to do with the end."""
        if self.cell is None or self.cell.finished:
            return None
        return last_line(self.text)

    @cached_property
    def text(self) -> str:
        """What it wrote shortly before the end: a program that went on to another cell did not die of what it said."""
        cell, end = self.cell, self.recording.end
        if cell is None or cell.finished or end is None:
            return newest_text(self.recording)
        return newest_text(self.recording, min(FRESH_S, max(0.0, end.mono_s - cell.started_mono_s)))

    @cached_property
    def code(self) -> Notebook:
        """The code that ran, up to the cell that was running at the end."""
        return Notebook(self.recording.cells, self.cell)

    def find(self, search: Callable[[Notebook], T]) -> T | None:
        """Return what a search of the code finds; None where there is more code than may be read."""
        try:
            return search(self.code)
        except CodeTooLargeError:
            return None

    @cached_property
    def calls(self) -> tuple[EndingCall, ...]:
        """The calls in the cell that end the kernel."""
        return self.find(ending_calls) or ()

    @cached_property
    def sendings(self) -> tuple[Sending, ...]:
        """The signal that ended it, as the cell sends it to a process of which does not show which one it is."""
        found = self.find(sendings) or ()
        return tuple(one for one in found if None in (one.signal, self.signal) or one.signal == self.signal)

    @cached_property
    def own_signals(self) -> tuple[EndingCall, ...]:
        """The calls in the cell that send the kernel's own process the very signal that ended it."""
        return tuple(call for call in self.calls if call.kind == "signal" and self._came_from(call))

    def _came_from(self, call: EndingCall) -> bool:
        if call.signal == "SIGINT" or self.crash_line not in (None, call.line):
            return False
        if self.background is not None and self.crash_line is None:
            return False
        if reached(call, self) == "passed":
            return False
        return None in (call.signal, self.signal) or call.signal == self.signal

    @cached_property
    def crash_line(self) -> int | None:
        """The line of the cell that the crash report shows: that of the innermost frame that is the cell's."""
        if self.cell is None or self.traceback is None:
            return None
        if self.background is not None:  # the line that the cell itself was at is innocent
            return user_line(self.cell, self.background)
        threads = sorted(self.traceback.threads, key=lambda thread: not thread.current)
        lines = (user_line(self.cell, frame) for thread in threads for frame in _of_cells(thread))
        return next((line for line in lines if line is not None), None)

    @cached_property
    def sole_line(self) -> int | None:
        """The line of the one statement the cell consists of; None when it has more, or is a block of others."""
        if self.cell is None or self.cell.truncated:
            return None
        statement = sole_statement(self.cell.source)
        if statement is None or (hasattr(statement, "body") and statement.end_lineno != statement.lineno):
            return None
        return statement.lineno

    @cached_property
    def line(self) -> int | None:
        """The line that was being executed, where the recording tells."""
        if self.crash_line is not None or self.background is not None or self.native_thread:
            return self.crash_line
        return self.last_stack.line if self.last_stack is not None else self.sole_line

    @cached_property
    def last_stack(self) -> LastStack | None:
        """Where a cell that was killed from outside was, by the last stack that was read; None when that is too old."""
        if self.cell is None or self.cell.finished or self.status.exit_code is not None or self.traceback is not None:
            return None
        return last_stack(self.recording, self.cell)

    @cached_property
    def background(self) -> Frame | None:
        """Where it crashed in a thread that runs no cells: in the innermost function of a cell, else of all."""
        if self.traceback is None or not is_background(self.traceback):
            return None
        frames = self.traceback.current.frames
        return next((frame for frame in frames if self.cell_of(frame) is not None), frames[0])

    @property
    def native_thread(self) -> bool:
        """Whether it crashed in a thread that a library started: the line that the cell was at is innocent."""
        return self.traceback is not None and self.traceback.without_python

    @cached_property
    def innermost(self) -> Frame | None:
        """The Python function nearest to the crash."""
        frames = self.traceback.current.frames if self.traceback else ()
        return frames[0] if frames else None

    @cached_property
    def _cell_files(self) -> CellFiles:
        return CellFiles(self.recording.cells)

    def cell_of(self, frame: Frame) -> Cell | None:
        """Return the cell whose code a frame executes."""
        return self._cell_files.cell_of(frame)

    def place(self, frame: Frame) -> str:
        """Return "cell [1], line 4" as the user sees it, or "numpy/core.py, line 7"."""
        owner = self.cell_of(frame)
        line = frame.line if owner is None else user_line(owner, frame)
        if owner is None and is_cell_file(frame.file):  # its source was not recorded, or not as a whole
            return "a cell"
        name = frame.short_file if owner is None else cell_name(owner.execution_count)
        return name if line is None else f"{name}, line {line}"

    def name(self, frame: Frame) -> str:
        """Return the function and its place: "`w` (cell [1], line 4)"."""
        return self.place(frame) if frame.function == "<module>" else f"{quote(frame.function)} ({self.place(frame)})"

    def where(self, line: int | None = None) -> str:
        """Return "in cell [2] on `code`", as much of it as is known."""
        if self.background is not None:
            return f"in a background thread, in {self.name(self.background)}, {self.when()}"
        if self.native_thread:
            return f"in a thread of its own, {self.when()}"
        if self.cell is None:
            return self.when()
        loop = self.last_stack.loop if line is None and self.ended and self.last_stack is not None else None
        line = loop or line or self.line
        lines = self.cell.source.split("\n")
        code = statement(lines[line - 1]) if line is not None and 0 < line <= len(lines) else ""
        place = f"in {cell_name(self.cell.execution_count)}"
        on = " on" if loop is None else ", in the loop"
        return f"{place}{on} {quote(code)}" if code else place

    def when(self) -> str:
        """Return "while cell [2] was running"."""
        if self.stopped_early:
            return "after its recording had stopped"
        if self.last_cell_is_unknown:
            return "at a moment that was not recorded"
        if self.cell_may_be_unheard:
            return "while no cell was seen to run"
        running = "no cell" if self.cell is None else cell_name(self.cell.execution_count)
        return f"while {running} was running"


def _of_cells(thread: Thread) -> tuple[Frame, ...]:
    return tuple(frame for frame in thread.frames if frame.file.startswith("<") or "ipykernel_" in frame.file)
