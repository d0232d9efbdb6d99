"""`file-truncated`: a mapped file became shorter."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import FileSystem, Surroundings

from ..cause import Cause
from ..certainty import certainty
from ..examples import GIB, cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death


class FileTruncated(Cause):
    """A file that the program had mapped into its memory became shorter, and the program touched the missing part.

    What it means
    -------------
    A mapped file, as with `np.memmap`, `np.load(mmap_mode="r")` or Arrow's memory maps, is read when it is touched.
    When somebody writes the file anew meanwhile, or cuts it, there is nothing behind the pages at its end.

    How it is recognised
    --------------------
    The process was ended by SIGBUS, the signal for memory with nothing behind it (mmap(2): a page beyond the end of
    the file), and a mapped file was shorter than its mapping.

    What to do
    ----------
    Write to a new file and rename it over the old one (`os.replace`): who has the old file mapped keeps it. Do not
    run two notebooks on the same file, one writing and one reading. Read a file that others rewrite with `np.load` as
    a whole.

    Example
    -------
    `m = np.memmap("x.dat", mode="r")`, then `open("x.dat", "w").close()`, then `m.sum()`.
    """

    id = "file-truncated"
    title = "A mapped file became shorter"
    family = Family.LIMIT

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end or death.signal != "SIGBUS":
            return None
        files = death.environment.shrunk
        if not files:
            return None
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, 0.95),
            f"{_named(files)} became shorter while this kernel had it in memory, and the part that is gone was used "
            f"{death.where()}.",
            evidence=(
                *evidence.exit_status(death),
                *(
                    Evidence(
                        f"The file {quote(file, 200)} is shorter than the part of it that was mapped.",
                        file,
                        None,
                        "/proc/PID/maps and stat(2)",
                    )
                    for file in files
                ),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(exclusions.not_memory(death), exclusions.not_asked_for(death), _not_full(death)),
            line=death.line,
            summary="Crashed: a mapped file became shorter (SIGBUS)",
        )

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """One file, and several."""
        cell = "total = m.sum()"
        report = crash_report("Bus error", (cell_file(cell), 1, "<module>"))
        one = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))
        yield recording(
            cell, signal="SIGBUS", crash=report, surroundings=[Surroundings(-1, "changed", filesystems=(one,))]
        )
        two = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat", "/data/y.dat"))
        yield recording(cell, signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=(two,))])

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """No such file, and such a file beside another kind of crash."""
        whole = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",))
        yield recording("m.sum()", signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=(whole,))])
        one = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))
        yield recording("m.sum()", signal="SIGSEGV", surroundings=[Surroundings(0, "end", filesystems=(one,))])


def _named(files: tuple[str, ...]) -> str:
    return f"The file {quote(PurePosixPath(files[0]).name)}" if len(files) == 1 else f"One of {len(files)} files"


def _not_full(death: Death) -> str | None:
    if not death.environment.filesystems or death.environment.full:
        return None
    return "Not a full disk: there was room on all file systems that the program used."
