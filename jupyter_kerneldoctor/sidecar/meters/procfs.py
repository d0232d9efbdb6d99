"""Small files of /proc and /sys: kept open, reading one again costs a single system call."""

import os

_PF_EXITING = 0x4  # include/linux/sched.h

MOST_BYTES = 16 << 20
"""Of a file. How long the list of a process's mappings is, or what it shows as its environment, is up to its code."""
_PIECE_BYTES = 64 << 10


class ProcFile:
    """A file that says something new each time it is read from its beginning."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._fd: int | None = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = None

    def read(self) -> bytes:
        """The content, or nothing when it cannot be read (any more)."""
        if self._fd is None:
            return b""
        try:
            return os.pread(self._fd, 8192, 0)
        except OSError:
            return b""

    def number(self) -> int | None:
        """The content as a whole number; None for anything else, such as `max`."""
        data = self.read().strip()
        return int(data) if data.isdigit() else None

    def value(self, key: bytes) -> int | None:
        """The number behind `key` in a file of lines `key number`."""
        return value(self.read(), key)

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    __del__ = close


def value(content: bytes, key: bytes) -> int | None:
    """The number behind `key` in lines of `key number`."""
    data = b"\n" + content
    start = data.find(b"\n" + key)
    if start < 0:
        return None
    words = data[start + 1 + len(key) :].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None


def kilobytes(content: bytes, key: bytes) -> int | None:
    """The same in bytes, where the file counts in kB."""
    found = value(content, key)
    return None if found is None else found * 1024


def read_file(path: str, most_bytes: int = MOST_BYTES) -> bytes:
    """All of a file, or nothing when it cannot be read; of one that is too long whole lines from its beginning."""
    content = bytearray()
    try:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(_PIECE_BYTES):
                content += piece
                if len(content) > most_bytes:
                    return bytes(content[: content.rfind(b"\n", 0, most_bytes) + 1])
    except OSError:
        return b""
    return bytes(content)


def link_target(path: str) -> str | None:
    """Where a link of /proc leads. Touches no file system but /proc."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def is_exiting(stat: bytes) -> bool:
    """Return whether a process has begun to exit, by its /proc/PID/stat (proc_pid_stat(5)).

    Zombies have, and so has one that was waited for: of that nothing can be read.
    """
    fields = stat[stat.rfind(b")") + 1 :].split()
    return not stat or (len(fields) > 6 and bool(int(fields[6]) & _PF_EXITING))


def list_directory(directory: str) -> list[str]:
    """The names in a directory; none when it cannot be read."""
    try:
        return os.listdir(directory)
    except OSError:
        return []
