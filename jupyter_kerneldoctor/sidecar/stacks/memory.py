"""Reads another process's memory through /proc/PID/mem (proc_pid_mem(5)), without stopping the process.

Opening takes the permission to attach as a debugger (PTRACE_MODE_ATTACH_FSCREDS in ptrace(2)).
"""

import os
import struct

_WORD = struct.Struct("=Q")
_HIGHEST = 1 << 56  # user space ends below that on every architecture with 64 bits


class UnreadableError(Exception):
    """Nothing can be read at that address, or not what should be there."""


class Memory:
    """The memory of one process. After the process has ended nothing can be read from it."""

    def __init__(self, pid: int) -> None:
        """Open it. Raises OSError: PermissionError where attaching is not permitted."""
        self._fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)

    def read(self, address: int, size: int) -> bytes:
        """Return exactly `size` bytes. Raises UnreadableError."""
        data = self.read_some(address, size)
        if len(data) != size:
            raise UnreadableError
        return data

    def read_some(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes, fewer if unmapped memory follows. Raises UnreadableError."""
        if not 4096 <= address < _HIGHEST:
            raise UnreadableError
        try:
            return os.pread(self._fd, size, address)
        except OSError:
            raise UnreadableError from None

    def word(self, address: int) -> int:
        """Return the pointer at an address. Raises UnreadableError."""
        value: int = _WORD.unpack(self.read(address, 8))[0]
        return value

    def close(self) -> None:
        """Close it."""
        os.close(self._fd)


def word_at(data: bytes, offset: int) -> int:
    """Return the pointer at an offset of bytes that were read."""
    return int.from_bytes(data[offset : offset + 8], "little")
