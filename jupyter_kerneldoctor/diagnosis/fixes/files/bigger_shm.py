from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ...environments import shm_command
from ...examples import MIB
from ...fix import Advice, Case, Death, size

_SHM = "/dev/shm"  # noqa: S108 - a mount point
_FULL = SystemState(-1, "end", filesystems=(FileSystem(_SHM, "tmpfs", 64 * MIB, 0, ("shm", "mapped")),))
_LOADER = "from torch.utils.data import DataLoader\nfor b in DataLoader(data, batch_size=64, num_workers=8): pass"


class BiggerShm(Advice):
    """Give the container more shared memory, or use less of it.

    What it does: Processes hand each other data in /dev/shm, and a Docker container has 64 MB of it. The command starts
    the container with more. A data loader without workers needs none; a file on a disk takes its place for arrays that
    are shared.

    When it is offered: The shared memory was full when the kernel or a worker died.

    What it costs: Shared memory that is used counts as memory. Without workers the data are loaded in the kernel
    itself.
    """

    id, title, causes = "bigger-shm", "Give the container more shared memory: --shm-size", ("shm-exhausted",)
    why = "Shared memory (/dev/shm) {had}. Start the container with more (`--shm-size`), or use less: {less}."
    snippet = "{command}"

    FIRES = [
        Case(_LOADER, system_states=[_FULL], says=("has 64 MiB", "num_workers=0", "--shm-size=2g")),
        Case("a[:] = 1", says=("is full", "memmap")),
    ]
    SILENT = [Case(_LOADER, cause="disk-full", system_states=[_FULL])]

    def facts(self, death: Death) -> dict[str, str]:
        """Say how much there is, and how to do with less."""
        there = (one.total_bytes for one in death.environment.filesystems if "shm" in one.roles)
        total = next((one for one in there if one), None)
        loads = any(death.code.calls("torch.utils.data.DataLoader"))
        less = "`num_workers=0`, or fewer workers and smaller batches"
        return {
            "had": "is full" if total is None else f"has {size(total)} here, too little for what was written",
            "less": less if loads else "a smaller array or tensor, or `np.memmap` of a file on a disk",
            "command": shm_command(death),
        }
