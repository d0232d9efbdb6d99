from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import Xid

from ..analysis import gpu
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote
from ..examples import crash_in
from ..examples.gpu import died, survived

_VAGUE = ("unspecified launch failure", "CUDA_ERROR_LAUNCH_FAILED")


class GpuIllegalAccess(Cause):
    """A computation on the graphics card used an invalid memory address or an index out of range.

    What it means: An index was out of range (a label of 10 with ten classes, a token beyond the embedding), or native
    code for the card has a bug. The card reports it later than it happens, so the line that raises need not be the line
    at fault. From then on every use of the card fails in this process, until the kernel is restarted.

    How it is recognised: CUDA's words "device-side assert triggered", "an illegal memory access was encountered",
    "misaligned address" or "unspecified launch failure" in the error, or in the last words before an abort; the
    driver's event Xid 13 or 31 beside it. Events of the hardware (Xid 48, 79, 95) make it a fault of the card instead.

    What to do: Restart the kernel. Run the same step on the CPU, where the error names the line and the index, or set
    `CUDA_LAUNCH_BLOCKING=1` before the first use of the card. Look at the range of labels and indices first:
    `labels.min(), labels.max()`.

    Example: `nn.Embedding(1000, 64)(tokens.cuda())` with a token 1000.
    """

    id, title, family = "gpu-illegal-access", "Invalid memory access on the graphics card", Family.GPU
    incidents = frozenset({"cuda-error"})

    def judge(self, death: Death) -> CauseFinding | None:
        words, end = death.gpu_message, death.recording.end
        if words is None or words.trouble != "astray":
            return None
        near = gpu.xids_near(death.recording, end.mono_s) if end is not None else ()
        return self.finding(
            death,
            min(words.sure, _certainty(words.line, near)),
            f"A computation on the graphics card used an invalid address {death.where()}, which ended the kernel.",
            (words.evidence, *gpu.xid_evidence(near)),
            ruled_out=(_not_the_card(near),),
            summary="Ended: invalid memory access on the graphics card",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Say that the card cannot be used any more in this kernel."""
        if gpu.incident_trouble(incident) != "astray":
            return None
        near, signature = gpu.xids_near(death.recording, incident.mono_s), incident.signature or ""
        is_value = "assert" in signature.lower()
        what = "found an impossible value or index" if is_value else "used an invalid address"
        told = Evidence(f"CUDA reported: {quote(signature, 120)}.", None, None, incident.error)
        return self.finding(
            death,
            _certainty(signature, near),
            f"A computation on the graphics card {what} {death.where()} or before. Restart the kernel to use the card "
            "again.",
            (told, *gpu.xid_evidence(near), *_again(death, incident)),
            ruled_out=(_not_the_card(near),),
            summary="Invalid memory access on the graphics card",
        )

    def fires_on(self) -> Recordings:
        """Last words of PyTorch (c10::Error from a destructor) and of TensorFlow (cuda_event.cc)."""
        words = "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: "
        yield died(words + "device-side assert triggered\n", "del model")
        words = (
            "E gpu/cuda_event.cc:29] Error polling for event status: failed to query event: "
            "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered\n"
            "F gpu/gpu_event_mgr.cc:275] Unexpected Event status: 1\n"
        )
        yield died(words, xids=[Xid(-1.0, 31, 0)])
        yield died("Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present\n")

    def survives(self) -> Recordings:
        """PyTorch's errors, at the line that asked for the result."""
        for signature in ("device-side assert triggered", "an illegal memory access was encountered"):
            yield survived("cuda-error", signature, "print(loss.item())", error="torch.AcceleratorError")

    def silent_on(self) -> Recordings:
        """No memory left, a failing card, a crash without a word about a card, and one in code that uses none."""
        yield died("CUDA_ERROR_OUT_OF_MEMORY: out of memory\n")
        yield died("CUDA error: unspecified launch failure\n", xids=[Xid(-1.0, 79, 0)])
        yield died("", signal="SIGSEGV")
        said, cell = "an illegal memory access was encountered\n", "lib.f(x)"
        yield died(said, cell, signal="SIGSEGV", crash=crash_in(cell))


def _certainty(words: str, near: tuple[Xid, ...]) -> Certainty:
    if any(xid.code in gpu.HARDWARE_XIDS for xid in near):
        return Certainty.WEAK
    if any(vague in words for vague in _VAGUE) and not any(xid.code in gpu.PROGRAM_XIDS for xid in near):
        return Certainty.LIKELY
    return Certainty.PROVEN


def _again(death: Death, incident: Incident) -> Iterator[Evidence]:
    later = [one for one in death.recording.incidents if one.mono_s > incident.mono_s and one.kind == "cuda-error"]
    if later:
        yield Evidence(f"{len(later)} later uses of the card failed, too.", len(later), "times", "the exceptions")


def _not_the_card(near: tuple[Xid, ...]) -> str | None:
    if not near or any(xid.code in gpu.HARDWARE_XIDS for xid in near):
        return None
    return "Not the card itself: the driver reported no hardware error."
