"""A stand-in for NVIDIA's driver library, and the real one, behind the same few words for tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.kernels import LiveKernel

SOURCE = Path(__file__).with_name("nvml.c")
COMPILER = shutil.which("cc")
REAL_DRIVER = Path("/dev/nvidiactl").exists()

needs_card = pytest.mark.skipif(not REAL_DRIVER, reason="cannot run here: no NVIDIA driver")

GIB = 1 << 30

CARD = {
    "name": "Stand-in 24 GiB",
    "uuid": "GPU-00000000-0000-0000-0000-000000000000",
    "total": 24 * GIB,
    "used": 1 * GIB,
    "utilisation": 40,
    "temperature": 61,
    "power": 215_500,
    "throttle": 0,
    "ecc": 0,
}


class StandIn:
    """A machine with the stand-in's cards; what they are and do may change at any time."""

    def __init__(self, directory: Path, *, cards: int = 1, old_driver: bool = False) -> None:
        if COMPILER is None:
            pytest.skip("cannot run here: no C compiler")
        directory.mkdir(parents=True, exist_ok=True)
        self._state = directory / "state.txt"
        self.environment = {"LD_LIBRARY_PATH": str(directory), "KERNELDOCTOR_TEST_NVML": str(self._state)}
        self._cards = [dict(CARD) for _ in range(cards)]
        self._processes: list[tuple[int, int, int]] = []
        self._xids: list[tuple[int, int]] = []
        self._orders: dict[str, int | str] = {}
        options = ["-DOLD_DRIVER"] if old_driver else []
        library = directory / "libnvidia-ml.so.1"
        subprocess.run(
            [COMPILER, "-shared", "-fPIC", "-Wall", "-Werror", *options, "-o", library, SOURCE], check=True, timeout=60
        )
        self._write()

    def card(self, index: int, **facts: Any) -> None:
        """Change facts of a card; None: it does not support that."""
        self._cards[index].update(facts)
        self._write()

    def hold(self, pid: int, size: int, index: int = 0) -> None:
        """A process takes memory of a card."""
        self._processes.append((index, pid, size))
        self._cards[index]["used"] += size
        self._write()

    def xid(self, code: int, index: int = 0) -> None:
        """A card reports an error."""
        self._xids.append((index, code))
        self._write()

    def order(self, function: str, answer: int | str | None) -> None:
        """Let a function of NVML answer with an error, or "hang"; None: as usual."""
        self._orders.pop(function, None)
        if answer is not None:
            self._orders[function] = answer
        self._write()

    def _write(self) -> None:
        lines = ["driver 550.54.14", "cuda 12040", f"cards {len(self._cards)}"]
        for index, card in enumerate(self._cards):
            lines += [f"{name}.{index} {value}" for name, value in card.items() if value is not None]
        lines += [f"process.{index} {pid} {size}" for index, pid, size in self._processes]
        lines += [f"xid.{index} {code}" for index, code in self._xids]
        lines += [f"{function} {answer}" for function, answer in self._orders.items()]
        fresh = self._state.with_suffix(".new")
        fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")
        fresh.replace(self._state)  # a reader sees the old state or the new one


class RealMachine:
    """The cards of this machine."""

    environment: dict[str, str] = {}  # noqa: RUF012

    @staticmethod
    def hold_in(kernel: LiveKernel, size: int) -> None:
        """Let the kernel take memory of the first card, through CUDA's driver interface (libcuda)."""
        outcome = kernel.run(
            "import ctypes\n"
            "cuda = ctypes.CDLL('libcuda.so.1')\n"
            "device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()\n"
            "assert cuda.cuInit(0) == 0\n"
            "assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0\n"
            "assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0\n"
            f"assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t({size})) == 0\n"
        )
        assert outcome.reply["status"] == "ok", outcome.traceback
