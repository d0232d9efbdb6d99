from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Child

from ..analysis.failed_children import failed_children
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings
from ..examples import GIB, Group, recording
from ..examples.stuck import frame, stuck_in
from ..texts import evidence, observed_while, stuck_cell
from ..units import cell_name, plural

_SILENT_S = 15.0
"""The recorder of an idle kernel looks every 5 s."""
_LONG_S = 10.0
"""A cell that runs for so long may be one that never ends."""


class NoDeath(Cause):
    """The kernel is running, and there is nothing to report.

    What it means: The process of this recording is alive, and nothing shows that it is stuck. It computes, is idle, or
    waits for something that can still come: the network, a program that it started, or the end of a `sleep`.

    How it is recognised: A process with the same id, the same start time and on the same boot of the machine exists. If
    its cell does nothing, the stacks show a thread or a process that can end the wait. The kernel also lives on when
    Linux kills one of its child processes for memory, or when one crashes.

    What to do: Nothing.

    Example: A report asked for while the notebook is open.
    """

    id, title, family = "no-death", "The kernel is running", Family.ALIVE

    def judge(self, death: Death) -> CauseFinding | None:
        if death.ended is not False:
            return None
        pid, lost = death.recording.kernel.process.pid, _lost_now(death)
        told = f"; Linux killed {lost} of its child processes for memory" if lost else ""
        return self.finding(
            death,
            _certainty(death),
            f"The kernel is running{told}{_and(death)}.",
            (
                Evidence(f"Process {pid} is alive.", pid, None, "process list"),
                *stuck_cell.evidence(death.stuck_cell),
                *observed_while.evidence(death),
                *_lost_children(death),
                *evidence.recorder_gone(death),
            ),
            line=None,
        )

    def fires_on(self) -> Recordings:
        """Alive: busy, idle, close to its limit, or no longer recorded."""
        yield recording("f()", alive=True)
        yield recording("f()", alive=True, idle=True)
        near = Group(1 * GIB, limit_hits=(0, 700), usage_bytes=1 * GIB)
        yield recording("f()", alive=True, memory=(1 * GIB,), groups=[near])
        yield recording("f()", alive=True, switched_off=True)
        yield recording("f()", alive=True, lost=True)
        yield stuck_in("time.sleep(600)", 1, waits_in="hrtimer_nanosleep")
        yield stuck_in("page = urlopen(url)", 1, frame("socket.py", "readinto"), waits_in="wait_woken")
        yield stuck_in("with lock: pass", 1, waits_in="futex_wait_queue", over=True)

    def silent_on(self) -> Recordings:
        """Gone, with or without an end, or on another machine; and alive, but stuck."""
        yield stuck_in("with lock: pass", 1, waits_in="futex_wait_queue")
        yield recording("f()", signal="SIGKILL")
        yield recording("f()", end="not-seen")
        yield recording("f()", end="not-seen", alive=None)


def _certainty(death: Death) -> Certainty:
    silent_s = death.recording.silent_s
    if silent_s is not None and silent_s > _SILENT_S and not death.stopped_early:
        return Certainty.POSSIBLE  # nobody has looked for a while
    if death.recording.running_cell is None:
        return Certainty.LIKELY if failed_children(death.recording) else Certainty.PROVEN
    is_long = (death.memory.running_s or 0) >= _LONG_S  # whether it will ever be done, nobody can tell from outside
    return Certainty.LIKELY if is_long or death.stuck_cell or failed_children(death.recording) else Certainty.STRONG


def _ended_for_memory(death: Death) -> list[Child]:
    return [child for child in death.recording.children if child.oom_kills and child.signal == "SIGKILL"]


def _lost_now(death: Death) -> int:
    """How many processes Linux killed for memory since the last cell began."""
    cells = death.recording.cells
    since = cells[-1].started_mono_s if cells else 0.0
    return sum(child.mono_s >= since for child in _ended_for_memory(death))


def _and(death: Death) -> str:
    if death.recording.switched_off:
        return "; recording was switched off"
    if death.stopped_early:
        return ". It is no longer recorded, because the recorder is gone; `%kerneldoctor on` starts a new recording"
    if (look := death.look) is not None and death.cell is not None:
        return f"; {cell_name(death.cell.execution_count)} {look.does}{look.at()}"
    return "" if _lost_now(death) else ", and there is nothing to report"


def _lost_children(death: Death) -> Iterator[Evidence]:
    if lost := _ended_for_memory(death):
        told = f"Linux killed {plural(len(lost), 'child process')} of the kernel for memory; the kernel lives on."
        yield Evidence(told, len(lost), "processes", "the control group's count of memory kills")
