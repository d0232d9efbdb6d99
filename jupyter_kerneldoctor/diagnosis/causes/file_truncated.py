from pathlib import PurePosixPath

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Recordings, quote
from ..code.mapped_files import cut_while_mapped
from ..examples import GIB, cell_file, crash_report, recording


class FileTruncated(Cause):
    """A file that the kernel had mapped into memory became shorter, and the kernel used the missing part.

    What it means: A mapped file, as with `np.memmap`, `np.load(mmap_mode="r")` or Arrow's memory maps, is read only
    when its data is used. If somebody cuts the file or writes it anew meanwhile, its last pages are gone.

    How it is recognised: The process was ended by SIGBUS, the signal for mapped memory that lost its storage (mmap(2):
    a page beyond the end of the file), and a mapped file was shorter than its mapping. Or the cell opens a file for
    writing that a cell had mapped.

    What to do: Write to a new file and rename it over the old one (`os.replace`): a kernel that has the old file mapped
    keeps it. Do not let one notebook write a file while another has it mapped. Read a file that others rewrite as a
    whole, with `np.load`.

    Example: `m = np.memmap("x.dat", mode="r")`, then `open("x.dat", "w").close()`, then `m.sum()`.
    """

    id, title, family = "file-truncated", "A mapped file became shorter", Family.LIMIT

    def judge(self, death: Death) -> CauseFinding | None:
        files = death.environment.shrunk
        if not death.is_unasked_end or death.signal != "SIGBUS":
            return None
        if not files:
            return self._by_code(death)
        name = f"The file {quote(PurePosixPath(files[0]).name)}" if len(files) == 1 else f"One of {len(files)} files"
        has_room = death.environment.filesystems and not death.environment.full
        return self.finding(
            death,
            Certainty.PROVEN,
            f"{name} shrank while it was mapped, and the missing part was used {death.where()}.",
            (_is_shorter(file) for file in files),
            ruled_out=("Not a full disk: there was room on all file systems in use." if has_room else None,),
            summary="Crashed: a mapped file became shorter (SIGBUS)",
        )

    def _by_code(self, death: Death) -> CauseFinding | None:
        """Judge by the code alone: a mapping is gone with its process, and may not have been looked at before."""
        cut = death.find(cut_while_mapped)
        if cut is None or death.environment.full:
            return None
        written = quote(cut.scope.segment(cut.by))
        cells = (Evidence(f"{quote(cut.mapped.text)} maps the file that {written} writes anew.", source="the cells"),)
        told = f"A file shrank while it was mapped, and the missing part was used {death.where()}."
        summary = "Crashed: a mapped file became shorter (SIGBUS)"
        return self.finding(death, Certainty.STRONG, told, cells, summary=summary)

    def fires_on(self) -> Recordings:
        """One file, and several."""
        cell = "total = m.sum()"
        report = crash_report("Bus error", (cell_file(cell), 1, "<module>"))
        one = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))
        before = [SystemState(-1, "changed", filesystems=(one,))]
        yield recording(cell, signal="SIGBUS", crash=report, system_states=before)
        two = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat", "/data/y.dat"))
        yield recording(cell, signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=(two,))])
        mapped = "import numpy as np\nPATH = 'x.dat'\nm = np.memmap(PATH, mode='r')"
        yield recording(mapped, "with open(PATH, 'wb') as f: f.write(b'')\nm.sum()", signal="SIGBUS")
        mapped = "import mmap\nwith open('x.dat', 'rb') as f:\n    m = mmap.mmap(f.fileno(), 0)"
        yield recording(mapped, "open('x.dat', 'w').close()\nm[9]", signal="SIGBUS")

    def silent_on(self) -> Recordings:
        """No such file, and such a file beside another kind of crash."""
        whole = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",))
        yield recording("m.sum()", signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=(whole,))])
        one = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))
        yield recording("m.sum()", signal="SIGSEGV", system_states=[SystemState(0, "end", filesystems=(one,))])
        mapped = "import numpy as np\nm = np.memmap('x.dat', mode='r')"
        yield recording(mapped, "open('y.dat', 'w').close()\nopen('x.dat').close()\nm.sum()", signal="SIGBUS")


def _is_shorter(file: str) -> Evidence:
    text = f"The file {quote(file, 200)} is shorter than its mapping."
    return Evidence(text, file, None, "/proc/PID/maps and stat(2)")
