from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import GpuSample, Xid

from ..analysis import gpu, gpu_messages
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote
from ..examples import GIB, Group, crash_in, recording
from ..examples.gpu import CARD, died, sample, survived
from ..texts import stuck_cell

_BUSY_PERCENT = 50
_RECENT_S = 30.0
_LAST_MINUTE_S = 60.0
_STRAINED = ("thermal", "power-brake", "hw-slowdown")
_UNREACHABLE = (79, 119)
"""After these a program waits for the card for ever, or is ended."""


class GpuHardware(Cause):
    """The graphics card failed, or its power or cooling did.

    What it means: The system lost contact with the card, its memory has errors that cannot be corrected, it got too
    hot, or the power supply could not keep up. Then the card stops, or the whole machine restarts. The program is not
    to blame.

    How it is recognised: The driver reports an error event (Xid) of the hardware: 79 (off the bus), 48, 63, 64, 94, 95
    (memory), 74, 119, 120; or the count of uncorrectable memory errors rose, within the last minute and on a card that
    the kernel used. It is proven where a library gave up with words about a card. Or the machine was restarted while
    the card worked hard, perhaps slowed down for heat or power; that alone is no more than a suspicion. Xid 13 and 31
    are mostly the program's.

    What to do: Tell the administrator the number of the Xid and the time. `nvidia-smi -q` shows temperature, power and
    memory errors; `sudo nvidia-smi -pl WATTS` lowers its power, to test that. Save checkpoints while you train.

    Example: Training on two cards with one power supply: the machine goes dark at the first large batch.
    """

    id, title, family = "gpu-hardware", "The graphics card failed", Family.GPU
    incidents = frozenset({"cuda-error"})

    def judge(self, death: Death) -> CauseFinding | None:
        if death.ended is False:
            return self._unreachable(death)
        if not death.is_unasked_end:
            return None
        moment_s, words = _last_s(death), death.gpu_message
        failed, errors = _failures(death, moment_s), tuple(_memory_errors(death, moment_s))
        said = (words.evidence,) if words is not None and words.trouble == "hardware" else ()
        if failed or said or errors:
            certainty = _certainty(death, words, failed, errors=bool(errors))
            headline = f"The graphics card failed {death.where()}{_why(failed) or ', and the kernel ended'}."
            summary = "Ended: the graphics card failed"
        elif (load := _restarted_under_load(death)) is not None:
            certainty = Certainty.POSSIBLE
            headline = f"The machine restarted {death.when()} and the graphics card worked hard{_throttled(load)}."
            summary = "Gone: the machine was restarted while the graphics card worked hard"
        else:
            return None
        again = (Evidence("The machine has restarted since.", source="boot id"),) if death.recording.rebooted else ()
        shown = (*said, *gpu.xid_evidence(failed), *errors, *_state_of_the_card(death), *again)
        return self.finding(death, certainty, headline, shown, summary=summary)

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Say that it is the card, where CUDA or the driver do."""
        is_said, failed = gpu.incident_trouble(incident) == "hardware", _failures(death, incident.mono_s)
        if not is_said and not failed:
            return None
        said = Evidence(f"CUDA reported: {quote(incident.signature or '', 120)}.", None, None, incident.error)
        errors = _memory_errors(death, incident.mono_s)
        return self.finding(
            death,
            Certainty.PROVEN if is_said else Certainty.STRONG,
            f"The graphics card failed {death.where()}{_why(failed)}.",
            (said, *gpu.xid_evidence(failed), *errors, *_state_of_the_card(death)),
            summary="The graphics card failed",
        )

    def _unreachable(self, death: Death) -> CauseFinding | None:
        """Explain a cell that waits for a card which is gone."""
        still = death.stuck_cell
        failed = tuple(xid for xid in death.recording.xids if xid.code in _UNREACHABLE)
        if still is None or death.cell is None or not any(xid.mono_s >= death.cell.started_mono_s for xid in failed):
            return None
        return self.finding(
            death,
            Certainty.STRONG,
            f"The kernel is stuck {death.where(still.line)}: the graphics card failed and no longer answers.",
            (*gpu.xid_evidence(failed), *stuck_cell.evidence(still)),
            line=still.line,
            summary="Running, but stuck",
        )

    def fires_on(self) -> Recordings:
        """The events of NVIDIA's "Xid Errors", a count of memory errors, and a restart while the card was braked."""
        hot = GpuSample(-1.0, 0, 20 * GIB, 20 * GIB, 99, 91, 300.0, ("thermal",))
        yield died("CUDA error: unspecified launch failure\n", xids=[Xid(-1.0, 79, 0)], samples=[hot])
        yield died("CUDA error: uncorrectable ECC error encountered\n", xids=[Xid(-1.0, 48, 0)])
        counts = [GpuSample(-9.0, 0, ecc_uncorrected=0), GpuSample(-0.5, 0, ecc_uncorrected=2)]
        yield died("", signal="SIGABRT", samples=counts)
        brake = GpuSample(-0.4, 0, 20 * GIB, 20 * GIB, 100, 80, 420.0, ("power-brake",))
        yield recording("train()", end="not-seen", rebooted=True, gpus=[CARD], gpu_samples=[brake])
        busy = sample(GIB, GIB, utilisation=97)
        yield recording("train()", end="not-seen", rebooted=True, gpus=[CARD], gpu_samples=[busy])

    def survives(self) -> Recordings:
        """An error with the driver's event beside it."""
        error, xid = "RuntimeError", Xid(-1.5, 95, 0)
        yield survived("cuda-error", "CUDA error: unknown error", "x.cpu()", xids=[xid], error=error)
        yield survived("cuda-error", "uncorrectable ECC error encountered", "x.cpu()", error=error)

    def silent_on(self) -> Recordings:
        """The program's own events, one long before or on another card, a restart with an idle card, or without one."""
        yield died("an illegal memory access was encountered\n", xids=[Xid(-1.0, 31, 0), Xid(-1.0, 13, 0)])
        yield recording("f()", signal="SIGKILL", xids=[Xid(-900.0, 63, 0)])
        # Another card, and another reason to crash or to end.
        cell = "lib.f(x)"
        crash = crash_in(cell)
        yield recording(cell, signal="SIGSEGV", crash=crash, xids=[Xid(-50.0, 63, 5)])
        yield died("", cell, signal="SIGSEGV", crash=crash, samples=[sample(GIB, GIB)], xids=[Xid(-50.0, 63, 0)])
        yield died("CUDA error: unknown error\n", samples=[sample(GIB, 0)], xids=[Xid(-5.0, 79, 0)])
        yield recording("sleep()", signal="SIGKILL", groups=[Group(GIB)], server="watched", xids=[Xid(-50.0, 94, 5)])
        counts = [GpuSample(-9000.0, 0, ecc_uncorrected=0), GpuSample(-0.5, 0, ecc_uncorrected=1)]
        counts.insert(1, GpuSample(-8000.0, 0, ecc_uncorrected=1))
        yield recording(cell, signal="SIGSEGV", gpu_samples=counts)
        said = "summary: 0 uncorrectable ECC errors\npython: a.cpp:8: f(): Assertion `x > 0' failed.\n"
        yield recording("check()", signal="SIGABRT", output=said)
        yield recording("f()", end="not-seen", rebooted=True, gpu_samples=[sample(GIB, 0, utilisation=0)])
        yield recording("f()", end="not-seen", rebooted=True)
        yield recording("f()", alive=True, xids=[Xid(-1.0, 63, 0)])


