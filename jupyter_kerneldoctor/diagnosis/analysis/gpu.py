"""The graphics cards at a moment: their memory, their errors, their driver.

Xid numbers: NVIDIA's "Xid Errors" (docs.nvidia.com/deploy/xid-errors).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_kerneldoctor.recording.events import Framework, GpuProcess, GpuSample, Incident, Xid
from jupyter_kerneldoctor.recording.model import Recording

from ..postmortem import Evidence
from ..units import quote, size
from .gpu_messages import Trouble, trouble_of

HARDWARE_XIDS = {
    48: "a memory error that could not be corrected (double-bit ECC)",
    61: "an internal error of its micro-controller",
    62: "an internal error of its micro-controller",
    63: "a memory page was taken out of use (ECC)",
    64: "a memory page could not be taken out of use (ECC)",
    74: "an error of the link between cards (NVLink)",
    79: "it fell off the bus, the system has lost contact",
    94: "a memory error that stayed within one program (contained ECC)",
    95: "a memory error that spread beyond one program (uncontained ECC)",
    119: "its system processor (GSP) does not answer",
    120: "its system processor (GSP) reported an error",
}
"""Those that NVIDIA puts down to hardware, mostly; of 61, 62, 119 and 120 the driver may be the reason, too."""

PROGRAM_XIDS = {13: "an error in a program that ran on it", 31: "a program used an invalid memory address on the card"}
"""Those that NVIDIA puts down to the program, mostly."""

OUT_OF_MEMORY = frozenset({"torch-out-of-memory", "cupy-out-of-memory", "jax-out-of-memory", "tf-resource-exhausted"})
"""The kinds of incidents with which libraries say that a card has no memory left."""

_MIB = 1 << 20


def holds_memory(recording: Recording, index: int | None) -> bool | None:
    """Return whether the kernel held memory of a card (None: of any card); None when that is not known."""
    own = [one.own_bytes for one in recording.gpu_samples if index in (None, one.index)]
    known = [held for held in own if held is not None]
    return any(known) if known else None


@dataclass(frozen=True)
class Card:
    """A card at a moment."""

    index: int
    total_bytes: int | None = None
    used_bytes: int | None = None
    own_bytes: int | None = None
    others: tuple[GpuProcess, ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether next to nothing is left on it."""
        return bool(self.total_bytes and self.used_bytes and self.used_bytes > 0.95 * self.total_bytes)

    @property
    def others_bytes(self) -> int:
        """What other programs hold."""
        return sum(other.bytes or 0 for other in self.others)


def card_at(recording: Recording, mono_s: float, index: int | None = None) -> Card | None:
    """Return the card at that moment: the one asked for, else the fullest."""
    newest: dict[int, GpuSample] = {}
    for sample in recording.gpu_samples:
        if sample.mono_s <= mono_s or sample.index not in newest:
            newest[sample.index] = sample
    totals = {gpu.index: gpu.total_bytes for gpu in recording.gpus}
    cards = [
        Card(number, totals.get(number), sample.used_bytes, sample.own_bytes, sample.others)
        for number, sample in newest.items()
        if index in (None, number)
    ]
    return max(cards, key=lambda card: (card.used_bytes or 0) / (card.total_bytes or 1), default=None)


def framework_at(recording: Recording, mono_s: float, name: str | None = None) -> Framework | None:
    """Return the newest figures of a library's allocator, those before the moment first."""
    found = [one for one in recording.frameworks if name in (None, one.name)]
    before = [one for one in found if one.mono_s <= mono_s + 1.0]
    return next(reversed(before or found), None)


def incident_trouble(incident: Incident) -> Trouble | None:
    """Return what kind of trouble with a card an exception tells of; None for others."""
    if incident.kind in OUT_OF_MEMORY:
        on_the_host = incident.kind == "tf-resource-exhausted" and "CPU" in (incident.signature or "")
        return None if on_the_host else "memory"
    return trouble_of(incident.signature or "") if incident.kind == "cuda-error" else None


def xids_near(recording: Recording, mono_s: float, within_s: float = 60.0) -> tuple[Xid, ...]:
    """Return the error events around that moment, of the cards that the kernel may have used."""
    near = (xid for xid in recording.xids if abs(xid.mono_s - mono_s) <= within_s)
    return tuple(xid for xid in near if holds_memory(recording, xid.index) is not False)


def xid_evidence(xids: tuple[Xid, ...]) -> Iterator[Evidence]:
    """Say what the driver reported of the cards."""
    for code in dict.fromkeys(xid.code for xid in xids):
        meaning = HARDWARE_XIDS.get(code) or PROGRAM_XIDS.get(code)
        means = f": {meaning}" if meaning else ""
        text = f"The driver of the graphics card reported error (Xid) {code}{means}."
        yield Evidence(text, code, None, "NVML Xid event")


def holders(card: Card) -> Iterator[Evidence]:
    """Say how full the card was, and which programs held how much."""
    if card.used_bytes is not None and card.total_bytes:
        text = f"Of the card's {size(card.total_bytes)}, {size(card.used_bytes)} was in use at the last measurement."
        yield Evidence(text, card.used_bytes, "bytes", "NVML")
    for other in sorted(card.others, key=lambda one: -(one.bytes or 0))[:3]:
        if other.bytes and other.bytes > 64 * _MIB:
            named = f"{quote(other.name)} " if other.name else ""
            text = f"Another program on the card, {named}(process {other.pid}), held {size(other.bytes)}."
            yield Evidence(text, other.bytes, "bytes", "NVML")
    if card.own_bytes:
        yield Evidence(f"The kernel itself held {size(card.own_bytes)} of the card.", card.own_bytes, "bytes", "NVML")


def driver_evidence(recording: Recording) -> Iterator[Evidence]:
    """Say which CUDA the driver allows, and for which one the library was built."""
    driver = recording.gpu_driver
    if driver is not None and driver.error:
        yield Evidence(f"The driver's own library answered: {quote(driver.error)}.", driver.error, None, "NVML")
    if driver is not None and driver.version:
        newest = f", which runs CUDA up to {driver.cuda}" if driver.cuda else ""
        yield Evidence(f"The driver is version {driver.version}{newest}.", driver.version, None, "NVML")
    for framework in {one.name: one for one in recording.frameworks}.values():
        built = ", ".join(f"{name} {version}" for name, version in sorted(framework.built_for.items()))
        if built:
            version = f" {framework.version}" if framework.version else ""
            yield Evidence(f"{framework.name}{version} was built for {built}.", built, None, "the library's own word")


def too_new(recording: Recording) -> tuple[str, str] | None:
    """Return the CUDA a library was built for and the one the driver allows, if the driver is a generation too old.

    Within one major version any driver of that generation will do (CUDA compatibility, since CUDA 11).
    """
    driver = recording.gpu_driver
    allowed = _major(driver.cuda) if driver is not None else None
    for framework in recording.frameworks:
        built = framework.built_for.get("cuda")
        wanted = _major(built)
        if built and wanted and allowed and driver is not None and driver.cuda and wanted > allowed:
            return built, driver.cuda
    return None


def _major(version: str | None) -> int | None:
    found = re.match(r"(\d{1,4})", version or "")
    return int(found[1]) if found else None
