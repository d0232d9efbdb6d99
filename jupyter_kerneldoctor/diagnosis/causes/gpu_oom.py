from collections.abc import Iterator
from dataclasses import replace

from jupyter_kerneldoctor.recording.events import Framework, GpuProcess, NamedObject, Namespace, Output

from ..analysis import gpu
from ..analysis.incident_site import that_it_was_raised
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote, size
from ..examples import GIB, MIB, recording
from ..examples.gpu import died, sample, survived, torch_memory
from ..units import enumeration, of_size, sentence

_FRAGMENTED = 0.2
_MOST = 0.5
_PREALLOCATED = 0.7


class OutOfGpuMemory(Cause):
    """The memory of the graphics card was used up.

    What it means: A card has memory of its own. The batch, the weights, the gradients, and all that a network keeps for
    the backward pass share it with every other program on the card. When it is full, PyTorch, CuPy and JAX raise an
    error, and the kernel lives. TensorFlow, XLA and libraries below them may end the process.

    How it is recognised: The library says so in its error, or in its last words before an abort. The report adds who
    holds the memory: other programs on the card (NVML), what the library reserved without using it, and what hidden
    references such as the last traceback or the Out cache keep alive. TensorFlow and JAX take most of a card at their
    first use.

    What to do: Take smaller batches, or mixed precision; do not keep losses and outputs with their graph. Shut down
    other notebooks' kernels that use the card. After an error, `del` what is left and run a cell without error before
    the next try: the traceback keeps the tensors of the failed one. If much is reserved but not allocated, set
    `PYTORCH_ALLOC_CONF=expandable_segments:True`. For JAX beside others: `XLA_PYTHON_CLIENT_PREALLOCATE=false`.

    Example: `model(x_all.cuda())` on a card of 8 GiB, of which a second notebook's TensorFlow holds seven.
    """

    id, title, family = "gpu-oom", "The graphics card's memory was full", Family.GPU
    incidents = gpu.OUT_OF_MEMORY | {"cuda-error"}

    def judge(self, death: Death) -> CauseFinding | None:
        words, end = death.gpu_message, death.recording.end
        if words is None or words.trouble not in ("memory", "handle"):
            return None
        moment_s = end.mono_s if end is not None else float("inf")
        card = gpu.card_at(death.recording, moment_s)
        is_full = card is not None and card.is_full
        return self.finding(
            death,
            min(words.sure, _certainty(said=words.trouble == "memory", is_full=is_full)),
            f"The full graphics card ended the kernel {death.where()}{_holder(card)}.",
            (words.evidence, *_who(death, card, moment_s)),
            summary="Ended: the graphics card's memory was full",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Say who holds the memory of the card."""
        trouble = gpu.incident_trouble(incident)
        if trouble not in ("memory", "handle"):
            return None
        card = gpu.card_at(death.recording, incident.mono_s, incident.numbers.get("gpu"))
        is_full = card is not None and card.is_full
        free = incident.numbers.get("free_bytes")
        left = f", with {size(free)} left" if free is not None else ""
        asked = "" if incident.asked_bytes is None else f": {size(incident.asked_bytes)} was asked for{left}"
        return self.finding(
            death,
            Certainty.PROVEN if trouble == "memory" else _certainty(said=False, is_full=is_full),
            f"The graphics card was full {death.where()}{asked}{_holder(card)}.",
            (that_it_was_raised(incident), *_figures(incident), *_who(death, card, incident.mono_s, incident)),
            summary="The graphics card's memory was full",
        )

    def fires_on(self) -> Recordings:
        """TensorFlow's and XLA's last words (bfc_allocator.cc, cuda_driver.cc), and a handle on a full card."""
        words = (
            "E gpu/cuda_driver.cc:802] failed to allocate 2.00G (2147483648 bytes) from device: "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
        )
        yield died(words)
        jax = GpuProcess(777, 18 * GIB, "python3")
        words = "E gpu/cuda_dnn.cc:522] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR\n"
        yield died(words, samples=[sample(int(23.9 * GIB), 5 * GIB, jax)])
        words = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.\n"
        yield died(words, "f(x).block_until_ready()")

    def survives(self) -> Recordings:
        """PyTorch, CuPy, JAX, TensorFlow: alone, beside others, fragmented, with a traceback that keeps tensors."""
        numbers = {"total_bytes": 24 * GIB, "free_bytes": 12 * MIB}
        numbers |= {"allocated_bytes": 14 * GIB, "reserved_bytes": 22 * GIB}
        used, torch = [torch_memory(14 * GIB, 22 * GIB)], ("torch-out-of-memory", "CUDA out of memory")
        yield survived(*torch, frameworks=used, asked_bytes=2 * GIB, numbers=numbers)
        other = GpuProcess(777, 18 * GIB, "python3")
        yield survived(*torch, gpu_samples=[sample(24 * GIB, 5 * GIB, other)])
        kept = NamedObject("the last traceback", "traceback", 9 * GIB, hidden=True, device="cuda:0")
        yield survived(*torch, namespaces=[Namespace(-2.0, 1, (kept,))])
        jax = Framework("jax", -0.5, "0.7", {}, None, "gpu:0", 1 * GIB)
        yield survived("jax-out-of-memory", "RESOURCE_EXHAUSTED: Out of memory", "f(x)", frameworks=[jax])
        yield survived("tf-resource-exhausted", "OOM when allocating tensor: GPU", "model.fit(x)")

    def silent_on(self) -> Recordings:
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


def _certainty(*, said: bool, is_full: bool) -> Certainty:
    """Weigh a library's word for it, and a card that was seen to be full: where no handle could be made, only that."""
    if said:
        return Certainty.PROVEN if is_full else Certainty.STRONG
    return Certainty.LIKELY if is_full else Certainty.WEAK


def _holder(card: gpu.Card | None) -> str:
    """Who else holds most of the card: that changes what to do."""
    if card is None or not card.total_bytes or card.others_bytes < _MOST * card.total_bytes:
        return ""
    return f"; other programs hold {of_size(card.others_bytes, card.total_bytes)}"


def _figures(incident: Incident) -> Iterator[Evidence]:
    total, free = incident.numbers.get("total_bytes"), incident.numbers.get("free_bytes")
    asked = incident.asked_bytes, "{} was asked for."
    for amount, text in (asked, (free, "{} of the card was free."), (total, "The card has {} in total.")):
        if amount is not None:
            yield Evidence(text.format(size(amount)), amount, "bytes", "the exception")


def _who(death: Death, card: gpu.Card | None, mono_s: float, incident: Incident | None = None) -> Iterator[Evidence]:
    if card is not None:
        yield from gpu.holders(card)
    yield from _in_reserve(death, mono_s, incident)
    yield from _preallocated(death, card)
    yield from _kept(death, mono_s)


def _in_reserve(death: Death, mono_s: float, incident: Incident | None) -> Iterator[Evidence]:
    """Say how much PyTorch holds without using it, in pieces too small for what was asked."""
    numbers = incident.numbers if incident is not None else {}
    framework = gpu.framework_at(death.recording, mono_s, "torch")
    allocated = numbers.get("allocated_bytes", framework.allocated_bytes if framework else None)
    reserved = numbers.get("reserved_bytes", framework.reserved_bytes if framework else None)
    if allocated is None or reserved is None:
        return
    source, unused = "PyTorch's allocator", reserved - allocated
    yield Evidence(f"PyTorch was using {size(allocated)} of the card.", allocated, "bytes", source)
    if unused > _FRAGMENTED * reserved:
        told = f"PyTorch had reserved another {size(unused)} without using it, in pieces (fragmentation)."
        yield Evidence(told, unused, "bytes", source)


def _preallocated(death: Death, card: gpu.Card | None) -> Iterator[Evidence]:
    """Say that TensorFlow and JAX take most of a card at their first use, whatever they need."""
    names = sorted({one.name for one in death.recording.frameworks} & {"tensorflow", "jax"})
    own, total = (card.own_bytes or 0, card.total_bytes or 0) if card is not None else (0, 0)
    if names and own > _PREALLOCATED * total > 0:
        takes = f"{enumeration(names)} {'takes' if len(names) == 1 else 'take'}"
        told = f"{takes} most of a card at first use, whether it is needed or not."
        yield Evidence(told, own, "bytes", "NVML")


def _kept(death: Death, mono_s: float) -> Iterator[Evidence]:
    """Name the biggest things on the card that the last look at the variables found."""
    looks = [look for look in death.recording.namespaces if look.mono_s <= mono_s]
    on_card = [one for one in looks[-1].objects if one.device and one.device != "cpu"] if looks else []
    for one in sorted(on_card, key=lambda thing: -thing.bytes)[:3]:
        holds = f"{one.name} keeps" if one.hidden else f"{quote(one.name)} holds"
        told = f"{sentence(holds)} {size(one.bytes)} on the card ({one.type})."
        yield Evidence(told, one.bytes, "bytes", "the variables")
