"""Where the kernel ran, told by its control groups, host name and file systems, and how memory is raised there.

A limit is set by what started the kernel: Docker, Kubernetes, JupyterHub, Slurm, systemd, WSL, or a shell.
"""

import math
import re
from dataclasses import dataclass

from .death import Death
from .pasted_commands import shell_word
from .texts.allocation_site import needed

_GIB = 1 << 30
_HEADROOM = 0.1  # of a limit stays free
_STEPS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # GiB that people give

_CONTAINER_ID = re.compile(r"[0-9a-f]{12}")
_SLURM = re.compile(r"slurm.{0,200}?/job_(\d+)", re.DOTALL)
_HUB_UNIT = re.compile(r"jupyter-[^/]{1,99}\.service")
_UNIT = re.compile(r"(?<![^/])([^/]+\.(?:service|slice|scope))(?=/|$)")


@dataclass(frozen=True)
class Setting:
    """What sets the limit on the kernel's memory."""

    name: str
    """For a sentence: "Docker", "the Slurm job"; "" when it is not known."""
    command: str
    """What raises it; {size} stands for the amount in GiB."""


_DOCKER = Setting(
    "Docker", "!docker run -m {size}g --memory-swap {size}g ...  # in the shell that starts the container"
)
_SETTINGS = {
    "docker": _DOCKER,
    "podman": Setting("Podman", "!podman run -m {size}g ...  # in the shell that starts the container"),
    "kubernetes": Setting(
        "Kubernetes",
        "# in the pod's specification:\n# resources:\n"
        "#   requests: {{memory: {size}Gi}}\n#   limits: {{memory: {size}Gi}}",
    ),
    "hub": Setting("JupyterHub", "c.Spawner.mem_limit = '{size}G'  # in jupyterhub_config.py, by who runs the hub"),
    "hub-kubernetes": Setting(
        "JupyterHub on Kubernetes",
        "# in the hub's config.yaml, or choose a larger profile when the server starts:\n"
        "# singleuser:\n#   memory: {{limit: {size}G, guarantee: {size}G}}",
    ),
    "slurm": Setting("the Slurm job", "!sbatch --mem={size}G ...  # or salloc --mem={size}G, srun --mem={size}G"),
    "wsl": Setting(
        "WSL", "# in C:\\Users\\YOU\\.wslconfig, then `wsl --shutdown` in Windows:\n# [wsl2]\n# memory={size}GB"
    ),
    "rlimit": Setting("ulimit", "# in the shell that starts Jupyter:\n# ulimit -v unlimited; ulimit -d unlimited"),
    "machine": Setting(
        "",
        "# more memory for the machine, {size} GiB in all; or swap, which is slow, by an administrator:\n"
        "!sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile\n!sudo mkswap /swapfile && sudo swapon /swapfile",
    ),
    "container": Setting(
        "", "# Docker: -m {size}g; Kubernetes: limits: memory: {size}Gi; JupyterHub: mem_limit = '{size}G'"
    ),
}


def setting(death: Death) -> Setting:
    """Return what sets the limit that the kernel ran into."""
    if is_rlimit(death):
        return _SETTINGS["rlimit"]
    if not death.memory.has_group_limit:
        systems = death.environment.filesystems
        is_wsl = any(one.kind in ("9p", "drvfs") and one.path.startswith("/mnt/") for one in systems)
        return _SETTINGS["wsl" if is_wsl else "machine"]
    limits = (one.source for one in death.recording.limits if one.kind == "cgroup")
    text = "\n".join((*(one.path for one in death.memory.groups), *limits))
    host = death.recording.kernel.hostname or ""
    if (unit := _systemd(text)) is not None:
        return unit
    return _SETTINGS[_kind(text, host)]


def _kind(text: str, host: str) -> str:
    if "kubepods" in text or host.startswith("jupyter-"):
        return "hub-kubernetes" if host.startswith("jupyter-") else "kubernetes"
    if _SLURM.search(text):
        return "slurm"
    if _HUB_UNIT.search(text):
        return "hub"
    if "libpod" in text:
        return "podman"
    if "docker" in text or _CONTAINER_ID.fullmatch(host):
        return "docker"
    return "container"


def _systemd(text: str) -> Setting | None:
    """Return the innermost unit of systemd; None where there is none, or something else manages it."""
    if re.search("kubepods|docker|libpod|slurm", text) or _HUB_UNIT.search(text):
        return None
    units = [name for name in _UNIT.findall(text) if name not in ("init.scope", "system.slice", "user.slice")]
    if not units:
        return None
    user = "--user " if "user@" in text and not units[-1].startswith("user") else ""
    prefix = "" if user else "sudo "
    unit = shell_word(units[-1]) or "UNIT"
    return Setting("systemd", f"!{prefix}systemctl {user}set-property {unit} MemoryMax={{size}}G")


def is_rlimit(death: Death) -> bool:
    """Whether memory was refused by a limit of the process itself."""
    limits = (death.environment.soft_limit(name) for name in ("AS", "DATA"))
    return death.causes[0].id == "allocation-refused" and any(limits)


def enough_bytes(death: Death) -> tuple[int | None, bool]:
    """Return a memory limit below which it had no chance, and whether all is in it: known sizes, or rounds to come.

    What was only seen to grow until a kill says little of what it needs. None where nothing is known.
    """
    memory, made, whole = death.memory, needed(death), death.loop_total
    known = max(made.value.bytes or 0 if made else 0, death.refused_bytes or 0, whole.bytes if whole else 0)
    wanted = max(known, memory.missing_bytes or 0)
    before = memory.used_before_bytes or memory.before_bytes or 0
    return int((before + wanted) / (1 - _HEADROOM)) if wanted else None, known >= wanted


def round_gib(least_bytes: int) -> int:
    """Return the next amount that people give a container, in GiB."""
    gib = max(1, math.ceil(least_bytes / _GIB))
    return next((step for step in _STEPS if step >= gib), gib)


def shm_command(death: Death) -> str:
    """Return how the container that the kernel ran in gets more shared memory."""
    text = "\n".join(one.path for one in death.memory.groups)
    kind = _kind(text, death.recording.kernel.hostname or "")
    if kind in ("kubernetes", "hub-kubernetes"):
        return (
            "# in the pod's specification:\n# volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 2Gi}}]\n"
            "# volumeMounts: [{name: shm, mountPath: /dev/shm}]"
        )
    if kind == "slurm":
        return "!df -h /dev/shm  # the node's; it counts as memory of the job: ask for more with --mem"
    program = "podman" if kind == "podman" else "docker"
    return f"!{program} run --shm-size=2g ...  # in the shell that starts the container\n!df -h /dev/shm"
