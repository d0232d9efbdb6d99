"""Recordings of kernels in trouble with a graphics card, in a few lines, for the examples of the rules and for tests.

There was no card to record them from: they follow the documentation of NVML, CUDA, PyTorch, TensorFlow and XLA.
"""

from collections.abc import Sequence
from typing import Any

from jupyter_kerneldoctor.recording.events import Frame, Framework, Gpu, GpuProcess, GpuSample, Incident
from jupyter_kerneldoctor.recording.model import Recording

from . import GIB, cell_file, recording

CARD = Gpu(0, "NVIDIA A10", "GPU-1", 24 * GIB)


def sample(used_bytes: int, own_bytes: int, *others: GpuProcess, **more: Any) -> GpuSample:
    """Make a look at the card, just before the end."""
    return GpuSample(-0.5, 0, used_bytes, own_bytes, others=others, **more)


def torch_memory(allocated_bytes: int, reserved_bytes: int, cuda: str = "12.6") -> Framework:
    """Make what PyTorch's allocator tells."""
    return Framework(
        "torch", -0.5, "2.9.0", {"cuda": cuda, "cudnn": "9.10"}, None, "cuda:0", allocated_bytes, reserved_bytes
    )


def survived(kind: str, signature: str, source: str = "loss.backward()", **more: Any) -> Recording:
    """Make a recording of a living kernel whose cell raised an error about a card."""
    figures = {name: more.pop(name) for name in ("asked_bytes", "numbers") if name in more}
    incident = Incident(
        kind,
        -1.0,
        more.pop("error", "torch.OutOfMemoryError"),
        1,
        (Frame(cell_file(source), 1, "<module>"),),
        signature=signature,
        **figures,
    )
    return recording(source, alive=True, idle=True, incidents=[incident], gpus=[CARD], **more)


def died(
    words: str,
    source: str = "model.fit(x, y)",
    *,
    signal: str = "SIGABRT",
    samples: Sequence[GpuSample] = (),
    **more: Any,
) -> Recording:
    """Make a recording of a kernel that a library ended with these last words."""
    return recording(source, signal=signal, output=words, gpus=[CARD], gpu_samples=samples, **more)
