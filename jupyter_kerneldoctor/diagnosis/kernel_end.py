"""How a kernel ended, what it said before, and which cell was running, as a recording shows it."""

from dataclasses import dataclass
from functools import cached_property

from jupyter_kerneldoctor.recording.events import Incident, Stuck
from jupyter_kerneldoctor.recording.model import Cell

from .analysis import gpu_messages
from .analysis import traceback as tracebacks
from .analysis.busy_cell import BusyCell, busy_cell
from .analysis.ending import CRASHES, RecordedEnd
from .analysis.environment import Environment, at_incident, at_the_end
from .analysis.frame_names import FrameNames
from .analysis.gpu_memory import GpuMemory
from .analysis.gpu_messages import ENDS as _ENDS_OF_LIBRARIES
from .analysis.gpu_messages import last_message
from .analysis.last_look import last_look
from .analysis.last_words import (
    FRESH_S,
    Pattern,
    Words,
    farewell,
    gave_up_later,
    last_line,
    naming_a_cause,
    newest_text,
)
from .analysis.lost_workers import LostWorker, lost_worker
from .analysis.memory import Memory
from .analysis.memory_pressure import MemoryPressure, memory_pressure
from .analysis.memory_refusals import Refusal, is_used_up, refusals
from .analysis.oom_log import OomKill, Scope, oom_kill
from .analysis.stack_fault import Fault, logged_fault
from .analysis.stuck_cell import StuckCell
from .analysis.traceback import Traceback
from .certainty import Certainty
from .family import Family
from .postmortem import CauseFinding

_LARGE = 0.1  # of the machine's memory: what holds less is not the largest where it is used up


