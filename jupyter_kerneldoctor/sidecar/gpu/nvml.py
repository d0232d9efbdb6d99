"""Asks NVML about the cards, through NVIDIA's own bindings (nvidia-ml-py, module `pynvml`).

A call may hang in the driver for any time, so all of this runs in a thread (`reader`). What a card or an older driver
does not support is None.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, NamedTuple

from .driver import module_version
from .owners import Holder, shares

_UNKNOWN_TO_OLDER = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND")

# nvmlClocksEventReasons in nvml.h
_THROTTLE = (
    (0x20 | 0x40, "thermal"),  # SwThermalSlowdown, HwThermalSlowdown
    (0x80, "power-brake"),  # HwPowerBrakeSlowdown: the power supply asked for it
    (0x08, "hw-slowdown"),  # HwSlowdown: either of the two above, or too much power drawn
    (0x04, "power-cap"),  # SwPowerCap
)


class NvmlUnusableError(Exception):
    """NVML cannot be used; the message says why, in NVML's own words where it gave some."""


class PendingCall(NamedTuple):
    """A call that is under way."""

    function: str
    since_mono_s: float


class Card:
    """A card, and NVML's handle for it."""

    def __init__(self, index: int, handle: Any, facts: dict[str, Any]) -> None:
        self.index = index
        self.handle = handle
        self.facts = facts
        """As `recording.events.Gpu`."""


