"""The machine: its memory, how much of it is promised, how much is waited for it, its processor."""

from typing import Any

from .procfs import ProcFile, kilobytes

_NEWER_INSTRUCTIONS = frozenset(
    ("sse4_1", "sse4_2", "fma", "f16c", "bmi2", "avx", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni",
     "amx_tile", "asimd", "atomics", "sve", "sve2")
)  # fmt: skip


class HostMeter:
    """Reads /proc/meminfo (proc_meminfo(5)), /proc/sys/vm/overcommit_memory and /proc/pressure/memory."""

    def __init__(self) -> None:
        self._meminfo = ProcFile("/proc/meminfo")
        self._overcommit = ProcFile("/proc/sys/vm/overcommit_memory")

    def total_bytes(self) -> int | None:
        """RAM of the machine."""
        return kilobytes(self._meminfo.read(), b"MemTotal:")

    def available_bytes(self) -> int | None:
        """What can be allocated without swapping, as Linux estimates it."""
        return kilobytes(self._meminfo.read(), b"MemAvailable:")

    def promises(self) -> dict[str, Any]:
        """Swap, and what was promised to all processes together (vm.overcommit_memory in proc_sys_vm(5))."""
        meminfo = self._meminfo.read()
        return {
            "swap_total_bytes": kilobytes(meminfo, b"SwapTotal:"),
            "swap_free_bytes": kilobytes(meminfo, b"SwapFree:"),
            "commit_limit_bytes": kilobytes(meminfo, b"CommitLimit:"),
            "committed_bytes": kilobytes(meminfo, b"Committed_AS:"),
            "overcommit_mode": self._overcommit.number(),
        }


class PressureMeter:
    """How long processes wait for memory (Documentation/accounting/psi.rst): of the machine or of a control group."""

    def __init__(self, *paths: str) -> None:
        self._files = [ProcFile(path) for path in paths]

    def shares(self) -> dict[str, float | None]:
        """Percent of the last 10 s, where it is worst; nothing where Linux was built or started without."""
        lines = [line for file in self._files for line in file.read().splitlines()]
        return {f"pressure_{kind}": _worst(kind.encode(), lines) for kind in ("some", "full")}

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _worst(kind: bytes, lines: list[bytes]) -> float | None:
    words = [line.split()[1] for line in lines if line.startswith(kind + b" avg10=")]
    return max((float(word.removeprefix(b"avg10=")) for word in words), default=None)


def cpu_flags() -> list[str]:
    """Which of the newer instruction sets the first processor has; cheap, as the file is read only so far."""
    file = ProcFile("/proc/cpuinfo")
    lines = file.read().decode("ascii", "replace").splitlines()
    file.close()
    words = next((line.split(":", 1)[-1].split() for line in lines if line.startswith(("flags", "Features"))), [])
    return sorted(_NEWER_INSTRUCTIONS.intersection(words))
