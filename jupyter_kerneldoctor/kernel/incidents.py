"""Recognises exceptions that show a near-death, and describes them for the recording.

Nothing of the user's is recorded: of an exception's text only the library's own words, as in the table of `signatures`,
and numbers. None of the exception's own code runs (`__str__`, properties).
"""

from __future__ import annotations

import builtins
import errno
import math
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from . import descriptors, error_numbers
from .frameworks import allocators
from .introspection import class_name, instance_dict, mro
from .signatures import NUMPY_MEMORY_ERRORS, SIGNATURES, WORKER_SIGNALS, Signature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_GROUP = getattr(builtins, "BaseExceptionGroup", None)  # Python 3.11 and later
_LONGEST_CHAIN = 16
_LONGEST_TEXT = 20_000
_INNER_FRAMES, _OUTER_FRAMES = 45, 5
"""Of a deep stack the innermost frames are kept, and the outermost, which hold the cell's own line."""

_IPYTHON_FILES = ("IPython/core/interactiveshell.py", "IPython/core/async_helpers.py")

_ERRNO_KINDS = {
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.EMFILE: "too-many-files",
    errno.ENFILE: "too-many-files",
}
_STARTS_PROCESS = {"_execute_child", "_launch", "fork", "forkpty", "spawnv_passfds", "fork_exec"}
"""Functions of the standard library where EAGAIN and ENOMEM mean that no process could be started (fork(2))."""

NO_FILE_LEFT = "no file could be opened"
"""In place of a library's words, where those do not say it."""
_A_FILE_AND_ITS_JOURNAL = 2
_UNSPECIFIC = {"builtins.RuntimeError", "builtins.OSError"}
"""Libraries raise these, too. All others of Python do not come from this, or say so by their number."""

_CARD_KINDS = {"torch-out-of-memory", "tf-resource-exhausted", "jax-out-of-memory", "cupy-out-of-memory", "cuda-error"}


_SAME_FRAMES = 3
"""How many successive frames of a recursion are kept."""

_Step = tuple[str, int | None, str]


class _Found(NamedTuple):
    error: BaseException
    kind: str
    words: str


def describe(error: BaseException) -> dict[str, Any] | None:
    """Return the fields of an `incident` event for what a cell raised; None for any other error."""
    matches = [found for one in _chain(error) if (found := _classify(one)) is not None]
    if not matches and _may_be_for_want_of_files(error) and descriptors.are_used_up(_A_FILE_AND_ITS_JOURNAL):
        matches = [_Found(error, "too-many-files", NO_FILE_LEFT)]
    if not matches:
        return None
    found = matches[-1]  # the innermost caused the others
    text = _text(found.error)
    numbers = error_numbers.parse(text)
    numbers.update(_lost_process(text) if found.kind in ("worker-killed", "broken-pool") else {})
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
        **raised(found.error, error),
        "asked_bytes": asked,
        "numbers": numbers,
        "signature": found.words,
    }


def _may_be_for_want_of_files(error: BaseException) -> bool:
    """Whether a library may have raised it for want of a file: of SQLite "unable to open database file" is all."""
    name = class_name(type(error))
    if name.startswith(("builtins.", "__main__.", "IPython.")):
        return name in _UNSPECIFIC and _errno(error) is None
    return Exception in mro(type(error))


def raised(error: BaseException, outer: BaseException) -> dict[str, Any]:
    """Return what it was and where it was raised; `outer` is what was raised from it, or itself."""
    return {"error": _type_name(error), "frames": [*_frames(error, outer)]}


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, what it was raised from, and the members of groups, read through C attributes only."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _LONGEST_CHAIN:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        context = None if _attribute(one, "__suppress_context__") else _attribute(one, "__context__")
        waiting += [found for found in (context, _attribute(one, "__cause__")) if isinstance(found, BaseException)]
        if _GROUP in mro(type(one)):
            waiting += _GROUP.__dict__["exceptions"].__get__(one)


def _attribute(error: BaseException, name: str) -> Any:
    return BaseException.__dict__[name].__get__(error)


