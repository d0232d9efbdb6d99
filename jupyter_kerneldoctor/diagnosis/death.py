"""A death as causes, fixes and texts see it: the recording, and the facts that follow from it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from jupyter_kerneldoctor.recording.events import Incident
from jupyter_kerneldoctor.recording.model import Cell

from .analysis.call_reached import Reached, reached
from .analysis.failed_thread import FailedThread, failed_thread
from .analysis.growth import Growth
from .analysis.loop_total import LoopTotal, loop_total
from .analysis.memory_shape import Shape, shape
from .analysis.observed_loop import observed_loop
from .analysis.running_lines import running_lines
from .analysis.self_deadlock import TakenAgain, taken_again
from .analysis.statements import short_name, statement_at, statement_with
from .analysis.user_frames import UserFrame, user_frames
from .code.deep_calls import DeepCall, deep_call
from .code.deferred_calls import deferred_calls
from .code.ending_calls import EndingCall, call_at, ending_calls
from .code.endless_loops import EndlessLoop
from .code.literals import number
from .code.mapped_files import cut_while_mapped
from .code.notebook import Call, Notebook
from .code.scopes import Scope as CodeScope
from .code.shell import Aim
from .code.signal_targets import Sending, sendings
from .code.timers import Timer, lost_handlers, timers
from .code.values import Values
from .code.zeroed import reserved_before
from .death_site import DeathSite
from .family import Family
from .frameworks.kept_graphs import stores_of_graphs
from .postmortem import Caller, CauseFinding, Statement
from .units import quote

_ALMOST = 0.93  # of the limit
_SMALL_STACK = 1 << 20  # NumPy, pandas and regular expressions take some hundred KiB
_IDLE_BYTES = 100 << 20  # of a kernel's data were never written to in an idle kernel: room of threads and allocators


@dataclass(frozen=True)
class Death(DeathSite):
    """A kernel's end with the code that ran: what stood where, which line ran, what memory grew in."""

    def at(self, incident: Incident) -> Death:
        """Return the kernel at one of its incidents."""
        return replace(self, incident=incident)

    def judged(self, causes: tuple[CauseFinding, ...]) -> Death:
        """Return the same death with the causes that were found."""
        judged = replace(self, causes=causes)
        vars(judged)["code"] = self.code.at(self.cell, causes[0].line)  # what was read is read once
        return judged

    def edited(self, sources: Mapping[int, str]) -> Death:
        """Return the same death with another text in some cells, by index, as if that had been what ran."""
        edited = replace(self)
        vars(edited)["code"] = self.code.edited(sources)
        vars(edited)["growth"] = self.growth  # it was charged to the lines as they were
        return edited

    @cached_property
    def memory_shape(self) -> Shape | None:
        """The shape the memory had; None when too little was measured, or what was measured cannot be."""
        try:
            return shape(self.memory, self.find(reserved_before) or ())
        except (ArithmeticError, ValueError, TypeError):
            return None

    @cached_property
    def values(self) -> Values:
        """What names and expressions stood for."""
        seq = None if self.cell is None else self.cell.seq
        held = [one for look in self.recording.held if look.cell_seq == seq for one in look.objects]
        return Values(self.code, self.recording.namespaces, held)

    @cached_property
    def calls(self) -> tuple[EndingCall, ...]:
        """The calls in the cell that end the kernel."""
        return self.find(ending_calls) or ()

    @cached_property
    def sendings(self) -> tuple[Sending, ...]:
        """The calls in the cell that send the signal that ended it, where the code does not show to which process."""
        found = self.find(sendings) or ()
        return tuple(one for one in found if None in (one.signal, self.signal) or one.signal == self.signal)

    @cached_property
    def own_signals(self) -> tuple[EndingCall, ...]:
        """The calls in the cell that send the kernel's own process the very signal that ended it."""
        calls = tuple(call for call in self.calls if call.kind == "signal" and self._came_from(call))
        return calls or self._signal_in_the_crash

    def aims_at(self, *aims: Aim) -> bool:
        """Whether the call that ended the kernel was meant for more than the kernel: its group, all processes."""
        return any(one.aim in aims for one in self.calls if one.signal in (None, self.signal))

    def statement_that_ends(self, line: int | None) -> Statement | None:
        """Return the statement of a function that ends the kernel: that of a line, or the one that all calls reach."""
        asks = [one.place for one in self.calls if one.kind == "ask" and self.told_to_exit]
        places = set(asks if line is None else [one.place for one in self.calls if one.line == line][:1])
        if self.cell is None or len(places) != 1 or (place := places.pop()) is None:
            return None
        found = statement_at(self.code, self.code.cells[place[0]], place[1])
        via = () if line is None else (Caller(self.cell.execution_count, self.cell.cell_id, line, None, None),)
        return replace(found, via=via) if found.function is not None else None

    @cached_property
    def lock_taken_again(self) -> TakenAgain | None:
        """The asyncio lock that the coroutines of the running cell take twice."""
        waits = None if self.ended or self.stuck_cell is None else self.stuck_cell.main
        return self.find(taken_again) if waits is not None and waits.needs_an_event else None

    @cached_property
    def failed_thread(self) -> FailedThread | None:
        """The thread that ended with an error, and would have ended the wait of the running cell."""
        return None if self.ended or self.stuck_cell is None else failed_thread(self.stuck_cell, self.find)

    @cached_property
    def endless_loop(self) -> EndlessLoop | None:
        """The loop that does not end, which the running cell was in whenever somebody looked at it for long."""
        return observed_loop(self.look_frames, self.busy_cell, self.find)

    @property
    def look_frames(self) -> tuple[UserFrame, ...]:
        """The user's frames when the running cell was last looked at, innermost first."""
        look = None if self.ended else self.look
        return () if look is None else user_frames(look.main.frames, self.frames, None)

    def ended_by(self, call: EndingCall) -> str:
        """Return "with `os._exit(1)`", or "in `stop` (cell [1], line 3: `os._exit(1)`)"."""
        found = self.statement_that_ends(call.line)
        return f"with {quote(call.text)}" if found is None else short_name(found)

    @cached_property
    def _signal_in_the_crash(self) -> tuple[EndingCall, ...]:
        """The call that the crash report itself stands at, in whichever function or method."""
        frame = next(iter(self.user_frames), None)
        if self.traceback is None or self.crash_line is None or frame is None or frame.cell is None:
            return ()
        cell, line = frame.cell, frame.line
        found = self.find(lambda code: call_at(code, code.index(cell), line))
        is_it = found is not None and found.kind == "signal" and found.signal == self.signal
        return (replace(found, line=self.crash_line),) if found is not None and is_it else ()

    @cached_property
    def deferred_calls(self) -> tuple[tuple[Cell, EndingCall], ...]:
        """The calls that fit the end and that a cell gave to a timer or thread; none where the last one explains it."""
        if self.own_signals or self.crash_line is not None:
            return ()
        return tuple((cell, call) for cell, call in self.find(deferred_calls) or () if self._fits_the_end(call))

    @cached_property
    def timer(self) -> Timer | None:
        """The last timer that a cell started and that sends the signal which ended it."""
        if self.signal not in ("SIGALRM", "SIGVTALRM", "SIGPROF"):
            return None
        found = (one for one in reversed(self.find(timers) or ()) if one.signal in (self.signal, None))
        return next((one for one in found if not one.text.endswith(("(0)", ", 0)"))), None)

    @cached_property
    def lost_handler(self) -> Call | None:
        """The call with which a cell gave the signal that ended it its default action: to end the process."""
        signal = self.signal
        return None if signal is None else next(iter(self.find(lambda code: lost_handlers(code, signal)) or ()), None)

    @cached_property
    def small_stacks(self) -> Call | None:
        """The last call that gave new threads a stack much smaller than the usual one."""
        found = self.find(lambda code: list(code.calls("threading.stack_size"))) or []
        sizes = ((call, number(call.node.args[0]) if call.node.args else None) for call in found)
        return next((call for call, size in sizes if size is not None and 0 < size < _SMALL_STACK), None)

    def statement_behind(self, cause: CauseFinding) -> Statement | None:
        """Return the statement of any cell that arranged for the end: a timer, a handler, a call for a thread."""
        if cause.family == Family.NATIVE_CRASH and not cause.general and not self.user_frames and self.small_stacks:
            return statement_with(self.code, self.small_stacks.node, self.small_stacks.scope)
        if cause.family == Family.NATIVE_CRASH and not self.user_frames:
            return self.find(self._call_into_the_crash)
        if cause.family == Family.LIMIT and self.signal == "SIGBUS" and not self.environment.full:
            cut = self.find(cut_while_mapped)
            return cut and statement_with(self.code, cut.by, cut.scope)
        if cause.family != Family.OWN_END or cause.general or self.signal == "SIGTRAP":
            return None
        if self.deferred_calls:
            cell, call = self.deferred_calls[-1]
            return statement_at(self.code, cell, call.line)
        if self.lost_handler is not None:
            return statement_with(self.code, self.lost_handler.node, self.lost_handler.scope)
        return None if self.timer is None else statement_at(self.code, self.timer.cell, self.timer.line)

    def _call_into_the_crash(self, code: Notebook) -> Statement | None:
        """Return the one statement that calls the library whose own thread crashed; None where there are several."""
        frames = () if self.traceback is None else self.traceback.current.frames
        libraries = {one.module for one in frames if "-packages/" in one.file}
        calls = {one.statement: one for one in code.running.calls() if one.name.partition(".")[0] in libraries}
        found = [statement_with(code, one.node, one.scope) for one in calls.values()]
        return found[0] if len(found) == 1 else None

    def _fits_the_end(self, call: EndingCall) -> bool:
        if call.kind == "signal":
            return self.signal is not None and call.signal in (None, self.signal) and self.signal != "SIGINT"
        code = self.status.exit_code
        return call.kind == "exit" and code is not None and call.exit_code in (None, code)

    @property
    def is_of_this_cell(self) -> bool:
        """Whether memory ran out because of what the cell itself took, or asked for and was refused."""
        refused = bool(self.causes) and self.causes[0].id == "allocation-refused"
        return self.is_about_memory and (self.memory.grew_here or refused)

    @cached_property
    def ran_before(self) -> bool:
        """Whether the same cell ran to its end before, or to an error: what it left may be what is too much."""
        text = "" if self.cell is None else self.cell.source.strip()
        return any(one.finished and text in one.source for one in self.recording.cells if one is not self.cell)

    def worked_before(self, call: Call) -> bool:
        """Whether the same call came to its end in an earlier cell: then it is not this call alone that is too much."""
        text = call.text if call.scope.is_cell or self.cell is None else self.cell.source.strip()
        return any(one.finished and one.error is None and text in one.source for one in self.recording.cells)

    @cached_property
    def safe_headroom_bytes(self) -> int | None:
        """How much the cell may take and live: up to 93 % of the limit; None where no limit is known."""
        limit, memory = self.memory.limit_bytes, self.memory
        before = memory.before_bytes if memory.refusal is None else memory.used_before_bytes
        return None if limit is None or before is None else int(_ALMOST * limit) - before

    @property
    def wanted_bytes(self) -> int:
        """What the cell took, or what it asked for and was refused; 0 where neither is known."""
        return max(self.memory.missing_bytes or 0, self.refused_bytes or 0)

    @cached_property
    def asked_bytes(self) -> int | None:
        """How much the cell had been promised at the end, at least: what Linux counts before it is written to, too.

        proc(5) calls it VmData. None where the end was not looked at.
        """
        ends = [one.data_bytes for one in self.recording.system_states if one.when == "end" and one.data_bytes]
        before = self.memory.before_bytes
        return max(0, ends[-1] - before - _IDLE_BYTES) if ends and before is not None else None

    @cached_property
    def recorded_types(self) -> Mapping[str, str]:
        """The full names of the types of the variables that were recorded last, by name."""
        looks = [
            one for one in self.recording.namespaces if self.cell is None or one.mono_s <= self.cell.started_mono_s
        ]
        return {one.name: one.type for look in looks[-1:] for one in look.objects if not one.hidden}

    def was_running(self, node: ast.expr | ast.stmt, scope: CodeScope) -> bool:
        """Whether a node may have been running at the end: false only where the last stack, or the line, denies it."""
        if self._running_lines is None:
            return self.code.is_at_line(node, scope)
        last = node.end_lineno or node.lineno
        return any(cell == scope.cell and node.lineno <= line <= last for cell, line in self._running_lines)

    @cached_property
    def _running_lines(self) -> Sequence[tuple[int, int]] | None:
        return running_lines(self.recording, self.code, self.user_frames, self.growth)

    def reached(self, call: EndingCall) -> Reached:
        """Say whether the cell had reached a call when the kernel ended."""
        return reached(call, self.recording, self.cell, self.crash_line, is_fresh=self.last_stack is not None)

    def _came_from(self, call: EndingCall) -> bool:
        if call.signal == "SIGINT" or self.crash_line not in (None, call.line):
            return False
        if self.background is not None and self.crash_line is None:
            return False
        if self.reached(call) == "passed":
            return False
        return None in (call.signal, self.signal) or call.signal == self.signal

    @cached_property
    def deep_call(self) -> DeepCall | None:
        """The recursion that the user's own line started, as far as the code of a crash shows one."""
        frame = self.user_frames[0] if self.user_frames and self.signal == "SIGSEGV" else None
        if frame is None or frame.cell is None:
            return None
        at, line = self.recording.cells.index(frame.cell), frame.line
        return self.find(lambda code: deep_call(code, at, line))

    @cached_property
    def growth(self) -> Growth:
        """What the memory of the cell grew in."""
        return Growth(self.memory, self.memory_shape, self.code, self.frames, stores_of_graphs)

    @cached_property
    def loop_total(self) -> LoopTotal | None:
        """What all rounds of the loop that fills a list would take."""
        return self.find(lambda _: loop_total(self.growth, self.statement_at(self.line), self.values))
