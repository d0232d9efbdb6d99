"""`arithmetic-fault`: a calculation in machine code that the processor refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause
from ..certainty import certainty
from ..examples import cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_kerneldoctor.recording.evidence import Incident
    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death


class ArithmeticFault(Cause):
    """Native code did a calculation that the processor refuses: nearly always an integer divided by zero.

    What it means
    -------------
    Python and NumPy check a division and raise an error or warn. Native code that does not check, in C, C++, Fortran or
    code that was compiled on the fly, makes the processor stop the program. It is about whole numbers: dividing a
    floating-point number by zero gives infinity. The smallest integer divided by -1 does the same, as the result does
    not fit.

    How it is recognised
    --------------------
    The process was ended by SIGFPE, the signal for an impossible calculation (signal(7)), and the cell did not send
    that signal itself.

    What to do
    ----------
    Check the divisor for zero before the call, or compute in floating point. Look for an empty array, a batch or a
    step of size 0 among the arguments. A compiler's option for trapping (`-ffpe-trap`, `feenableexcept`) turns
    floating-point errors into the same crash; leave it off.

    Example
    -------
    `ctypes.CDLL(None).div(1, 0)` divides in C.
    """

    id = "arithmetic-fault"
    title = "Division by zero in native code"
    family = Family.NATIVE_CRASH
    incidents = LOST_WORKER

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end or death.signal != "SIGFPE":
            return None
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, 0.95),
            f"Native code did a calculation that the processor refuses, most likely a whole number divided by 0, "
            f"{death.where()}.",
            evidence=(
                *evidence.exit_status(death),
                Evidence(
                    "The processor raises this for whole numbers only: a division by zero, or a quotient that does not "
                    "fit. In floating point the result is infinity or not a number.",
                    source="signal(7)",
                ),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_memory(death), exclusions.not_asked_for(death), exclusions.not_by_itself(death)
            ),
            line=death.line,
            summary="Impossible calculation in native code (SIGFPE)",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:  # noqa: ARG002
        """Explain a worker process that was lost at an impossible calculation in native code."""
        worker = death.lost_worker
        if worker is None or worker.signal != "SIGFPE":
            return None
        told = f"A worker process was lost, at an impossible calculation in native code, {death.where()}"
        title = "A worker process crashed"
        return self.finding(death, 0.9, f"{told}; the kernel lived on.", worker.evidence(), title=title)

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """With a report, without one, and where only the report is left."""
        cell = "lib.mean(values, 0)"
        report = crash_report("Floating-point exception", (cell_file(cell), 1, "<module>"))
        yield recording("import ctypes", cell, signal="SIGFPE", crash=report)
        yield recording("import stats_ext\nstats_ext.mean([])", signal="SIGFPE", server="watched")
        yield recording(cell, end="status-unknown", crash=report)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """An exception of Python's, the same signal sent on purpose, another signal."""
        yield recording("1 // 0", alive=True, idle=True)
        yield recording("import os\nos.kill(os.getpid(), 8)", signal="SIGFPE")
        yield recording("lib.mean(values, 0)", signal="SIGSEGV")
