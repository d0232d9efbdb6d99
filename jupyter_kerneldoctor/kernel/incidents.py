"""Exceptions that tell of a near-death: which they are, and what is recorded of them.

Nothing of the user's leaves the process: of an exception's text only the library's own words are kept, as they stand in
the table of `signatures`, and the figures in it. None of the exception's own code runs (`__str__`, properties).
"""

from __future__ import annotations

import errno
import math
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from . import error_numbers
from .frameworks import allocators
from .introspection import class_name, instance_dict, mro
from .signatures import NUMPY_MEMORY_ERRORS, SIGNATURES, WORKER_SIGNALS, Signature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_LONGEST_CHAIN = 16
_LONGEST_TEXT = 20_000
_INNER_FRAMES, _OUTER_FRAMES = 45, 5
"""Of a deep stack the innermost frames are kept, and the outermost: there stands the cell's own line."""

_OWN_FRAMES = ("IPython/core/interactiveshell.py", "IPython/core/async_helpers.py")

_ERRNO_KINDS = {
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.EMFILE: "too-many-files",
    errno.ENFILE: "too-many-files",
}
_STARTS_PROCESS = {"_execute_child", "_launch", "fork", "forkpty", "spawnv_passfds", "fork_exec"}
"""Functions of the standard library in which EAGAIN and ENOMEM mean that no process could be started (fork(2))."""

_CARD_KINDS = {
    "torch-out-of-memory",
    "tf-resource-exhausted",
    "jax-out-of-memory",
    "cupy-out-of-memory",
    "cuda-error",
}


_REPEATED = 3
"""So often the same line of a recursion is kept."""

_Step = tuple[str, int | None, str]


class _Found(NamedTuple):
    error: BaseException
    kind: str
    words: str


def describe(error: BaseException) -> dict[str, Any] | None:
    """The fields of an `incident` event for what a cell raised; None for an error like any other."""
    matches = [found for one in _chain(error) if (found := _classify(one)) is not None]
    if not matches:
        return None
    found = matches[-1]  # the innermost is what the others came from
    text = _text(found.error)
    numbers = error_numbers.parse(text)
    numbers.update(_worker(text) if found.kind in ("worker-killed", "broken-pool") else {})
    code = _errno(found.error)
    if code is not None:
        numbers["errno"] = code
    asked = _array_bytes(found.error) or numbers.pop("asked_bytes", None)
    if found.kind in _CARD_KINDS:
        states = allocators()
        if found.kind == "jax-out-of-memory" and "jax" in sys.modules and not states:
            found = found._replace(kind="memory-error")  # it computes on the processor
        numbers = {**_allocator(states, numbers.get("gpu")), **numbers}
    return {
        "kind": found.kind,
        "error": _type_name(found.error),
        "frames": [*_frames(found.error, error)],
        "asked_bytes": asked,
        "numbers": numbers,
        "signature": found.words,
    }


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from, and the members of groups; all through C attributes."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _LONGEST_CHAIN:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        context = None if _get(one, "__suppress_context__") else _get(one, "__context__")
        waiting += [found for found in (context, _get(one, "__cause__")) if isinstance(found, BaseException)]
        if BaseExceptionGroup in mro(type(one)):
            waiting += BaseExceptionGroup.__dict__["exceptions"].__get__(one)


def _get(error: BaseException, name: str) -> Any:
    return BaseException.__dict__[name].__get__(error)


def _classify(error: BaseException) -> _Found | None:
    names = {class_name(cls) for cls in mro(type(error))}
    code = _errno(error)
    if code is not None and (by_code := _by_errno(error, code)) is not None:
        return by_code
    text = _text(error)
    if class_name(type(error)).startswith("__main__."):
        text = ""  # the words of the user's own exceptions are the user's
    matches = (signature for signature in SIGNATURES if _fits(signature, names, text))
    signature = next(matches, None)
    if signature is None:
        return None
    words = signature.words
    if signature.kind in ("worker-killed", "broken-pool"):
        words += next((f": {name}" for name in WORKER_SIGNALS if name in text), "")
    return _Found(error, signature.kind, words)


def _fits(signature: Signature, names: set[str], text: str) -> bool:
    if signature.types and not any(name in names for name in signature.types):
        return False
    return all(needle in text for needle in signature.needles)


def _by_errno(error: BaseException, code: int) -> _Found | None:
    kind = _ERRNO_KINDS.get(code)
    if kind == "no-space":
        return _Found(error, kind, "No space left on device" + (" (/dev/shm)" if _is_shm(error) else ""))
    if kind is not None:
        return _Found(error, kind, "Too many open files")
    if code not in (errno.EAGAIN, errno.ENOMEM):
        return None
    starts = any(frame["function"] in _STARTS_PROCESS for frame in islice(_frames(error, error), 2))
    if code == errno.EAGAIN:  # of a socket that does not block it says only: nothing there yet
        return _Found(error, "no-threads", "Resource temporarily unavailable") if starts else None
    return _Found(error, "no-memory-for-process" if starts else "memory-error", "Cannot allocate memory")


