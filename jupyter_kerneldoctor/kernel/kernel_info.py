"""Collects what is known about a kernel at its start."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from ..recording.layout import FORMAT
from ..recording.processes import identify


def start_fields(loaded_by: str) -> dict[str, Any]:
    """Return the fields of a recording's first event, except those that the sidecar adds."""
    return {
        "format": FORMAT,
        "process": identify(os.getpid()),
        "kernel_id": kernel_id(),
        "notebook": notebook(),
        "hostname": platform.node(),
        "loaded_by": loaded_by,
        "python": platform.python_version(),
        "versions": _versions("IPython", "ipykernel"),
        "executable": sys.executable or None,
        "directory": _directory(),
    }


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
    not count.
    """
    name = os.environ.get("JPY_SESSION_NAME")
    return name if name and os.fsencode(f"JPY_SESSION_NAME={name}") not in _parent_environment() else None


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - as text
    except OSError:
        return None  # it was deleted


def _parent_environment() -> list[bytes]:
    """Return the environment of the process that started this kernel, whose id jupyter_client passes on."""
    try:
        return Path(f"/proc/{int(os.environ['JPY_PARENT_PID'])}/environ").read_bytes().split(b"\0")
    except (KeyError, ValueError, OSError):
        return []


def _versions(*modules: str) -> dict[str, str]:
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {name: str(version) for name, version in found.items() if version is not None}
