from dataclasses import replace as with_

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ...code.mapped_files import cut_while_mapped, is_only_read
from ...edits import Changes, drop_argument, replace
from ...fix import Advice, Call, Case, Death, Proposals, quote

_SHRUNK = SystemState(0, "end", filesystems=(FileSystem("/w", "ext4", 9, 9, ("mapped",), ("/w/state.dat",)),))


class WriteThenRename(Advice):
    """Write a new file and rename it, in place of one that is in use.

    What it does: A file that is mapped is read when it is used. Who opens it for writing cuts it to nothing first, and
    the next look at the array ends the process. The edit reads the file into memory as a whole, a copy that nothing can
    cut. The snippet writes a new file under another name and renames it, which leaves the old one to those that still
    read it.

    When it is offered: A mapped file had become shorter than it was when it was mapped.

    What it costs: The copy takes as much memory as the file is long. For a rename both files take room on the disk for
    a moment.
    """

    id, title, causes = "write-then-rename", "Write to a new file, then rename it", ("file-truncated",)
    why = "{file} became shorter while the kernel had it mapped.{by} Write to a new file, then rename it."
    snippet = (
        "import os\n\nnew = {path} + '.new'\na.tofile(new)  # or np.save, to_csv: whatever wrote the file\n"
        "os.replace(new, {path})  # who has the old one mapped keeps it\n# or first: m = np.array(m), a copy"
    )

    FIRES = [
        Case(
            "import numpy as np\nm = np.memmap('state.dat', mode='r')",
            "small.tofile('state.dat')\nm.sum()",
            system_states=[_SHRUNK],
            becomes={1: "import numpy as np\nm = np.array(np.memmap('state.dat', mode='r'))"},
            says=("`/w/state.dat`", "os.replace(new, '/w/state.dat')", "`small.tofile('state.dat')`"),
        ),
        Case(
            "import numpy as np\nP = 'x.npy'\ndef get(): return np.load(P, mmap_mode='r')",
            "a = get()\nnp.save(P, a * 2)\na.sum()",
            becomes={"P, mmap_mode='r'": "P"},
        ),
        Case("m.sum()", says=("A mapped file", "path + '.new'")),
    ]
    SILENT = [Case("m.sum()", cause="disk-full", system_states=[_SHRUNK])]

    def propose(self, death: Death) -> Proposals:
        cut = cut_while_mapped(death.code)
        edits = _whole(cut.mapped) if cut is not None else ()
        for one in super().propose(death):
            title = "Read the file into memory as a whole, a copy; or write a new file and rename it" if edits else None
            yield with_(one, edits=edits, title=title)

    def is_cured(self, before: Death, after: Death) -> bool:  # noqa: ARG002 - the snippet remains true
        """Whether nothing maps the file any more."""
        cut = cut_while_mapped(after.code)
        return cut is None or not _whole(cut.mapped)

    def facts(self, death: Death) -> dict[str, str]:
        """Name the file, and what wrote it."""
        cut, path = cut_while_mapped(death.code), next(iter(death.environment.shrunk), None)
        wrote = None if cut is None else cut.scope.segment(cut.by)
        return {
            "file": "A mapped file" if path is None else quote(path, 100),
            "path": "path" if path is None else repr(path),
            "by": f" {quote(wrote)} cuts it." if wrote else " Another program may have done that, too.",
        }


def _whole(call: Call) -> Changes:
    """Return the edit that reads a mapped file as a whole; none where the mapping is written to, or copied already."""
    module = call.scope.segment(call.node.func).rpartition(".")[0]
    if not is_only_read(call):
        return ()
    if call.name == "numpy.load":
        return drop_argument(call, "mmap_mode")
    return replace(call.scope, call.node, f"{module}.array({call.text})") if module else ()