def _last_s(death: Death) -> float:
    """Return when it ended, or was last measured."""
    recording = death.recording
    if recording.end is not None:
        return recording.end.mono_s
    times = [one.mono_s for one in recording.samples[-1:]]
    times += [one.mono_s for one in recording.gpu_samples[-1:]]
    times += [one.mono_s for one in recording.xids]
    return max(times, default=0.0)


def _failures(death: Death, mono_s: float) -> tuple[Xid, ...]:
    return tuple(xid for xid in gpu.xids_near(death.recording, mono_s) if xid.code in gpu.HARDWARE_XIDS)


def _certainty(death: Death, words: gpu_messages.Words | None, failed: tuple[Xid, ...], *, errors: bool) -> Certainty:
    """Return how sure it is that the kernel ended of it: a library that meets such a card says so."""
    if words is not None and (failed or words.trouble == "hardware"):
        return min(words.sure, Certainty.PROVEN if failed else Certainty.STRONG)
    if not death.ended_by_itself or gpu_messages.crashed_elsewhere(death.signal, death.traceback):
        return Certainty.WEAK
    used = errors or any(gpu.holds_memory(death.recording, xid.index) for xid in failed)
    return Certainty.LIKELY if used else Certainty.WEAK


def _why(failed: tuple[Xid, ...]) -> str:
    return f": {gpu.HARDWARE_XIDS[failed[-1].code]}" if failed else ""


def _memory_errors(death: Death, mono_s: float) -> Iterator[Evidence]:
    """Say what cards that the kernel may have used counted in the minute before."""
    counts: dict[int, list[int]] = {}
    for one in death.recording.gpu_samples:
        if one.ecc_uncorrected is not None and one.mono_s <= mono_s:
            seen = counts.setdefault(one.index, [])
            if one.mono_s < mono_s - _LAST_MINUTE_S:
                seen.clear()  # the last look before that minute is what it began with
            seen.append(one.ecc_uncorrected)
    for index, seen in counts.items():
        if (more := seen[-1] - seen[0]) > 0 and gpu.holds_memory(death.recording, index) is not False:
            told = f"Graphics card {index} counted {more} more uncorrectable memory errors (ECC) in the last minute."
            yield Evidence(told, more, "errors", "NVML")


def _restarted_under_load(death: Death) -> GpuSample | None:
    """The last look at the card that worked hardest, if the machine was restarted right after."""
    if not death.recording.rebooted or death.recording.end is not None:
        return None
    last_s = _last_s(death)
    recent = [one for one in death.recording.gpu_samples if last_s - one.mono_s <= _RECENT_S]
    busy = [one for one in recent if (one.utilisation or 0) >= _BUSY_PERCENT]
    return max(busy, key=lambda one: (bool(set(one.throttle) & set(_STRAINED)), one.power_w or 0.0), default=None)


def _throttled(load: GpuSample) -> str:
    if "power-brake" in load.throttle:
        return "; the card lacked power"
    return "; the card was too hot" if "thermal" in load.throttle else ""


def _state_of_the_card(death: Death) -> Iterator[Evidence]:
    last = death.recording.gpu_samples[-1] if death.recording.gpu_samples else None
    if last is None:
        return
    parts = ((last.temperature_c, "{:.0f} °C"), (last.power_w, "{:.0f} W"), (last.utilisation, "{:.0f}% busy"))
    known = ", ".join(text.format(value) for value, text in parts if value is not None)
    if known:
        slowed = f"; it was slowed down ({', '.join(last.throttle)})" if last.throttle else ""
        yield Evidence(f"At the last measurement the card was at {known}{slowed}.", known, None, "NVML")
