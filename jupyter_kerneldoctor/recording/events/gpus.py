"""Defines what was recorded of graphics cards, and of the libraries that use them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Framework:
    """A deep-learning library that the user imported, and its allocator (event `framework`)."""

    name: str
    """`torch`, `tensorflow`, `jax`."""
    mono_s: float
    version: str | None = None
    built_for: dict[str, str] = field(default_factory=dict)
    """`cuda`, `cudnn`, `rocm`: the versions it was built for."""
    cell_seq: int | None = None
    device: str | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_bytes: int | None = None
    total_bytes: int | None = None
    asked_bytes: int | None = None
    """How much was asked for when the card's memory was full; only in an event about such a moment."""
    free_bytes: int | None = None
    """How much of the card's memory was free at that moment."""


@dataclass(frozen=True)
class Gpu:
    """A card (event `gpus`, once and when it changes)."""

    index: int
    name: str | None = None
    uuid: str | None = None
    total_bytes: int | None = None


@dataclass(frozen=True)
class GpuDriver:
    """The driver, or why it cannot be used (event `gpus`)."""

    version: str | None = None
    cuda: str | None = None
    """The newest CUDA version the driver supports, as "12.4"."""
    error: str | None = None
    """NVML's error: "Driver/library version mismatch"."""


@dataclass(frozen=True)
class GpuProcess:
    """Another process that uses a card."""

    pid: int
    bytes: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class GpuSample:
    """One card at one moment (`gpu-0.jsonl`, `gpu-1.jsonl`)."""

    mono_s: float
    index: int
    used_bytes: int | None = None
    own_bytes: int | None = None
    """The memory of the kernel and its children."""
    utilisation: int | None = None
    """Percent."""
    temperature_c: int | None = None
    power_w: float | None = None
    throttle: tuple[str, ...] = ()
    """Why the clocks are slowed down: `thermal`, `power-brake`, `hw-slowdown`, `power-cap`."""
    ecc_uncorrected: int | None = None
    others: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True)
class Xid:
    """An error event of a card (event `xid`)."""

    mono_s: float
    code: int
    index: int | None = None
