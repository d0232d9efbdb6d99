import ast
import posixpath

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
    why = "{disk} has no room left. Free some space there, or write to another place."
    snippet = "!df -h {path}\n!du -xh --max-depth=2 {path} 2>/dev/null | sort -rh | head -20"

    FIRES = [
        Case("m[:] = 1", cause="disk-full", signal="SIGBUS", system_states=[_FULL], says=("`/scratch`", "du -xh")),
        Case("m[:] = 1", cause="disk-full", signal="SIGBUS", says=("The disk has no room", "df -h .\n")),
        Case("open('out/a', 'w').write(text)", cause="disk-full", signal="SIGBUS", says=("df -h out",)),
    ]
    SILENT = [Case("m[:] = 1", cause="file-truncated", signal="SIGBUS", system_states=[_FULL])]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the fullest file system."""
        full = next((one for one in death.environment.full if "shm" not in one.roles), None)
        if full is None:
            return {"disk": "The disk", "path": shell_word(_written_to(death) or ".") or "."}
        total = "" if full.total_bytes is None else f" ({size(full.total_bytes)})"
        return {"disk": f"{quote(full.path)}{total}", "path": shell_word(full.path) or "."}


def _written_to(death: Death) -> str:
    """Return the directory of the file that was open for writing, as the code says; "" for the notebook's own."""
    for call in death.code.running.calls("builtins.open"):
        match call.argument("file", 0), call.argument("mode", 1):
            case ast.Constant(value=str(path)), ast.Constant(value=str(mode)) if "r" not in mode:
                return posixpath.dirname(path)
    return ""
