"""Finds out from a few files whether there may be an NVIDIA driver, so that nothing is loaded without need."""

import os
import re

LIBRARY = "libnvidia-ml.so.1"

# The driver's own device, what a container is given, and the paravirtual device of WSL 2.
_MARKERS = ("/proc/driver/nvidia/version", "/dev/nvidiactl")
_WSL_MARKER = "/dev/dxg"
_VERSION_FILE = "/proc/driver/nvidia/version"
_DIRECTORIES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/run/opengl-driver/lib",  # NixOS
)
_WSL_DIRECTORY = "/usr/lib/wsl/lib"


def may_be_installed() -> bool:
    """Return whether to ask NVML: the kernel module is loaded, or NVML's library is in one of its usual places."""
    if any(os.path.exists(path) for path in _MARKERS):
        return True
    wsl = [_WSL_DIRECTORY] if os.path.exists(_WSL_MARKER) else []
    own = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(path)]
    return any(os.path.exists(os.path.join(path, LIBRARY)) for path in (*own, *wsl, *_DIRECTORIES))


def module_version() -> str | None:
    """Return the version of the loaded kernel module, also where NVML does not work with it; None without one."""
    try:
        with open(_VERSION_FILE, encoding="ascii", errors="replace") as file:
            found = re.search(r"\s(\d+\.[\d.]+)\s", file.readline())
    except OSError:
        return None
    return found.group(1) if found else None
