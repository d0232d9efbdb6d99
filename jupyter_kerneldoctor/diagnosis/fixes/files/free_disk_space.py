import ast
import posixpath

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ...code.origins import Origins
from ...examples import GIB
from ...fix import Advice, Case, Death, quote, size
from ...pasted_commands import shell_word

_SAVERS = {"numpy.save": 0, "numpy.savez": 0, "numpy.savez_compressed": 0, "torch.save": 1, "joblib.dump": 1}
"""Where the file stands among the arguments."""
_EACH = " The cell writes a file for each round: where only the newest counts, delete the older ones as it goes."
_FULL = SystemState(0, "end", filesystems=(FileSystem("/scratch", "ext4", 50 * GIB, 0, ("mapped", "cwd")),))


class FreeDiskSpace(Advice):
    """Find what fills the disk, and make room.

    What it does: Lists the largest directories of the file system that is full. Checkpoints, caches of pip and of
    Hugging Face, and the trash are what often can go.

    When it is offered: A disk was full.

    What it costs: Nothing: deleting is up to you.
    """

    id, title, causes = "free-disk-space", "Make room on the disk", ("disk-full",)
    why = "{disk} has no room left. Free some space there, or write to another place.{each}"
    snippet = "!df -h {path}\n!du -xh --max-depth=2 {path} 2>/dev/null | sort -rh | head -20"

    FIRES = [
        Case("m[:] = 1", system_states=[_FULL], says=("`/scratch`", "du -xh")),
        Case("m[:] = 1", says=("The disk has no room", "df -h .\n")),
        Case(
            "import torch\nfor epoch in range(90):\n    torch.save(net.state_dict(), f'kept/model-{epoch}.pt')",
            says=("df -h kept", "a file for each round"),
        ),
        Case("open('out/a', 'w').write(text)", says=("df -h out",)),
    ]
    SILENT = [Case("m[:] = 1", cause="file-truncated", system_states=[_FULL])]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the fullest file system."""
        written, is_each = _written_to(death)
        each = _EACH if is_each else ""
        full = next((one for one in death.environment.full if "shm" not in one.roles), None)
        if full is None:
            return {"disk": "The disk", "path": shell_word(written or ".") or ".", "each": each}
        total = "" if full.total_bytes is None else f" ({size(full.total_bytes)})"
        return {"disk": f"{quote(full.path)}{total}", "path": shell_word(full.path) or ".", "each": each}


def _written_to(death: Death) -> tuple[str, bool]:
    """Return the directory of the file that is written, "" for the notebook's own, and whether each round has its own.

    Each has its own where, in a loop, its name is put together of a text and of something else.
    """
    for call in death.code.running.calls("builtins.open", *_SAVERS):
        name = call.argument("f" if call.name == "torch.save" else "file", _SAVERS.get(call.name, 0))
        mode = call.argument("mode", 1) if call.name == "builtins.open" else ast.Constant("w")
        if not (isinstance(mode, ast.Constant) and "r" not in str(mode.value)):
            continue
        match name:
            case ast.Constant(value=str(path)):
                return posixpath.dirname(path), False
            case ast.JoinedStr(values=[ast.Constant(value=str(path)), *_]):
                return posixpath.dirname(path), Origins(death.code).is_repeated(call.node, call.scope)
    return "", False
