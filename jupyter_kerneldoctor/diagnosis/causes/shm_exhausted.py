"""`shm-exhausted`: the shared memory in /dev/shm is full."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_kerneldoctor.recording.evidence import FileSystem, Incident, Surroundings

from ..analysis.environment import NEARLY_FULL, Environment, is_full
from ..analysis.incident_site import is_about_shm, that_it_was_raised
from ..analysis.last_words import newest_text
from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import Cause
from ..certainty import certainty
from ..examples import GIB, MIB, cell_file, crash_report, recording
from ..family import Family
from ..postmortem import CauseFinding, Evidence
from ..texts import evidence, exclusions
from ..units import quote, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_kerneldoctor.recording.model import Recording

    from ..death import Death

_DOCKER_DEFAULT_BYTES = 64 * MIB
_FILLING = 0.25
_SAID_SO = re.compile(
    r"^.*(?:insufficient shared memory|shared memory\(shm\)|/dev/shm.*No space left).*$", re.MULTILINE
)


class ShmExhausted(Cause):
    """The shared memory in /dev/shm is full, and the next write to it had nowhere to go.

    What it means
    -------------
    Programs pass large data to their child processes through files in `/dev/shm`, which live in memory. Its size is
    fixed beforehand; Docker gives 64 MB. A file there can be made larger than what is left: only the write to it fails,
    and a write to mapped memory cannot report an error, so the program is stopped on the spot.

    How it is recognised
    --------------------
    The process was ended by SIGBUS, the signal for memory with nothing behind it (mmap(2), signal(7)), and /dev/shm was
    full (shm_overview(7)); less surely where it was filling at the last look, or is as small as Docker makes it and
    nothing else explains the signal. Or an error "No space left on device" was raised while it was full, which the
    kernel survives; PyTorch's DataLoader workers say "insufficient shared memory (shm)".

    What to do
    ----------
    Make it larger: `docker run --shm-size=8g`, in Kubernetes an `emptyDir` with `medium: Memory` at /dev/shm. Or put
    less into it: fewer DataLoader workers (`num_workers`), smaller batches, data in a file with `np.memmap`. Remove
    what dead processes left there.

    Example
    -------
    Filling a `multiprocessing.shared_memory.SharedMemory` of 200 MB in a container with 64 MB of shared memory.
    """

    id = "shm-exhausted"
    title = "Shared memory (/dev/shm) is full"
    family = Family.LIMIT
    incidents = LOST_WORKER | {"no-space"}

    def judge(self, death: Death) -> CauseFinding | None:
        """See the class's page."""
        if not death.is_unasked_end or death.signal != "SIGBUS":
            return None
        shm = _shm(death.environment)
        confidence = None if shm is None else _confidence(shm, death.environment)
        if shm is None or confidence is None:
            return None
        return CauseFinding(
            self.id,
            self.title,
            certainty(death, confidence),
            f"Shared memory ({_called(shm)}) {'was' if is_full(shm) else 'was most likely'} full when more was "
            f"written to it {death.where()}.",
            evidence=(
                *evidence.exit_status(death),
                *_fill(shm),
                *evidence.crash_report(death),
                *evidence.running_cell(death),
            ),
            ruled_out=exclusions.known(
                exclusions.not_memory(death), exclusions.not_asked_for(death), exclusions.not_by_itself(death)
            ),
            line=death.line,
            summary="Crashed: shared memory is full (SIGBUS)",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Tell an error about space in /dev/shm from one about a disk, and a worker's bus error."""
        shm, said = _shm(death.environment), _SAID_SO.search(newest_text(death.recording))
        if incident.kind == "no-space":
            if not is_about_shm(incident) and (shm is None or not is_full(shm, NEARLY_FULL)):
                return None
        elif incident.kind != "worker-killed" or said is None:
            return self._of_a_worker(death)
        return CauseFinding(
            self.id,
            self.title,
            0.95 if said or is_about_shm(incident) or (shm is not None and is_full(shm, NEARLY_FULL)) else 0.8,
            f"Shared memory ({_called(shm)}) had no room for what was to be put there {death.where()}.",
            evidence=(
                that_it_was_raised(incident),
                *(
                    ()
                    if said is None
                    else (Evidence(f"A process wrote: {quote(said[0], 200)}.", said[0][:200], None, "output"),)
                ),
                *_fill(shm),
            ),
            line=death.line,
            summary="Shared memory is full",
        )

    def _of_a_worker(self, death: Death) -> CauseFinding | None:
        worker = death.lost_worker
        if worker is None or worker.signal != "SIGBUS":
            return None
        told = (
            f"A worker process was lost, for want of shared memory, most likely, {death.where()}; the kernel lived on."
        )
        return self.finding(death, 0.7, told, worker.evidence(), title="A worker found no room in shared memory")

    @staticmethod
    def fires_on() -> Iterable[Recording]:
        """Full when it died, and emptied again by the death."""
        cell = "a = np.ndarray(n, buffer=s.buf)\na[:] = 1.0"
        report = crash_report("Bus error", (cell_file(cell), 2, "<module>"))
        full = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 0, ("shm", "mapped")),)  # noqa: S108 - a mount point
        free = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 60 * MIB, ("shm",)),)  # noqa: S108
        at_end = Surroundings(0, "end", filesystems=full)
        yield recording(cell, signal="SIGBUS", crash=report, surroundings=[at_end])
        before, after = Surroundings(-0.3, "changed", filesystems=full), Surroundings(0, "end", filesystems=free)
        yield recording(cell, signal="SIGBUS", surroundings=[before, after], server="watched")
        filling = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 9 * MIB, ("shm",)),)  # noqa: S108
        yield recording(cell, signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=filling)])
        large = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 64 * MIB, ("shm", "mapped"), mapped_bytes=200 * MIB),)  # noqa: S108
        yield recording(cell, signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=large)])

    @staticmethod
    def silent_on() -> Iterable[Recording]:
        """Room left, the disk full instead, a file cut short, another signal."""
        free = FileSystem("/dev/shm", "tmpfs", 8 * GIB, 7 * GIB, ("shm",))  # noqa: S108
        full = FileSystem("/dev/shm", "tmpfs", 64 * MIB, 0, ("shm",))  # noqa: S108
        disk = FileSystem("/scratch", "ext4", 1000 * MIB, 0, ("mapped",))
        yield recording("f()", signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=(free,))])
        yield recording("f()", signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=(free, disk))])
        yield recording("f()", signal="SIGKILL", surroundings=[Surroundings(0, "end", filesystems=(full,))])
        # Full of what others put there.
        short = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))
        yield recording("m.sum()", signal="SIGBUS", surroundings=[Surroundings(0, "end", filesystems=(full, short))])


