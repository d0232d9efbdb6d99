"""`gpu-oom`: the memory of a graphics card."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.events import Framework, GpuProcess, NamedObject, Namespace, Output

from ..analysis import gpu
from ..analysis.incident_site import that_it_was_raised
from ..cause import Cause
from ..certainty import certainty
from ..examples import GIB, MIB, recording
from ..examples.gpu import died, sample, survived, torch_memory
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence
from ..units import quote, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.events import Incident
    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_FRAGMENTED = 0.2
_MOST = 0.5
_PREALLOCATED = 0.7


class OutOfGpuMemory(Cause):
    """The memory of the graphics card was used up.

    What it means
    -------------
    A card has memory of its own, which the batch, the weights, the gradients and all that a network remembers for the
    way back share with every other program on the card. PyTorch, CuPy and JAX raise an error then, and the kernel
    lives; TensorFlow, XLA and libraries below them may end the process.

    How it is recognised
    --------------------
    The library says so in its error, or in its last words before an abort. The report adds who holds the memory: other
    programs on the card (NVML), what the library keeps in reserve without using it, and what hidden references such as
    the last traceback or the Out cache keep alive. TensorFlow and JAX take most of a card at their first use.

    What to do
    ----------
    Take smaller batches, or mixed precision; do not keep losses and outputs with their graph. Shut down other
    notebooks' kernels that use the card. After an error, `del` what is left and run a cell without error before the
    next try: the traceback keeps the tensors of the failed one. If much is reserved but not allocated, set
    `PYTORCH_ALLOC_CONF=expandable_segments:True`. For JAX beside others: `XLA_PYTHON_CLIENT_PREALLOCATE=false`.

    Example
    -------
    `model(x_all.cuda())` on a card of 8 GiB, of which a second notebook's TensorFlow holds seven.
    """

    id = "gpu-oom"
    title = "The graphics card's memory was full"
    family = Family.GPU
    incidents = gpu.OUT_OF_MEMORY | {"cuda-error"}

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        words = death.gpu_message
        if words is None or words.trouble not in ("memory", "handle"):
            return None
        end = death.recording.end
        moment_s = end.mono_s if end is not None else float("inf")
        card = gpu.card_at(death.recording, moment_s)
        full = card is not None and card.is_full
        confidence = min(words.sure, 0.93 if words.trouble == "memory" else 0.8 if full else 0.5)
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, confidence),
            f"The graphics card had no memory left {death.where()}, and the library ended the kernel{_holder(card)}.",
            evidence=(words.evidence, *evidence.exit_status(death), *_who(death, card, moment_s)),
            line=death.line,
            summary="Ended: the graphics card's memory was full",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Say who holds the memory of the card."""
        trouble = gpu.incident_trouble(incident)
        card = gpu.card_at(death.recording, incident.mono_s, incident.numbers.get("gpu"))
        if trouble == "handle":
            confidence = 0.8 if card is not None and card.is_full else 0.5
        elif trouble == "memory":
            confidence = 0.97
        else:
            return None
        return CauseFinding(
            self.id,
            self.title,
            confidence,
            f"The graphics card had no memory left {death.where()}{_asked(incident)}{_holder(card)}.",
            evidence=(
                that_it_was_raised(incident),
                *_figures(incident),
                *_who(death, card, incident.mono_s, incident),
            ),
            line=death.line,
            summary="The graphics card's memory was full",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """TensorFlow's and XLA's last words (bfc_allocator.cc, cuda_driver.cc), and a handle on a full card."""
        words = (
            "E gpu/cuda_driver.cc:802] failed to allocate 2.00G (2147483648 bytes) from device: "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
        )
        yield died(words)
        jax = GpuProcess(777, 18 * GIB, "python3")
        words = "E gpu/cuda_dnn.cc:522] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
        yield died(words, samples=[sample(int(23.9 * GIB), 5 * GIB, jax)])
        yield died(
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.\n", "f(x).block_until_ready()"
        )

    @staticmethod
    def survives() -> Iterable[Recording]:
        """PyTorch, CuPy, JAX, TensorFlow: alone, beside others, fragmented, with a traceback that keeps tensors."""
        numbers = {
            "total_bytes": 24 * GIB,
            "free_bytes": 12 * MIB,
            "allocated_bytes": 14 * GIB,
            "reserved_bytes": 22 * GIB,
        }
        yield survived(
            "torch-out-of-memory",
            "CUDA out of memory",
            frameworks=[torch_memory(14 * GIB, 22 * GIB)],
            asked_bytes=2 * GIB,
            numbers=numbers,
        )
        other = GpuProcess(777, 18 * GIB, "python3")
        yield survived("torch-out-of-memory", "CUDA out of memory", gpu_samples=[sample(24 * GIB, 5 * GIB, other)])
        kept = NamedObject("the last traceback", "traceback", 9 * GIB, hidden=True, device="cuda:0")
        yield survived("torch-out-of-memory", "CUDA out of memory", namespaces=[Namespace(-2.0, 1, (kept,))])
        jax = Framework("jax", -0.5, "0.7", {}, None, "gpu:0", 1 * GIB)
        yield survived("jax-out-of-memory", "RESOURCE_EXHAUSTED: Out of memory", "f(x)", frameworks=[jax])
        yield survived("tf-resource-exhausted", "OOM when allocating tensor: GPU", "model.fit(x)")

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Memory of the machine, a program gone astray on the card, words long before the end, an ordinary end."""
        yield died("terminate called after throwing an instance of 'std::bad_alloc'\n")
        yield died("CUDA error: device-side assert triggered\n")
        yield died("CUDA_ERROR_OUT_OF_MEMORY: out of memory\n", signal="SIGKILL")
        # It went on after these words.
        said = "W gpu/cuda_driver.cc:802] failed to allocate 11.90G from device: CUDA_ERROR_OUT_OF_MEMORY\n"
        yield died(said + "python: solver.cpp:88: void step(): Assertion `n > 0' failed.\n")
        yield recording("f()", exit_code=6, output="CUDA error: out of memory (caught)\nsolver: license expired\n")
        before = recording("model.fit(x)", "step()", signal="SIGABRT", output=[Output(-4.0, 2, said)])
        assert before.end is not None
        later = replace(before.cells[-1], started_mono_s=before.end.mono_s - 2)
        yield replace(before, cells=(*before.cells[:-1], later))


def _asked(incident: Incident) -> str:
    free = incident.numbers.get("free_bytes")
    if incident.asked_bytes is None:
        return ""
    left = f", with {size(free)} left" if free is not None else ""
    return f": {size(incident.asked_bytes)} was asked for{left}"


def _holder(card: gpu.Card | None) -> str:
    """Who else holds most of the card: that changes what to do."""
    if card is None or not card.total_bytes or card.others_bytes < _MOST * card.total_bytes:
        return ""
    return f"; other programs hold {size(card.others_bytes)} of its {size(card.total_bytes)}"


def _figures(incident: Incident) -> Iterator[Evidence]:
    named = (
        ("asked_bytes", "{} was asked for."),
        ("total_bytes", "The card has {} in total."),
        ("free_bytes", "{} of it was free."),
    )
    figures = {
        **incident.numbers,
        **({"asked_bytes": incident.asked_bytes} if incident.asked_bytes is not None else {}),
    }
    for name, text in named:
        if name in figures:
            yield Evidence(text.format(size(figures[name])), figures[name], "bytes", "the exception")


def _who(death: Death, card: gpu.Card | None, mono_s: float, incident: Incident | None = None) -> Iterator[Evidence]:
    if card is not None:
        yield from gpu.holders(card)
    yield from _in_reserve(death, mono_s, incident)
    yield from _preallocated(death, card)
    yield from _kept(death, mono_s)


def _in_reserve(death: Death, mono_s: float, incident: Incident | None) -> Iterator[Evidence]:
    """Memory that PyTorch holds, but in pieces too small for what was asked."""
    numbers = incident.numbers if incident is not None else {}
    framework = gpu.framework_at(death.recording, mono_s, "torch")
    allocated = numbers.get("allocated_bytes", framework.allocated_bytes if framework else None)
    reserved = numbers.get("reserved_bytes", framework.reserved_bytes if framework else None)
    if allocated is None or reserved is None:
        return
    yield Evidence(f"PyTorch had {size(allocated)} of the card in use.", allocated, "bytes", "PyTorch's allocator")
    unused = reserved - allocated
    if unused > _FRAGMENTED * reserved:
        yield Evidence(
            f"Another {size(unused)} was reserved by PyTorch without being in use, in pieces (fragmentation).",
            unused,
            "bytes",
            "PyTorch's allocator",
        )


def _preallocated(death: Death, card: gpu.Card | None) -> Iterator[Evidence]:
    """TensorFlow and JAX take most of a card at their first use, whatever they need."""
    names = sorted({one.name for one in death.recording.frameworks if one.name in ("tensorflow", "jax")})
    takes_most = (
        card is not None and card.own_bytes and card.total_bytes and card.own_bytes > _PREALLOCATED * card.total_bytes
    )
    if names and takes_most and card is not None:
        yield Evidence(
            f"{' and '.join(names)} takes most of a card at its first use, so what it holds says little of its need.",
            card.own_bytes,
            "bytes",
            "NVML",
        )


def _kept(death: Death, mono_s: float) -> Iterator[Evidence]:
    """The biggest things on the card that the last look at the variables found."""
    looks = [look for look in death.recording.namespaces if look.mono_s <= mono_s]
    on_card = [one for one in looks[-1].objects if one.device and one.device != "cpu"] if looks else []
    for one in sorted(on_card, key=lambda thing: -thing.bytes)[:3]:
        keeps = "keeps" if one.hidden else "holds"
        name = one.name if one.hidden else quote(one.name)
        yield Evidence(
            f"{name} {keeps} {size(one.bytes)} on the card ({one.type}).", one.bytes, "bytes", "the variables"
        )