class Nvml:
    """NVML, initialised."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._missing: set[tuple[str, int]] = set()
        self.pending_call: PendingCall | None = None
        """The call that is under way; another thread watches how long it takes."""
        self.error: str | None = None
        """The newest error of a card; None without one."""

    def open(self) -> None:
        """Load the library and initialise it, which takes seconds where the cards sleep.

        Raises NvmlUnusableError.
        """
        self._nvml = _bindings()
        try:
            self._call("nvmlInit")
        except self._nvml.NVMLError as error:
            raise NvmlUnusableError(self._text(error)) from error

    def driver(self) -> dict[str, Any]:
        """Return the versions, as `recording.events.GpuDriver`."""
        cuda = self._ask(-1, "nvmlSystemGetCudaDriverVersion_v2")
        return {
            "version": self._ask(-1, "nvmlSystemGetDriverVersion") or module_version(),
            "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,  # 12040 is 12.4
        }

    def cards(self) -> list[Card]:
        """Return all cards of the machine, whatever CUDA_VISIBLE_DEVICES says. Raises NvmlUnusableError."""
        try:
            count = self._call("nvmlDeviceGetCount")
        except self._nvml.NVMLError as error:
            raise NvmlUnusableError(self._text(error)) from error
        return [card for card in map(self._card, range(count)) if card is not None]

    def sample(self, card: Card, kernel_pid: int) -> dict[str, Any] | None:
        """Measure a card, as `recording.events.GpuSample`; None when not even its memory can be read."""
        taken = time.monotonic()
        try:
            memory = self._call("nvmlDeviceGetMemoryInfo", card.handle)
        except self._nvml.NVMLError as error:
            self._complain(card.index, error)
            return None
        holders = self._holders(card)
        own, others = (None, []) if holders is None else shares(holders, kernel_pid)
        utilisation = self._of(card, "nvmlDeviceGetUtilizationRates")
        power = self._of(card, "nvmlDeviceGetPowerUsage")  # milliwatts
        return {
            "mono_s": round(taken, 3),
            "index": card.index,
            "used_bytes": memory.used,
            "own_bytes": own,
            "utilisation": None if utilisation is None else utilisation.gpu,
            "temperature_c": self._of(card, "nvmlDeviceGetTemperature", 0),  # NVML_TEMPERATURE_GPU
            "power_w": None if power is None else power / 1000,
            "throttle": self._throttle(card),
            "ecc_uncorrected": self._of(card, "nvmlDeviceGetTotalEccErrors", 1, 0),  # uncorrected, since the start
            "others": others,
        }

    def xid_source(self, cards: list[Card]) -> XidSource | None:
        """Return what error events of the cards come from; None where that is not supported."""
        try:
            events = self._nvml.nvmlEventSetCreate()
        except (self._nvml.NVMLError, AttributeError):
            return None
        registered = 0
        for card in cards:
            try:
                self._nvml.nvmlDeviceRegisterEvents(card.handle, self._nvml.nvmlEventTypeXidCriticalError, events)
                registered += 1
            except self._nvml.NVMLError:
                continue
        return XidSource(self._nvml, events) if registered else None

    def _card(self, index: int) -> Card | None:
        try:
            handle = self._call("nvmlDeviceGetHandleByIndex", index)
        except self._nvml.NVMLError as error:
            self._complain(index, error)
            return None
        memory = self._ask(index, "nvmlDeviceGetMemoryInfo", handle)
        facts = {
            "index": index,
            "name": self._ask(index, "nvmlDeviceGetName", handle),
            "uuid": self._ask(index, "nvmlDeviceGetUUID", handle),
            "total_bytes": None if memory is None else memory.total,
        }
        return Card(index, handle, facts)

    def _holders(self, card: Card) -> list[Holder] | None:
        """Return the processes on a card; None if unknown. NVML lists one that computes and draws twice, alike."""
        found: dict[int, Holder] = {}
        answered = False
        for kind in ("Compute", "Graphics"):
            name = f"nvmlDeviceGet{kind}RunningProcesses"
            processes = self._of(card, f"{name}_v3")
            if processes is None:
                processes = self._of(card, f"{name}_v2")
            answered = answered or processes is not None
            for process in processes or ():
                found[process.pid] = Holder(process.pid, process.usedGpuMemory)
        return list(found.values()) if answered else None

    def _throttle(self, card: Card) -> list[str]:
        bits = self._of(card, "nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # drivers before 535 have only the older name
            bits = self._of(card, "nvmlDeviceGetCurrentClocksThrottleReasons")
        return [name for mask, name in _THROTTLE if (bits or 0) & mask]

    def _of(self, card: Card, function: str, *arguments: Any) -> Any:
        return self._ask(card.index, function, card.handle, *arguments)

    def _ask(self, index: int, function: str, *arguments: Any) -> Any:
        """Call a function; return None for an error. A card is not asked again for what it does not support."""
        if (function, index) in self._missing:
            return None
        try:
            return self._call(function, *arguments)
        except AttributeError:  # older bindings
            self._missing.add((function, index))
        except self._nvml.NVMLError as error:
            if any(error.value == getattr(self._nvml, name) for name in _UNKNOWN_TO_OLDER):
                self._missing.add((function, index))
        return None

    def _call(self, function: str, *arguments: Any) -> Any:
        self.pending_call = PendingCall(function, time.monotonic())
        try:
            return getattr(self._nvml, function)(*arguments)
        finally:
            self.pending_call = None

    def _complain(self, index: int, error: Exception) -> None:
        self.error = f"card {index}: {self._text(error)}"

    def _text(self, error: Any) -> str:
        """Return NVML's own words, which say more than the bindings' ("Driver/library version mismatch")."""
        try:
            return str(self._nvml.nvmlErrorString(error.value))
        except Exception:
            return str(error)


class XidSource:
    """Waits for error events of the cards."""

    def __init__(self, nvml: Any, events: Any) -> None:
        self._nvml = nvml
        self._events = events

    def wait(self, seconds: float) -> dict[str, Any] | None:
        """Return an error as `recording.events.Xid`; None after `seconds` without one. Raises pynvml.NVMLError."""
        try:
            event = self._nvml.nvmlEventSetWait_v2(self._events, int(seconds * 1000))
        except self._nvml.NVMLError as error:
            if error.value == self._nvml.NVML_ERROR_TIMEOUT:
                return None
            raise
        try:
            index = self._nvml.nvmlDeviceGetIndex(event.device)
        except self._nvml.NVMLError:
            index = None
        return {"mono_s": time.monotonic(), "code": int(event.eventData), "index": index}


def _bindings() -> Any:
    """Import pynvml, from beside our own package, or from the interpreter's packages when ours is run from source.

    Raises NvmlUnusableError.
    """
    version = os.path.basename(os.path.dirname(os.__file__))  # python3.14, without the GIL python3.14t
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    sys.path.append(os.path.join(prefix, "lib", version, "site-packages"))
    try:
        import pynvml  # noqa: PLC0415 - 6 MiB, of use only where there is a driver
    except ImportError as error:
        raise NvmlUnusableError(f"nvidia-ml-py cannot be imported: {error}") from error
    finally:
        sys.path.pop()
    return pynvml
