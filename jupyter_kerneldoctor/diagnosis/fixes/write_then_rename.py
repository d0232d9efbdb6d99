"""The fix `write-then-rename`."""

import re

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ..case import Case
from ..death import Death
from ..fix import Advice
from ..units import quote

_NEWER = re.compile(r"\.(tofile|to_csv|to_parquet|write|save|savez)\(|open\([^)]*['\"]w|truncate\(")
_SHRUNK = SystemState(0, "end", filesystems=(FileSystem("/w", "ext4", 9, 9, ("mapped",), ("/w/state.dat",)),))


class WriteThenRename(Advice):
    """Write a new file and rename it, in place of one that is in use.

    What it does
    ------------
    A file that is mapped is read when it is used. Who opens it for writing cuts it to nothing first, and the next look
    at the array ends the process. A new file under another name, renamed when it is complete, leaves the old one to
    those that still read it.

    When it is offered
    ------------------
    A mapped file had become shorter than it was when it was mapped.

    What it costs
    -------------
    For a moment both files take room on the disk.
    """

    id, title, causes = "write-then-rename", "Write to a new file, then rename it", ("file-truncated",)
    why = (
        "{file} became shorter while the kernel had it mapped.{by} Write to a new file and rename it when it is whole, "
        "or work on a copy of the array."
    )
    snippet = (
        "import os\n\nnew = {path} + '.new'\na.tofile(new)  # or np.save, to_csv: whatever wrote the file\n"
        "os.replace(new, {path})  # who has the old one mapped keeps it\n# or first: m = np.array(m), a copy"
    )

    FIRES = [
        Case(
            "import numpy as np\nm = np.memmap('state.dat')",
            "small.tofile('state.dat')\nm.sum()",
            cause="file-truncated",
            signal="SIGBUS",
            system_states=[_SHRUNK],
            says=("`/w/state.dat`", "os.replace(new, '/w/state.dat')", "`small.tofile('state.dat')`"),
        ),
        Case("m.sum()", cause="file-truncated", signal="SIGBUS", says=("A mapped file", "path + '.new'")),
    ]
    SILENT = [Case("m.sum()", cause="disk-full", signal="SIGBUS", system_states=[_SHRUNK])]

    def facts(self, death: Death) -> dict[str, str]:
        """Name the file, and the line that may have written it."""
        path = next(iter(death.environment.shrunk), None)
        lines = [] if death.cell is None else death.cell.source.split("\n")
        wrote = next((line.strip() for line in lines if _NEWER.search(line)), None)
        return {
            "file": "A mapped file" if path is None else quote(path, 100),
            "path": "path" if path is None else repr(path),
            "by": f" {quote(wrote)} may have done that." if wrote else " Another program may have done that, too.",
        }
