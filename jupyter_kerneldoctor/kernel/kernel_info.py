"""What is known about a kernel at its start."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from ..recording.layout import FORMAT
from ..recording.processes import identify


def start_facts(loaded_by: str) -> dict[str, Any]:
    """The fields of the first event of a recording, but for what the sidecar adds."""
    return {
        "format": FORMAT,
        "process": identify(os.getpid()),
        "kernel_id": kernel_id(),
        "notebook": notebook(),
        "hostname": platform.node(),
        "loaded_by": loaded_by,
        "python": platform.python_version(),
        "versions": _versions("IPython", "ipykernel"),
    }


def kernel_id() -> str | None:
    """The id that Jupyter gave this kernel: its connection file is called `kernel-<id>.json`."""
    application = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    if application is None or not application.initialized():
        return None
    name = Path(application.instance().connection_file).stem
    return name.removeprefix("kernel-")


def notebook() -> str | None:
    """The notebook's path as Jupyter Server puts it into the environment of the kernels it starts.

    A kernel that a notebook's cell starts, by papermill or nbclient for example, only inherits that of its starter.
    """
    name = os.environ.get("JPY_SESSION_NAME")
    return name if name and os.fsencode(f"JPY_SESSION_NAME={name}") not in _environment_of_starter() else None


def _environment_of_starter() -> list[bytes]:
    """What the process got at its start that started this kernel: jupyter_client leaves its id (`launch_kernel`)."""
    try:
        return Path(f"/proc/{int(os.environ['JPY_PARENT_PID'])}/environ").read_bytes().split(b"\0")
    except (KeyError, ValueError, OSError):
        return []


def _versions(*modules: str) -> dict[str, str]:
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {name: str(version) for name, version in found.items() if version is not None}
