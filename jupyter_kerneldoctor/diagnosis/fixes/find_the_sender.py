"""The fix `find-the-sender`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from ._examples import Example
from ._rule import Draft, FixRule

if TYPE_CHECKING:
    from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook
    from jupyter_kerneldoctor.diagnosis.context import FixContext
    from jupyter_kerneldoctor.diagnosis.postmortem import Applicability
    from jupyter_kerneldoctor.recording.model import End

_AROUND = timedelta(seconds=30)


class FindTheSender(FixRule["End"]):
    """Find out who ended the kernel.

    What it does
    ------------
    Lists who sends signals to kernels, and a command that shows what the machine's log says around that second.

    When it is offered
    ------------------
    A signal ended the kernel, and neither memory nor the program itself explains it.

    What it costs
    -------------
    Nothing. Reading the log may need an administrator.

    Example
    -------
    `journalctl --since "2026-11-21 03:21:06 UTC" --until "2026-11-21 03:22:06 UTC" | grep -iE "4242|kill|oom|evict"`
    """

    id = "find-the-sender"
    title = "Find out who sent the signal"
    causes = ("killed-externally",)
    applicability: ClassVar[Applicability] = "advice"

    def detect(self, context: FixContext, code: Notebook) -> End | None:  # noqa: ARG002 - same for all rules
        """The end, when it was a signal."""
        end = context.recording.end
        return end if end is not None and end.kind == "signal" else None

    def fix(self, context: FixContext, code: Notebook, found: End) -> Draft:  # noqa: ARG002 - same for all rules
        """A command with this death's time and process id."""
        pid = context.recording.kernel.process.pid
        why = (
            f"{found.signal or 'The signal'} to process {pid} came from outside. Those who send it: a person or a "
            "script, a job scheduler at its time or memory limit, a cluster that moves pods, a service that ends idle "
            "kernels, a guard such as earlyoom."
        )
        try:
            died = datetime.fromtimestamp(found.wall_s, UTC)
        except (OverflowError, OSError, ValueError):
            return Draft(why)
        since, until = (f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in (died - _AROUND, died + _AROUND))
        return Draft(why, snippet=f'journalctl --since "{since}" --until "{until}" | grep -iE "{pid}|kill|oom|evict"')

    examples = (
        Example(cells=("import time\ntime.sleep(30)",), cause="killed-externally", growth="none", says=("4242", "UTC")),
        Example(cells=("import time\ntime.sleep(30)",), cause="self-kill", growth="none", fires=False),
    )