def _classify(error: BaseException) -> _Found | None:
    names = {class_name(cls) for cls in mro(type(error))}
    code = _errno(error)
    if code is not None and (by_code := _by_errno(error, code)) is not None:
        return by_code
    text = _text(error)
    if class_name(type(error)).startswith("__main__."):
        text = ""  # the text of an exception that the notebook defines is the user's
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
    starts_process = any(frame["function"] in _STARTS_PROCESS for frame in islice(_frames(error, error), 2))
    if code == errno.EAGAIN:  # for a non-blocking socket it only means that there is nothing yet
        return _Found(error, "no-threads", "Resource temporarily unavailable") if starts_process else None
    return _Found(error, "no-memory-for-process" if starts_process else "memory-error", "Cannot allocate memory")


def _is_shm(error: BaseException) -> bool:
    """Return whether /dev/shm is full: the file is there, or the error came from semaphores or shared memory."""
    name = OSError.__dict__["filename"].__get__(error) if OSError in mro(type(error)) else None
    if type(name) is str and name.startswith("/dev/shm/"):  # noqa: S108 - this very directory is meant
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
    """Return the text an exception was created with, which TensorFlow keeps in an attribute."""
    arguments = [*islice(_attribute(error, "args"), 8)]
    if any(class_name(base) == "tensorflow.python.framework.errors_impl.OpError" for base in mro(type(error))):
        arguments.append(instance_dict(error).get("_message"))
    return "\n".join(argument[:_LONGEST_TEXT] for argument in arguments if type(argument) is str)[:_LONGEST_TEXT]


def _type_name(error: BaseException) -> str:
    """Return the name as Python shows it; that of the base for a type with the base's name, as NumPy's."""
    cls = type(error)
    name = class_name(cls)
    bases = (class_name(base) for base in mro(cls)[1:])
    shown = next((base for base in bases if base == f"builtins.{name.rpartition('.')[2]}"), name)
    return shown.removeprefix("builtins.").removeprefix("__main__.")


def _array_bytes(error: BaseException) -> int | None:
    """Return what NumPy could not allocate, from shape and dtype in its exception; None for any other."""
    if class_name(type(error)) not in NUMPY_MEMORY_ERRORS:
        return None
    match _attribute(error, "args"):
        case (tuple() as shape, dtype):
            return int(math.prod(shape)) * int(dtype.itemsize)
    return None  # it came as text from another process


def _lost_process(text: str) -> dict[str, int]:
    """Return pid and exit code of the process that was lost, where the text has them."""
    return {name: value for name in ("pid", "exit_code") if (value := error_numbers.integer(name, text)) is not None}


def _frames(error: BaseException, outer: BaseException) -> Iterator[dict[str, Any]]:
    """Yield the frames from where it was raised outwards."""
    steps = _path(error, outer)
    steps = [
        step
        for number, step in enumerate(steps)
        if number < _SAME_FRAMES or {*steps[number - _SAME_FRAMES : number]} != {step}
    ]
    if len(steps) > _INNER_FRAMES + _OUTER_FRAMES:
        steps = steps[:_OUTER_FRAMES] + steps[-_INNER_FRAMES:]
    for file, line, function in reversed(steps):
        yield {"file": file, "line": line, "function": function}


def _path(error: BaseException, outer: BaseException) -> list[_Step]:
    """Return the calls from the cell to where it was raised.

    The traceback of an exception begins where it was caught. So the outer calls come from the exception that was raised
    from it; an exception from a worker process has no traceback at all.
    """
    inner, whole = [*_steps(_attribute(error, "__traceback__"))], [*_steps(_attribute(outer, "__traceback__"))]
    caught = [number for number, step in enumerate(whole) if inner and (step[0], step[2]) == (inner[0][0], inner[0][2])]
    path = inner if error is outer else whole[: caught[0] if caught else None] + inner
    first = next((number for number, step in enumerate(path) if not step[0].endswith(_IPYTHON_FILES)), 0)
    return path[first:]


def _steps(traceback: TracebackType | None) -> Iterator[_Step]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield code.co_filename, traceback.tb_lineno, code.co_name
        traceback = traceback.tb_next


def _allocator(states: list[dict[str, Any]], gpu: int | None) -> dict[str, int]:
    """Return what a library's allocator holds on a card; on the fullest where `gpu` is None."""
    states = [one for one in states if gpu is None or str(one.get("device", "")).endswith(f":{gpu}")]
    if not states:
        return {}
    fullest = max(states, key=lambda one: one.get("allocated_bytes") or 0)
    names = ("allocated_bytes", "reserved_bytes", "total_bytes")
    return {name: fullest[name] for name in names if type(fullest.get(name)) is int}
