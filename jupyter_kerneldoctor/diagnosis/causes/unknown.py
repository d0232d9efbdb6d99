from collections.abc import Iterator

from ..analysis.memory_refusals import NEAR
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote, size
from ..examples import MIB, Group, recording
from ..texts import evidence, exclusions
from ..units import cell_name, duration, plural, sentence

_JUST_BEFORE_S = 2.0


class Unknown(Cause):
    """The recording does not tell why the kernel ended; the report says what can be ruled out.

    What it means: None of the known causes fits well enough. KernelDoctor may not know this kind of end. Or facts are
    missing: the recording was switched off, the machine restarted, the disk that holds the recording was full, or the
    recorder was ended before the kernel or together with it.

    How it is recognised: No other cause is more likely than not knowing.

    What to do: Run the cell again with KernelDoctor on. If it ends the same way, the two recordings say more than one.
    If the last measurement was close to a memory limit, try it with less data first.

    Example: A container that was ended as a whole, the recorder with it.
    """

    id, title, family = "unknown", "Not known", Family.UNKNOWN

    def judge(self, death: Death) -> CauseFinding | None:
        if death.ended is False:
            return None
        ruled_out = () if death.missed_the_end else _ruled_out(death)
        return self.finding(
            death, Certainty.WEAK, _headline(death), _shown(death), ruled_out=ruled_out, line=death.crash_line
        )

    def fires_on(self) -> Recordings:
        """Nothing recorded the end, it cannot be seen from here, or the signal is one without a rule."""
        yield recording("f()", end="not-seen")
        yield recording("f()", end="not-seen", memory=(990 * MIB,))
        yield recording("f()", end="not-seen", alive=None)
        yield recording("f()", end="not-seen", memory=(1900 * MIB,), groups=[Group(2000 * MIB)], rebooted=True)
        yield recording("f()", end="status-unknown", groups=[Group(500 * MIB)])
        yield recording("f()", end="not-seen", switched_off=True)
        yield recording("f()", end="not-seen", lost=True)
        yield recording("f()", end="not-seen", recorder_alive=True)
        yield recording("f()", signal="SIGBUS")
        yield recording("x = 1", exit_code=3, idle=True)

    def silent_on(self) -> Recordings:
        """It runs, or another cause is likelier."""
        yield recording("f()", alive=True)
        yield recording("f()", signal="SIGSEGV")
        yield recording("f()", exit_code=0, request="message")


def _headline(death: Death) -> str:
    if death.missed_the_end and not death.recording.switched_off:
        after = "What happened to the kernel after that is not known."
        return f"Recording stopped{_during(death)}, because the recorder was gone. {after}"
    if death.ended is None:
        return "Whether this kernel still runs cannot be told from here, and its end was not recorded."
    if death.recording.switched_off:
        return "Recording was switched off before the kernel ended, so its end is not known."
    when = death.when()
    if death.recording.rebooted and death.recording.end is None:
        return f"The machine was restarted {when}, or the notebook moved to another machine. Nothing tells why."
    what = "what ran last, and what led to it," if death.last_cell_is_unknown else "what led to it"
    if death.signal is not None:
        return f"The kernel was ended by the signal {death.signal} {when}; {what} is not known."
    if death.status.exit_code is not None:
        return f"The kernel left with exit code {death.status.exit_code} {when}; {what} is not known."
    if death.last_cell_is_unknown:
        return f"The kernel ended {when}: what ran last, and why it ended, is not known{_near_limit(death)}."
    if death.is_unseen:
        return (
            f"The kernel ended, and nothing that was recorded tells why; {when.removeprefix('while ')} when the kernel "
            f"was last seen{_near_limit(death)}."
        )
    return f"The kernel ended {when}, and nothing that was recorded tells why{_near_limit(death)}."


def _during(death: Death) -> str:
    """The last cell that was recorded; it need not be the last that ran."""
    cells = death.recording.cells
    if not cells:
        return ""
    return f" {'after' if cells[-1].finished else 'during'} {cell_name(cells[-1].execution_count)}"


def _near_limit(death: Death) -> str:
    share = death.memory.share_of_limit
    if share is None or share < NEAR:
        return ""
    return f"; at the last measurement memory was at {min(share, 1):.0%} of its limit"


def _ruled_out(death: Death) -> Iterator[str | None]:
    yield exclusions.not_asked_for(death)
    yield exclusions.not_memory(death)
    yield exclusions.not_a_crash(death) if death.status.known else None
    yield exclusions.not_by_itself(death)
    known = death.environment
    if death.signal == "SIGBUS" and known.filesystems and not known.full and not known.shrunk:
        yield (
            "Not a full disk, full shared memory or a shortened file: as far as was seen, all file systems had room, "
            "and mapped files were whole."
        )


def _why_not(death: Death) -> str:
    if death.recording.recorder_alive:
        return "it is alive but does not answer, as it was stopped or the machine is very busy"
    restarted = "" if death.recording.rebooted is False else ", the machine was restarted"
    full = next((one for one in death.environment.full if "shm" not in one.roles), None)
    seen = "" if full is None else f"; {quote(full.path)} had {size(full.free_bytes or 0)} left at the last measurement"
    return f"it was ended, too{restarted}, or the disk that holds the recording was full{seen}"


def _shown(death: Death) -> Iterator[Evidence]:
    if death.ended is None:
        elsewhere = "The recording was made on another machine or in another container, or does not name the process."
        yield Evidence(elsewhere, source="journal")
        yield from evidence.recorder_gone(death)
    elif death.recording.switched_off:
        yield Evidence("The user switched the recording off.", source="journal")
    elif death.missed_the_end:
        yield from evidence.recorder_gone(death)
        pid = death.recording.kernel.process.pid
        yield Evidence(f"Process {pid} is gone by now.", pid, None, "process list")
    else:
        yield from _at_the_end(death)


def _at_the_end(death: Death) -> Iterator[Evidence]:
    yield from evidence.said_at_the_end(death) if death.status.exit_code else evidence.said_last(death.farewell)
    if death.recording.end is None and not death.stopped_early:
        yield Evidence(f"The recorder did not write the end: {_why_not(death)}.", source="journal")
        if death.recording.rebooted is not None:
            since = "The machine has restarted since" if death.recording.rebooted else "The machine did not restart"
            yield Evidence(f"{since}.", source="boot id")
    yield from evidence.counts_of_kills(death)
    yield from _interrupted_before(death)
    yield from evidence.last_measurement(death)
    if death.signal == "SIGBUS":
        yield Evidence(
            "SIGBUS comes when a mapped file or shared memory has no room or became shorter. A failing disk, network "
            "drive or memory causes it, too.",
            source="mmap(2)",
        )
    if death.recording.end is not None and (lost := death.recording.end.lost):
        told = f"{plural(lost, 'line')} of the recording could not be written: not everything is known."
        yield Evidence(told, lost, "lines", "journal")


def _interrupted_before(death: Death) -> Iterator[Evidence]:
    """Say that one more interrupt may have ended it: ipykernel (7.4) leaves with 0 if one comes when a cell is over."""
    cells, end = death.recording.cells, death.recording.end
    if not cells or end is None or death.status.exit_code != 0 or cells[-1].error != "KeyboardInterrupt":
        return
    since_s = end.mono_s - (cells[-1].ended_mono_s or 0.0)
    if since_s < _JUST_BEFORE_S:
        name = sentence(cell_name(cells[-1].execution_count))
        told = f"{name} was interrupted {duration(since_s)} before. An interrupt that comes between two cells"
        yield Evidence(f"{told} can end a kernel: nothing catches it there.", since_s, "s", "journal")
