from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ...examples import GIB
from ...fix import Advice, Case, Death
from ...pasted_commands import shell_word
from ...units import quote, size

_FULL = SystemState(0, "end", filesystems=(FileSystem("/scratch", "ext4", 50 * GIB, 0, ("mapped", "cwd")),))


class FreeDiskSpace(Advice):
    """Find what fills the disk, and make room.

    What it does: Lists the largest directories of the file system that is full. Checkpoints, caches of pip and of
    Hugging Face, and the trash are what often can go.

    When it is offered: A disk was full.

    What it costs: Nothing: deleting is up to you.
    """

    id, title, causes = "free-disk-space", "Make room on the disk", ("disk-full",)
    why = (
        "{disk} has no room left. Free some space there, or write to another place. A smaller dtype makes a "
        "smaller file."
    )
    snippet = "!df -h {path}\n!du -xh --max-depth=2 {path} 2>/dev/null | sort -rh | head -20"

    FIRES = [
        Case("m[:] = 1", cause="disk-full", signal="SIGBUS", system_states=[_FULL], says=("`/scratch`", "du -xh")),
        Case("m[:] = 1", cause="disk-full", signal="SIGBUS", says=("The disk has no room",)),
    ]
    SILENT = [Case("m[:] = 1", cause="file-truncated", signal="SIGBUS", system_states=[_FULL])]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the fullest file system."""
        full = next((one for one in death.environment.full if "shm" not in one.roles), None)
        if full is None:
            return {"disk": "The disk", "path": "."}
        total = "" if full.total_bytes is None else f" ({size(full.total_bytes)})"
        return {"disk": f"{quote(full.path)}{total}", "path": shell_word(full.path) or "."}
