"""Reads why a kernel could not be started out of what the server was told and what the process wrote."""

import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from jupyter_kerneldoctor.recording.model import ServerView

from ..units import quote, signal_name

_FRAME = re.compile(r'^  File "(?P<path>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_LAST_LINE = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*$", re.MULTILINE)

_HOME = re.compile(r"^[ \t]*PYTHONHOME = '(?P<path>[^'\n]+)'", re.MULTILINE)

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
    if (found := _shadowed(text) or _lost_itself(text)) is not None:
        return found
    for pattern, reason in _REASONS:
        if words := re.search(pattern, final, re.MULTILINE):
            return reason(words, program)
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


def _missing_module(found: re.Match[str], program: str | None) -> StartFailure:
    name = found["name"]
    if name.split(".")[0] in ("ipykernel", "ipykernel_launcher"):
        whose = "the Python that it is to run with" if program is None else quote(program)
        return StartFailure(f"{whose} has no package `ipykernel`", detail=name)
    if name.split(".")[0] in sys.stdlib_module_names:
        return StartFailure(f"its Python lacks {quote(name)}, a part of the standard library", detail=name)
    return StartFailure(f"the package {quote(name)} is missing", detail=name)


def _part_of_a_package(found: re.Match[str], _program: str | None) -> StartFailure:
    """A package that lacks what another one wants of it: another version, or a part of one."""
    module, path = found["module"] or found["other"], found["path"]
    where = "" if path is None else f" (it was taken from {quote(path, 120)})"
    name, lacks = module.split(".")[0], found["name"] or found["lacks"]
    if name in sys.stdlib_module_names:
        told = f"{quote(module)}, a part of Python, has no {quote(lacks)}: a package was written for another Python"
        return StartFailure(told, detail=name)
    return StartFailure(
        f"the package {quote(name)} has no {quote(lacks)}: another version is needed{where}", detail=name
    )


def _wrong_format(_found: re.Match[str], program: str | None) -> StartFailure:
    what = "the program" if program is None else f"the program {quote(program)}"
    made_for = "is made for another machine, or is a script without a first line `#!…`"
    return StartFailure(f"{what} {made_for}", detail=program)


def _missing_program(found: re.Match[str], program: str | None) -> StartFailure:
    path = found["path"]
    if program is None or path == program:
        return StartFailure(f"the program {quote(path)} that its kernel.json names does not exist", detail=path)
    return StartFailure(f"there is no {quote(path)}", detail=path)


def _not_allowed(found: re.Match[str], _program: str | None) -> StartFailure:
    what = quote(found["path"]) if found["path"] else "a file"
    return StartFailure(f"it may not use {what}", detail=found["path"] or None)


_REASONS: tuple[tuple[str, Callable[[re.Match[str], str | None], StartFailure]], ...] = (
    (r"No module named '?(?P<name>[\w.]+)'?", _missing_module),
    (
        (
            r"cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<module>[\w.]+)'"
            r"(?: \((?P<path>/[^)\n]{1,500})\))?|module '(?P<other>[\w.]+)' has no attribute '(?P<lacks>\w+)'"
        ),
        _part_of_a_package,
    ),
    (r"Exec format error", _wrong_format),
    (r"No space left on device|Disk quota exceeded", lambda *_: StartFailure("there is no room left on the disk")),
    (r"No such file or directory:? '?(?P<path>[^'\n]+?)'?$", _missing_program),
    (r"Permission denied:? ?'?(?P<path>[^'\n]*)", _not_allowed),
    (
        r"^.*(?:undefined symbol|GLIBC\w{0,9}_[\d.]{1,9}' not found|cannot open shared object file).*$",
        lambda found, _: StartFailure(f"a library could not be loaded: {quote(found[0], 120)}"),
    ),
    (r"Address already in use", lambda *_: StartFailure("a network port that it was to use is taken")),
)
"""What the words of an error mean, from them and the program that was started; the first that fits."""