@dataclass(frozen=True)
class KernelEnd(RecordedEnd):
    """A kernel's end, its life so far, or an incident that it survived; the code that ran is not looked at.

    Each property is computed when it is first read.
    """

    patterns: tuple[Pattern, ...] = ()
    """What last words look like that name a cause."""
    incident: Incident | None = None
    """The incident that is asked about, in place of the end: `cell`, `line` and `environment` are those of it."""
    causes: tuple[CauseFinding, ...] = ()
    """The causes that fit, likeliest first, once they were judged: fixes and texts see them, causes do not."""
    is_past: bool = False
    """It is a wait, or a loop, as it was before somebody ended it: a look at the kernel now shows nothing of it."""

    @cached_property
    def likely_causes(self) -> frozenset[str]:
        """The causes that are at least half as likely as the first, and their families.

        What is known only for weak signs is none of them beside another; that it crashed or was killed is no sign.
        """
        first = self.causes[:1]
        others = [one for one in self.causes[1:] if one.general or one.certainty > Certainty.WEAK]
        likely = [one for one in (*first, *others) if one.certainty >= first[0].certainty / 2]
        return frozenset(name for one in likely for name in (one.id, one.family))

    @property
    def is_about_memory(self) -> bool:
        """Whether the likeliest cause is that memory ran out."""
        return bool(self.causes) and self.causes[0].family == Family.MEMORY

    @property
    def server_watched(self) -> bool:
        """Whether a Jupyter server with KernelDoctor watched the kernel: it would have noted a request."""
        return self.recording.server.returncode is not None

    @cached_property
    def cell(self) -> Cell | None:
        """The cell that was running at the end, or after an `exit()` the one that called it; the running one now."""
        if self.incident is not None:
            return self.recording.execution(self.incident.cell_seq)
        recorder_stands_still = self.is_unseen and self.recording.recorder_alive is True
        if self.ended is None or self.stopped_early or recorder_stands_still:
            return None  # a cell in the middle of which the recording stopped is no cell that died
        if self.ended and self.told_to_exit:
            asked = [cell for cell in self.recording.cells if cell.asked_exit]
            if asked:
                return asked[-1]
        return self.recording.running_cell

    @cached_property
    def last_cell_is_unknown(self) -> bool:
        """Whether cells may have run that were not recorded before the end."""
        return self.is_unseen and self.cell is None

    @property
    def cell_may_be_unheard(self) -> bool:
        """Whether a cell may have ended it before the server heard of that cell.

        A kernel that has not loaded KernelDoctor announces a cell from ipykernel's IOPub thread, and a crash within the
        first milliseconds ends that thread, too.
        """
        from_outside, by_itself = self.recording.kernel.loaded_by == "server", self.status.signal in CRASHES
        return from_outside and self.cell is None and (by_itself or self.status.exit_code is not None)

    @cached_property
    def stuck_cell(self) -> StuckCell | None:
        """The running cell, if it does nothing; None when it works, or none runs."""
        if self.ended is not False or self.stopped_early:
            return None
        last = last_look(self.recording)
        return None if last is None else StuckCell(self.recording, self.frames, last)

    @cached_property
    def busy_cell(self) -> BusyCell | None:
        """The running cell, if it is at work for long; None when it does nothing, or none runs."""
        at_work = self.ended is False and not self.stopped_early and self.stuck_cell is None
        return busy_cell(self.recording) if at_work else None

    @property
    def look(self) -> StuckCell | None:
        """What the running cell did when it was last looked at, whether it waits or works."""
        if self.stuck_cell is not None or self.busy_cell is None:
            return self.stuck_cell
        last = self.busy_cell.looks[-1]
        return StuckCell(self.recording, self.frames, Stuck(last.mono_s, last.mono_s, last.children, last.threads))

    @property
    def refused_bytes(self) -> int | None:
        """How much was asked for at once and refused; None where that is not known."""
        return None if self.incident is None else self.incident.asked_bytes

    @cached_property
    def memory(self) -> Memory:
        """The memory of the kernel while the cell ran, and its limits; that of the graphics card where it was full."""
        if self.causes and self.causes[0].id == "gpu-oom":
            return GpuMemory(self.recording, self.cell, ran_out=True, incident=self.incident)
        killed = self.ended is True and self.status.exit_code is None and self.signal not in CRASHES
        limits: tuple[Refusal, ...] = ()
        if self.causes and self.causes[0].id == "allocation-refused":
            limits = refusals(self.environment, self.recording.kernel.ram_bytes, self.refused_bytes, refused=True)
        of_process = next((one for one in limits if one.used_bytes is not None), None)
        full = next((one.mono_s for one in self.recording.system_states if is_used_up(one)), None)
        full = None if of_process is None else full
        return Memory(self.recording, self.cell, self.is_about_memory and killed, self.refused_bytes, of_process, full)

    @cached_property
    def memory_pressure(self) -> MemoryPressure:
        """How short of memory the machine was at the last measurement."""
        return memory_pressure(self.recording, self.environment.known)

    @property
    def would_be_ended_by_a_memory_service(self) -> bool:
        """Whether a service that watches over memory had a reason to end this very process with that signal.

        They end what holds most. SIGTERM is also how runners, `timeout` and batch systems end a kernel, so that it
        counts only below what earlyoom kills at, or under pressure.
        """
        held, ram, pressure = self.memory.held_bytes, self.recording.kernel.ram_bytes, self.memory_pressure
        if held is not None and ram and held < _LARGE * ram:
            return False
        return self.status.signal != "SIGTERM" or pressure.is_nearly_gone or pressure.is_pressed

    @cached_property
    def traceback(self) -> Traceback | None:
        """The report of faulthandler on the signal that ended it."""
        if self.status.exit_code is not None:
            return None
        return tracebacks.fitting(self.recording.crash_text, self.status.signal)

    @cached_property
    def signal(self) -> str | None:
        """The signal that ended it; where the exit status is not known, that of the crash report."""
        if self.status.known or self.traceback is None:
            return self.status.signal
        return tracebacks.signal_of(self.traceback)

    @cached_property
    def environment(self) -> Environment:
        """Limits, file systems and threads when it ended."""
        if self.incident is not None:
            return at_incident(self.recording, self.incident)
        return at_the_end(self.recording)

    @cached_property
    def words(self) -> Words | None:
        """The last line it wrote that names a cause, if it ended by itself."""
        by_itself = self.signal in CRASHES or bool(self.status.exit_code) or not self.status.known
        if not by_itself or self.told_to_exit:
            return None
        named = naming_a_cause(self.text, self.patterns)
        return named[-1] if named else None

    def said(self, cause: str) -> Words | None:
        """Return the last words if they name this cause."""
        return self.words if self.words is not None and self.words.cause == cause else None

    @cached_property
    def outlived_its_words(self) -> bool:
        """Whether it went on after its last words, or another process wrote them, as a program that a cell runs."""
        if self.words is None:
            return False
        return gave_up_later(self.text[self.words.end :]) is not None or (self.words.final and self.never_aborted)

    @property
    def never_aborted(self) -> bool:
        """Whether it crashed and had not aborted before: faulthandler reports both."""
        reports = tracebacks.reports(self.recording.crash_text)
        return self.traceback is not None and all(one.message != "Aborted" for one in reports)

    @property
    def ended_by_itself(self) -> bool:
        """Whether it ended in a way in which a library ends a process."""
        by_itself = self.signal in _ENDS_OF_LIBRARIES or bool(self.status.exit_code)
        return self.is_unasked_end and not self.told_to_exit and by_itself

    @cached_property
    def gpu_message(self) -> gpu_messages.Words | None:
        """What a library said about a graphics card before it ended the process; None if it ended otherwise."""
        if not self.ended_by_itself:
            return None
        return last_message(self.text, self.signal, self.status.exit_code, self.traceback)

    def logged_kill(self, *scopes: Scope) -> OomKill | None:
        """Return what the log says of the end, if it was for memory of this scope; None if it left by itself."""
        end = self.recording.end
        if end is None or self.status.exit_code is not None:
            return None
        found = oom_kill(end.kernel_log, self.recording.kernel.process.pid)
        return found if found is not None and found.scope in scopes else None

    @cached_property
    def lost_worker(self) -> LostWorker | None:
        """The worker process that the incident reports as lost."""
        return None if self.incident is None else lost_worker(self.recording, self.incident)

    @cached_property
    def logged_fault(self) -> Fault | None:
        """What the log says of a segmentation fault of the thread that runs the cells; None where it says nothing."""
        return logged_fault(self.recording) if self.signal == "SIGSEGV" else None

    @cached_property
    def farewell(self) -> str | None:
        """The last line that reads like the end of a program, but names no cause."""
        return farewell(self.text)

    @cached_property
    def last_line(self) -> str | None:
        """The last line that the running cell wrote; it need not have to do with the end."""
        if self.cell is None or self.cell.finished:
            return None
        return last_line(self.text)

    @cached_property
    def text(self) -> str:
        """What it wrote shortly before the end, since the running cell began."""
        cell, end = self.cell, self.recording.end
        if cell is None or cell.finished or end is None:
            return newest_text(self.recording)
        return newest_text(self.recording, min(FRESH_S, max(0.0, end.mono_s - cell.started_mono_s)))

    @cached_property
    def frames(self) -> FrameNames:
        """Names the frames of its stacks."""
        return FrameNames(self.recording.cells)
