"""What libraries wait for by looking again and again: their stacks tell it, the system only sees them sleep."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from jupyter_kerneldoctor.recording.events import Frame
from jupyter_kerneldoctor.recording.user_files import is_user_file

LibraryKind = Literal["answer", "cluster", "event", "file-lock", "group", "program"]


class LibraryWait(NamedTuple):
    """A kind of wait, and the functions in which libraries wait so."""

    kind: LibraryKind
    file: re.Pattern[str]
    function: re.Pattern[str]


def _wait(kind: LibraryKind, file: str, function: str = r".*") -> LibraryWait:
    return LibraryWait(kind, re.compile(file), re.compile(function))


_LIBRARY_WAITS = (
    _wait("answer", r"ipykernel/kernelbase\.py", r"_input_request"),
    _wait("file-lock", r"(?:.*/)?(?:filelock|fasteners|portalocker|locket|lockfile|zc/lockfile)(?:/.*)?"),
    _wait("file-lock", r"(?:.*/)?\w*(?:file_?(?:lock|baton)|lock_?file)\w*\.py"),
    _wait("group", r"torch/distributed/(?:rendezvous|distributed_c10d|c10d\w*)\.py|horovod/.*|mpi4py/.*"),
    _wait("group", r"(?:tensorflow/python/distribute|jax/_src/distributed).*"),
    _wait("cluster", r"ray/_private/worker\.py", r"get|get_objects|wait"),
    _wait("cluster", r"py4j/(?:clientserver|java_gateway)\.py"),
    _wait("program", r"IPython/utils/(?:_process_posix|_process_common)\.py"),
    _wait("event", r"asyncio/base_events\.py", r"_run_once"),
)


def library_wait(frames: Iterable[Frame]) -> LibraryKind | None:
    """Return what the library waits for that the user's code called, or the kernel's own event loop."""
    for frame in frames:
        if is_user_file(frame.file):
            return None
        for kind, file, function in _LIBRARY_WAITS:
            if file.fullmatch(frame.short_file) and function.fullmatch(frame.function):
                return kind
    return None
