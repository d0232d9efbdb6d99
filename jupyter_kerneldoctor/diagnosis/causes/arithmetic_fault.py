from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, WorkerEnd
from ..examples import crash_in, recording


class ArithmeticFault(Cause):
    """Native code did a calculation that the processor refuses: nearly always an integer divided by zero.

    What it means: Python and NumPy check a division and raise an error or warn. Native code in C, C++, Fortran, or
    compiled on the fly, may not check; then the processor stops the program. It is about whole numbers: dividing a
    floating-point number by zero gives infinity. The smallest integer divided by -1 does the same, as the result does
    not fit.

    How it is recognised: The process was ended by SIGFPE, the signal for an impossible calculation (signal(7)), and the
    cell did not send that signal itself.

    What to do: Check the divisor for zero before the call, or compute in floating point. Look for an empty array, a
    batch or a step of size 0 among the arguments. Compiler options that trap floating-point errors (`-ffpe-trap`,
    `feenableexcept`) make them end the program in the same way; leave them off.

    Example: `ctypes.CDLL(None).div(1, 0)` divides in C.
    """

    id, title, family = "arithmetic-fault", "Division by zero in native code", Family.NATIVE_CRASH
    incidents = LOST_WORKER
    worker_end = WorkerEnd("SIGFPE", Certainty.STRONG, "most likely divided by 0 in native code")

    def judge(self, death: Death) -> CauseFinding | None:
        if not death.is_unasked_end or death.signal != "SIGFPE":
            return None
        divided = f"Native code most likely divided a whole number by 0 {death.where()}"
        whole = "Processors refuse this for whole numbers only; in floating point the result is infinity or NaN."
        return self.finding(
            death,
            Certainty.STRONG,
            f"{divided}: the processor refused a calculation.",
            (Evidence(whole, source="signal(7)"),),
            summary="Impossible calculation in native code (SIGFPE)",
        )

    def fires_on(self) -> Recordings:
        """With a report, without one, and where only the report is left."""
        cell = "lib.mean(values, 0)"
        report = crash_in(cell, message="Floating-point exception")
        yield recording("import ctypes", cell, signal="SIGFPE", crash=report)
        yield recording("import stats_ext\nstats_ext.mean([])", signal="SIGFPE", server="watched")
        yield recording(cell, end="status-unknown", crash=report)

    def silent_on(self) -> Recordings:
        """An exception of Python's, the same signal sent on purpose, another signal."""
        yield recording("1 // 0", alive=True, idle=True)
        yield recording("import os\nos.kill(os.getpid(), 8)", signal="SIGFPE")
        yield recording("lib.mean(values, 0)", signal="SIGSEGV")