def _confidence(shm: FileSystem, state: Environment) -> float | None:
    """How likely it was full: a fast program fills the rest between two looks, and its death may empty it."""
    if _more_mapped_than_fits(shm) or (is_full(shm) and "mapped" in shm.roles):
        return 0.96
    if state.shrunk:
        return None
    if is_full(shm):  # what it had mapped there may have been mapped after the last look
        return 0.7 if _another_is_mapped(shm, state) else 0.9
    if state.full:
        return None
    if is_full(shm, NEARLY_FULL):
        return 0.8
    if is_full(shm, _FILLING):
        return 0.7
    return 0.5 if shm.total_bytes is not None and shm.total_bytes <= _DOCKER_DEFAULT_BYTES else None


def _another_is_mapped(shm: FileSystem, state: Environment) -> bool:
    return any("mapped" in one.roles for one in state.filesystems if one is not shm)


def _shm(state: Environment) -> FileSystem | None:
    return next((one for one in state.filesystems if "shm" in one.roles), None)


def _more_mapped_than_fits(shm: FileSystem) -> bool:
    return shm.mapped_bytes is not None and shm.total_bytes is not None and shm.mapped_bytes > shm.total_bytes


def _called(shm: FileSystem | None) -> str:
    if shm is None or shm.total_bytes is None:
        return "`/dev/shm`"
    return f"{quote(shm.path)}, {size(shm.total_bytes)}"


def _fill(shm: FileSystem | None) -> Iterator[Evidence]:
    if shm is None or shm.free_bytes is None:
        return
    total = "" if shm.total_bytes is None else f" of {size(shm.total_bytes)}"
    yield Evidence(
        f"Shared memory, {quote(shm.path)}, had {size(shm.free_bytes)}{total} left.",
        shm.free_bytes,
        "bytes",
        f"statvfs {shm.path}",
    )
    if _more_mapped_than_fits(shm) and shm.mapped_bytes is not None:
        yield Evidence(
            f"{size(shm.mapped_bytes)} of files there was mapped, which can never be filled.",
            shm.mapped_bytes,
            "bytes",
            "/proc/PID/maps",
        )
    if shm.total_bytes == _DOCKER_DEFAULT_BYTES:
        yield Evidence("64 MiB is what Docker gives a container when nothing else is asked for.", source="docker run")
