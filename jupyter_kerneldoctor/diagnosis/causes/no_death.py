"""`no-death`: it lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import proofs
from ..cause import Cause
from ..examples import GIB, Group, recording
from ..postmortem import CauseFinding, Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_kerneldoctor.recording.model import Recording

    from ..facts import Facts


class NoDeath(Cause):
    """The kernel is running, and there is nothing to report.

    What it means
    -------------
    The process that the recording speaks of is alive.

    How it is recognised
    --------------------
    A process with the same id, the same start time and on the same boot of the machine exists.

    What to do
    ----------
    Nothing.

    Example
    -------
    A report asked for while the notebook is open.
    """

    id = "no-death"
    title = "The kernel is running"

    def judge(self, facts: Facts) -> CauseFinding | None:
        """See the class's page."""
        if facts.ended is not False:
            return None
        pid = facts.recording.kernel.process.pid
        return CauseFinding(
            self.id,
            self.title,
            0.99,
            f"The kernel is running{_and(facts)}.",
            evidence=(Evidence(f"Process {pid} is alive.", pid, None, "process list"), *proofs.recorder_gone(facts)),
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """Alive: busy, idle, close to its limit, or no longer recorded."""
        yield recording("f()", alive=True)
        yield recording("f()", alive=True, idle=True)
        near = Group(1 * GIB, limit_hits=(0, 700), usage_bytes=1 * GIB)
        yield recording("f()", alive=True, memory=(1 * GIB,), groups=[near])
        yield recording("f()", alive=True, switched_off=True)
        yield recording("f()", alive=True, lost=True)

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Gone, with or without an end, or on another machine."""
        yield recording("f()", signal="SIGKILL")
        yield recording("f()", end="not-seen")
        yield recording("f()", end="not-seen", alive=None)


def _and(facts: Facts) -> str:
    if facts.recording.switched_off:
        return "; recording was switched off"
    if facts.stopped_early:
        return ", but recording has stopped, because the recorder is gone; `%kerneldoctor on` starts a new recording"
    return ", and there is nothing to report"
