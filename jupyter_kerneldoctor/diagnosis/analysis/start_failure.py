"""Reads why a kernel could not be started out of what the server was told and what the process wrote."""

import re
import signal
import sys
from dataclasses import dataclass
from pathlib import PurePosixPath

from jupyter_kerneldoctor.recording.model import ServerView

from ..units import quote, signal_name

_FRAME = re.compile(r'^  File "(?P<path>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_NO_MODULE = re.compile(r"No module named '?(?P<name>[\w.]+)'?")
_NOT_THERE = re.compile(r"No such file or directory:? '?(?P<path>[^'\n]+?)'?$", re.MULTILINE)
_NOT_LOADED = re.compile(
    r"^.*(?:undefined symbol|GLIBC\w*_[\d.]+' not found|cannot open shared object file).*$", re.MULTILINE
)
_LAST_LINE = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*$", re.MULTILINE)

_HOME = re.compile(r"^\s*PYTHONHOME = '(?P<path>[^'\n]+)'", re.MULTILINE)

_A_KERNEL_NEEDS = frozenset({"ipykernel", "IPython", "traitlets", "zmq", "tornado", "jupyter_client", "jupyter_core"})
"""What ipykernel imports beside the standard library; a user's file of such a name is taken in its place."""

_LIBRARIES = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|\.zip/")


@dataclass(frozen=True)
class StartFailure:
    """Why it did not start."""

    reason: str
    """The second half of a sentence that begins "The kernel did not start:"."""
    known: bool = True
    """Whether this is the reason, and not only the last that was heard."""
    detail: str | None = None
    """A path or a name that the reason is about."""


def start_failure(server: ServerView) -> StartFailure:
    """Judge from the server's error and the process's last text; the first reason that fits."""
    text = "\n".join(part for part in (server.stderr, server.start_error or "") if part)
    program = server.start_command[0] if server.start_command else None
    raised = list(_LAST_LINE.finditer(text))
    final = text[raised[-1].start() :] if raised else text  # what was said before it, it had lived with
    found = (
        _shadowed(text)
        or _lost_itself(text)
        or next((one for one in (judge(final, program) for judge in _JUDGES) if one), None)
    )
    if found is not None:
        return found
    said, code = said_before_it_left(text), server.returncode or 0
    if code == -signal.SIGINT or (said or "").startswith("KeyboardInterrupt"):
        return StartFailure("an interrupt ended it before it answered", known=False)
    ended = f"it was ended by the signal {signal_name(-code)} before it answered" if code < 0 else ""
    if said:
        last = f"the last message was {quote(said, 120)}"
        return StartFailure(f"{ended}, and {last}" if ended else last, known=False)
    left = f"it left with exit code {code} before it answered" if code > 0 else "it ended before it answered"
    return StartFailure(ended or left, known=False)


def said_before_it_left(text: str) -> str | None:
    """Return the exception that was told last; without one, the last line there is."""
    raised = list(_LAST_LINE.finditer(text))
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return raised[-1][0] if raised else lines[-1] if lines else None


def _shadowed(text: str) -> StartFailure | None:
    """A file of the user's that is taken for a module of Python's, as `random.py` beside the notebook."""
    if "Error" not in text:
        return None
    for frame in _FRAME.finditer(text):
        path = PurePosixPath(frame["path"])
        name = path.parent.name if path.stem == "__init__" else path.stem
        if not _LIBRARIES.search(frame["path"]) and (name in sys.stdlib_module_names or name in _A_KERNEL_NEEDS):
            reason = f"the file {quote(str(path))} is taken for Python's module of that name, {quote(name)}"
            return StartFailure(reason, detail=str(path))
    return None


def _lost_itself(text: str) -> StartFailure | None:
    """An interpreter that does not find its own library: it says so, and where it looked (Python/initconfig.c)."""
    if "No module named 'encodings'" not in text and "Unable to get the locale encoding" not in text:
        return None
    home = _HOME.search(text)
    why = "" if home is None else f": `PYTHONHOME` is set to {quote(home['path'])}, where it is not"
    return StartFailure(f"Python does not find its own standard library{why}", detail=home["path"] if home else None)


def _missing_module(text: str, program: str | None) -> StartFailure | None:
    found = _NO_MODULE.search(text)
    if found is None:
        return None
    name = found["name"]
    if name.split(".")[0] in ("ipykernel", "ipykernel_launcher"):
        whose = "the Python that it is to run with" if program is None else quote(program)
        return StartFailure(f"{whose} has no package `ipykernel`", detail=name)
    if name.split(".")[0] in sys.stdlib_module_names:
        return StartFailure(f"its Python lacks {quote(name)}, a part of the standard library", detail=name)
    return StartFailure(f"the package {quote(name)} is missing", detail=name)


def _wrong_format(text: str, program: str | None) -> StartFailure | None:
    if "Exec format error" not in text:
        return None
    what = "the program" if program is None else f"the program {quote(program)}"
    return StartFailure(
        f"{what} is made for another machine, or is a script without a first line `#!…`", detail=program
    )


def _full_disk(text: str, _program: str | None) -> StartFailure | None:
    if "No space left on device" not in text and "Disk quota exceeded" not in text:
        return None
    return StartFailure("there is no room left on the disk")


def _missing_program(text: str, program: str | None) -> StartFailure | None:
    found = _NOT_THERE.search(text)
    if found is None:
        return None
    path = found["path"]
    if program is None or path == program:
        return StartFailure(f"the program {quote(path)} that its kernel.json names does not exist", detail=path)
    return StartFailure(f"there is no {quote(path)}", detail=path)


def _not_allowed(text: str, _program: str | None) -> StartFailure | None:
    found = re.search(r"Permission denied:? ?'?(?P<path>[^'\n]*)", text)
    if found is None:
        return None
    what = f" {quote(found['path'])}" if found["path"] else " a file"
    return StartFailure(f"it may not use{what}", detail=found["path"] or None)


def _not_loadable(text: str, _program: str | None) -> StartFailure | None:
    found = _NOT_LOADED.search(text)
    return None if found is None else StartFailure(f"a library could not be loaded: {quote(found[0], 120)}")


def _port_taken(text: str, _program: str | None) -> StartFailure | None:
    if "Address already in use" not in text:
        return None
    return StartFailure("a network port that it was to use is taken")


_JUDGES = (_missing_module, _wrong_format, _full_disk, _missing_program, _not_allowed, _not_loadable, _port_taken)