def _is_shm(error: BaseException) -> bool:
    """Whether it is /dev/shm that is full: the file is there, or what semaphores and shared memory are made of."""
    name = OSError.__dict__["filename"].__get__(error) if OSError in mro(type(error)) else None
    if type(name) is str and name.startswith("/dev/shm/"):  # noqa: S108 - the place itself is what is meant
        return True
    inner = next(_frames(error, error), None)
    places = ("multiprocessing/synchronize.py", "multiprocessing/shared_memory.py", "loky/backend/synchronize.py")
    return inner is not None and inner["file"].endswith(places)


def _errno(error: BaseException) -> int | None:
    names = mro(type(error))
    if OSError in names:
        code = OSError.__dict__["errno"].__get__(error)
    elif any(class_name(cls) == "zmq.error.ZMQBaseError" for cls in names):
        code = instance_dict(error).get("errno")
    else:
        return None
    return code if type(code) is int else None


def _text(error: BaseException) -> str:
    """The words an exception was made with; TensorFlow keeps them apart."""
    arguments = [*islice(_get(error, "args"), 8)]
    if any(class_name(base) == "tensorflow.python.framework.errors_impl.OpError" for base in mro(type(error))):
        arguments.append(instance_dict(error).get("_message"))
    return "\n".join(argument[:_LONGEST_TEXT] for argument in arguments if type(argument) is str)[:_LONGEST_TEXT]


def _type_name(error: BaseException) -> str:
    """The name as Python shows it; a type that calls itself like its base, as NumPy's, is shown as the base."""
    cls = type(error)
    name = class_name(cls)
    bases = (class_name(base) for base in mro(cls)[1:])
    shown = next((base for base in bases if base == f"builtins.{name.rpartition('.')[2]}"), name)
    return shown.removeprefix("builtins.").removeprefix("__main__.")


def _array_bytes(error: BaseException) -> int | None:
    """What NumPy could not allocate: its exception holds shape and dtype."""
    if class_name(type(error)) not in NUMPY_MEMORY_ERRORS:
        return None
    match _get(error, "args"):
        case (tuple() as shape, dtype):
            return int(math.prod(shape)) * int(dtype.itemsize)
    return None  # it came from another process, as words


def _worker(text: str) -> dict[str, int]:
    """The process that was lost, as the library names it."""
    return {name: value for name in ("pid", "exit_code") if (value := error_numbers.integer(name, text)) is not None}


def _frames(error: BaseException, outer: BaseException) -> Iterator[dict[str, Any]]:
    """Where it was raised, innermost first."""
    steps = _path(error, outer)
    steps = [
        step
        for number, step in enumerate(steps)
        if number < _REPEATED or {*steps[number - _REPEATED : number]} != {step}
    ]
    if len(steps) > _INNER_FRAMES + _OUTER_FRAMES:
        steps = steps[:_OUTER_FRAMES] + steps[-_INNER_FRAMES:]
    for file, line, function in reversed(steps):
        yield {"file": file, "line": line, "function": function}


def _path(error: BaseException, outer: BaseException) -> list[_Step]:
    """The calls from the cell to where it was raised.

    The traceback of an exception begins where it was caught. So for one that another was raised from, the beginning is
    the other's; one that came from a worker has none at all.
    """
    inner, whole = [*_steps(_get(error, "__traceback__"))], [*_steps(_get(outer, "__traceback__"))]
    caught = [number for number, step in enumerate(whole) if inner and (step[0], step[2]) == (inner[0][0], inner[0][2])]
    path = inner if error is outer else whole[: caught[0] if caught else None] + inner
    first = next((number for number, step in enumerate(path) if not step[0].endswith(_OWN_FRAMES)), 0)
    return path[first:]


def _steps(traceback: TracebackType | None) -> Iterator[_Step]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield code.co_filename, traceback.tb_lineno, code.co_name
        traceback = traceback.tb_next


def _allocator(states: list[dict[str, Any]], gpu: int | None) -> dict[str, int]:
    """What the allocator of a deep-learning library holds on that card; of the fullest where none is named."""
    states = [one for one in states if gpu is None or str(one.get("device", "")).endswith(f":{gpu}")]
    if not states:
        return {}
    fullest = max(states, key=lambda one: one.get("allocated_bytes") or 0)
    names = ("allocated_bytes", "reserved_bytes", "total_bytes")
    return {name: fullest[name] for name in names if type(fullest.get(name)) is int}
