"""Maps a file into memory, and unmaps it without closing anything of the user's."""

import os


class Mapping:
    """Python's `mmap` has a copy of the descriptor, and closes that number, whatever user code has opened under it."""

    def __init__(self, fd: int, size: int) -> None:
        """Map the file, and take all the memory now, as later there may be none. Raises OSError; Linux only."""
        import mmap  # noqa: PLC0415 - the sidecar only reads

        os.posix_fallocate(fd, 0, size)
        status = os.fstat(fd)
        self._inode = status.st_dev, status.st_ino
        self.memory = mmap.mmap(fd, size)
        # The copy's number is not known beforehand: another thread may have taken the lowest one that was free.
        numbers = map(int, os.listdir("/proc/self/fd"))
        self._fd = next((number for number in numbers if number != fd and self.is_behind(number)), -1)

    def close(self) -> None:
        """Free the memory, of which there must be no view any more."""
        if self.is_behind(self._fd):
            self.memory.close()  # and with it the copy of the descriptor
        else:
            _unclosable.append(self.memory)

    def is_behind(self, descriptor: int) -> bool:
        """Return whether a descriptor still leads to the file."""
        try:
            status = os.fstat(descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._inode


_unclosable: list[object] = []
"""Mappings that are never freed: `mmap` would close a descriptor that is not known to be its own any more."""
