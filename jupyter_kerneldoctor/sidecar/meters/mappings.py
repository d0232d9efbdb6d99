"""What files the kernel process has mapped into its memory: native libraries, and data."""

import os
import re
from typing import NamedTuple

from .procfs import read_file

_LINE = re.compile(
    rb"^(?P<begin>[0-9a-f]+)-(?P<end>[0-9a-f]+) ..(?P<executable>.)(?P<shared>.) (?P<offset>[0-9a-f]+) \S+ [1-9]\d* +"
    rb"(?P<path>/.*)$",
    re.MULTILINE,
)
"""Of proc_pid_maps(5), the lines that name a file."""

_LIBRARY = re.compile(rb"\.so(?:[.\d]*)$")

_OF_INTEREST = re.compile(
    r"(?P<stem>"
    r"lib(?:iomp5|omp|gomp|tbb)|workqueue|omppool|tbbpool"  # threads
    r"|lib(?:openblas|scipy_openblas|mkl_rt|mkl_core|blis|flexiblas|cblas|atlas)"
    r"|lib(?:cuda|cudart|cudnn|cublas|cusolver|nccl|nvrtc|amdhip64|torch_cpu|torch_cuda|tensorflow_framework)"
    r"|lib(?:Qt\d\w*|qxcb|xcb|X11|GLX?|EGL|OSMesa|vtkCommonCore|tk|tcl|gtk|glfw|SDL2)|_tkinter"
    r"|lib(?:netcdf|hdf5|polars)|polars"
    r")(?:[^A-Za-z_][^/]*)?\.so[.\d]*"
)

_BIG_BYTES = 1 << 20
_MOST = 64


class Data(NamedTuple):
    """A mapped file that is no library."""

    path: str
    needed_bytes: int
    """Up to where it is mapped. Touching what lies beyond the file's last page is a bus error (mmap(2))."""


class Mapped(NamedTuple):
    """What is mapped."""

    libraries: tuple[str, ...] = ()
    """Those of interest by name; by path where there are several of one kind."""
    data: tuple[Data, ...] = ()


def read(pid: int) -> Mapped:
    """Look at all mappings; of a process that has ended there are none."""
    code: set[bytes] = set()
    data: dict[bytes, int] = {}
    libraries: dict[bytes, None] = {}
    for line in _LINE.finditer(read_file(f"/proc/{pid}/maps")):
        path = line["path"]
        if b".so" in path and _LIBRARY.search(path):
            libraries[path] = None
        elif line["executable"] == b"x":
            code.add(path)
        elif _holds_data(path):
            length = int(line["end"], 16) - int(line["begin"], 16)
            if line["shared"] == b"s" or length >= _BIG_BYTES:
                data[path] = max(data.get(path, 0), int(line["offset"], 16) + length)
    return Mapped(
        of_interest([os.fsdecode(path) for path in libraries]),
        tuple(Data(os.fsdecode(path), data[path]) for path in list(data)[:_MOST] if path not in code),
    )


def _holds_data(path: bytes) -> bool:
    """Not a file of the system's or a device, and no memory that only looks like a file (/memfd:..., /SYSV...)."""
    if path.startswith((b"/usr/", b"/dev/")):
        return path.startswith(b"/dev/shm/")
    return path.count(b"/") > 1 or not path.endswith(b" (deleted)")


def of_interest(paths: list[str]) -> tuple[str, ...]:
    """The libraries that can be in each other's way, or in that of a machine: by name, or by path if there are two."""
    by_stem: dict[str, list[str]] = {}
    for path in paths:
        match = _OF_INTEREST.fullmatch(path.rpartition("/")[2])
        if match is not None:
            by_stem.setdefault(match["stem"], []).append(path)
    found = [path if len(same) > 1 else path.rpartition("/")[2] for same in by_stem.values() for path in same]
    return tuple(sorted(found)[:_MOST])


def is_shrunk(data: Data) -> bool:
    """Whether the file has become shorter than what is mapped of it. Asks its file system."""
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        size = os.stat(data.path).st_size
    except OSError:
        return False
    return -(-size // page) * page < data.needed_bytes
