"""What libraries write about the graphics cards before they end the process, and how much that proves.

The lines are those of CUDA's list of errors (`cudaGetErrorString`), PyTorch (c10/cuda), TensorFlow and XLA
(stream_executor), CuPy and NVML.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ..certainty import Certainty
from ..postmortem import Evidence
from ..units import quote
from .last_words import gave_up_later
from .traceback import Traceback

Trouble = Literal["memory", "astray", "mismatch", "hardware", "handle"]
"""`handle`: cuDNN or cuBLAS could not begin, for want of memory or because it does not fit."""

_SAYINGS: dict[Trouble, str] = {
    "hardware": (
        r"(?<!\b0 )uncorrectable ECC error|CUDA_ERROR_ECC_UNCORRECTABLE|GPU is lost|fallen off the bus|"
        r"ECC_UNCORRECTABLE"
    ),
    "astray": (
        r"device-side assert triggered|illegal memory access|misaligned address|unspecified launch failure|"
        r"an illegal instruction was encountered|CUDA_ERROR_(?:ILLEGAL_ADDRESS|LAUNCH_FAILED|ASSERT)|"
        r"CUDA_ERROR_MISALIGNED_ADDRESS|"
        r"Memory access fault by GPU"
    ),
    "mismatch": (
        r"driver version is insufficient|NVIDIA driver on your system is too old|no kernel image is available|"
        r"unsupported toolchain|forward compatibility was attempted|unsupported display driver / cuda driver|"
        r"[Dd]river/library version mismatch|CUDA_ERROR_(?:NO_BINARY_FOR_GPU|SYSTEM_DRIVER_MISMATCH|INVALID_PTX)|"
        r"CUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH|CUDNN_STATUS_ARCH_MISMATCH|cuDNN version incompatibility|"
        r"Loaded runtime CuDNN library: \S+ but source was compiled with|does not match DSO version|"
        r"[Cc]ould not load library '?lib(?:cud|cub|cus|cuf|nv)\w*|"
        r"lib(?:cudart|cudnn|cublas|cusparse|nvrtc|cuda)\S{0,99}: cannot open shared object file|"
        r"Found no NVIDIA driver on your system"
    ),
    "memory": (
        r"(?:CUDA|HIP|XPU|MPS backend) (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY|"
        r"cudaErrorMemoryAllocation|"
        r"CU(?:BLAS|DNN)_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED: (?:Out of memory|OOM|Failed to allocate)|"
        r"OOM when allocating tensor(?!: CPU)(?:.*GPU)?|Dst tensor is not initialized|Out of memory allocating|"
        r"failed to allocate .{0,200}? from device"
    ),
    "handle": (
        r"CUBLAS_STATUS_NOT_INITIALIZED|CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR)|"
        r"[Cc]ould not create (?:cudnn|cublas) handle|[Ff]ailed to create cublas handle|"
        r"[Ff]ailed to get convolution algorithm"
    ),
}
_HARMLESS = r"(?![^\n]*Could not load dynamic library)"
"""TensorFlow says so on every machine without a card, and works on the processor."""

_PATTERNS = tuple(
    (trouble, re.compile(rf"^{_HARMLESS}[^\n]*(?:{words})[^\n]*", re.MULTILINE)) for trouble, words in _SAYINGS.items()
)
_WARNING = re.compile(r"(?:\S+ ){0,2}[WI](?:\d{4})? ")
"""How a line of glog's begins, which TensorFlow, XLA and Abseil use, that is no error."""

_ABOUT_A_CARD = re.compile(r"cuda|cudnn|cublas|nccl|gpu|c10|stream_executor|xla|\.cu:|block: \[", re.IGNORECASE)
_LIBRARIES = frozenset(
    {"torch", "torchvision", "torchaudio", "tensorflow", "jax", "jaxlib", "cupy", "cupy_backends", "numba", "triton"}
    | {"onnxruntime", "tensorrt", "paddle", "mxnet", "cudf", "cuml", "rmm", "pycuda", "xgboost", "lightgbm", "catboost"}
)
"""What uses a card."""

ENDS = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGTRAP", "SIGILL")
"""How a library ends the process that it gives up on."""


@dataclass(frozen=True)
class Words:
    """A line about a card."""

    trouble: Trouble
    line: str
    sure: Certainty = Certainty.PROVEN
    """As sure as they make anything: less where the process went on after them, or ended in another way."""

    @property
    def evidence(self) -> Evidence:
        """The quoted line."""
        said = f"Before it ended, the process wrote: {quote(self.line, 200)}."
        return Evidence(said, None, None, "the process's output")


def trouble_of(text: str) -> Trouble | None:
    """Return what kind of trouble a message speaks of."""
    return next((trouble for trouble, pattern in _PATTERNS if pattern.search(text)), None)


def last_message(text: str, signal: str | None, exit_code: int | None, crash: Traceback | None) -> Words | None:
    """Return what a library said about a card before it ended the process with this signal or exit code."""
    found = [(match, trouble) for trouble, one in _PATTERNS for match in one.finditer(text)]
    if not found:
        return None
    errors = [one for one in found if not _WARNING.match(one[0][0])]
    match, trouble = min(errors or found, key=lambda one: one[0].start())  # the reason; others follow from it
    rest = text[max(one.end() for one, _ in found) :]
    later = [line for line in rest.split("\n") if line.strip() and not _ABOUT_A_CARD.search(line)]
    if gave_up_later("\n".join(later)) is not None or crashed_elsewhere(signal, crash):
        sure = Certainty.WEAK
    elif exit_code:  # an exit is a program's own: libraries abort
        sure = Certainty.WEAK if later else Certainty.LIKELY
    else:
        sure = Certainty.PROVEN
    return Words(trouble, match[0].strip(), sure if errors else min(sure, Certainty.POSSIBLE))


def crashed_elsewhere(signal: str | None, crash: Traceback | None) -> bool:
    """Return whether it crashed, without an abort, in functions of which none belongs to a library that uses a card."""
    if signal == "SIGABRT" or crash is None:
        return False
    frames = crash.current.frames
    return bool(frames) and all(frame.module not in _LIBRARIES for frame in frames)
