"""Collects what is known about a kernel at its start."""

import os
import platform
import re
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from ..recording.layout import FORMAT
from ..recording.processes import identify

_EXECUTES_NOTEBOOKS = ("papermill", "jupyter-execute", "jupyter-nbconvert", "nbconvert")


def start_fields(loaded_by: str) -> dict[str, Any]:
    """Return the fields of a recording's first event, except those that the sidecar adds."""
    return {
        "format": FORMAT,
        "process": identify(os.getpid()),
        "kernel_id": kernel_id(),
        "notebook": notebook(),
        "started_by": started_by(),
        "hostname": platform.node(),
        "loaded_by": loaded_by,
        "python": platform.python_version(),
        "versions": _versions("IPython", "ipykernel"),
        "executable": sys.executable or None,
        "directory": _directory(),
    }


def control_groups() -> str:
    """Return the text of /proc/self/cgroup (cgroups(7)); "" elsewhere than on Linux."""
    with suppress(OSError):
        return Path("/proc/self/cgroup").read_text("utf-8", "replace")
    return ""


def kernel_id() -> str | None:
    """Return the id in the name of the connection file, `kernel-<id>.json`; None outside Jupyter."""
    application = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    if application is None or not application.initialized():
        return None
    name = Path(application.instance().connection_file).stem
    return name.removeprefix("kernel-")


def notebook() -> str | None:
    """Return the notebook's path, which Jupyter Server puts into a kernel's environment; None where unknown.

    A kernel started by a notebook's cell, through papermill for example, inherits the path of that notebook; it does
    not count. Of papermill, `jupyter execute` and nbconvert it is the notebook on their command line.
    """
    name = os.environ.get("JPY_SESSION_NAME")
    if name and os.fsencode(f"JPY_SESSION_NAME={name}") not in _of_parent("environ"):
        return name
    return _executed_notebook() if started_by() in _EXECUTES_NOTEBOOKS else None


def started_by() -> str | None:
    """Return the name of the program that started this kernel: "papermill", "run_all.py"; None where unknown."""
    words = [os.fsdecode(word) for word in _of_parent("cmdline")]
    is_python = len(words) > 2 and re.fullmatch(r"python[\d.]*t?", Path(words[0]).name)
    if is_python and words[1] == "-m":
        return "another kernel" if words[2] == "ipykernel_launcher" else words[2]
    script = is_python and not words[1].startswith("-")
    return Path(words[1 if script else 0]).name or None if words else None


def _executed_notebook() -> str | None:
    """Return the notebook that the parent executes, if its command line names one."""
    words = [os.fsdecode(word) for word in _of_parent("cmdline")]
    named = [
        one for before, one in pairwise(words) if one.endswith(".ipynb") and not before.startswith(("--output", "-o"))
    ]
    if len(named) != 1 and started_by() != "papermill":  # which writes into the second
        return None
    try:
        path = Path(f"/proc/{int(os.environ['JPY_PARENT_PID'])}/cwd").readlink() / named[0]
        return str(path) if path.is_file() else None
    except (IndexError, OSError, KeyError, ValueError):
        return None


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - as text
    except OSError:
        return None  # it was deleted


def _of_parent(what: Literal["environ", "cmdline"]) -> list[bytes]:
    """Return what /proc knows of the process that started this kernel, whose id jupyter_client passes on."""
    try:
        return Path(f"/proc/{int(os.environ['JPY_PARENT_PID'])}/{what}").read_bytes().split(b"\0")
    except (KeyError, ValueError, OSError):
        return []


def _versions(*modules: str) -> dict[str, str]:
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {name: str(version) for name, version in found.items() if version is not None}
