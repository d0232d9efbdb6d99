import re
from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ..analysis.environment import NEARLY_FULL, Environment, is_full
from ..analysis.incident_site import is_about_shm, that_it_was_raised
from ..analysis.last_words import newest_text, quoted
from ..analysis.lost_workers import INCIDENTS as LOST_WORKER
from ..cause import (
    Cause,
    CauseFinding,
    Certainty,
    Death,
    Evidence,
    Family,
    Incident,
    Recordings,
    WorkerEnd,
    quote,
    size,
)
from ..examples import GIB, MIB, cell_file, crash_report, recording

_DOCKER_DEFAULT_BYTES = 64 * MIB
_FILLING = 0.25
_SAID_SO = re.compile(
    r"^.*(?:insufficient shared memory|shared memory\(shm\)|/dev/shm.{0,200}?No space left).*$", re.MULTILINE
)


class ShmExhausted(Cause):
    """The shared memory in /dev/shm is full, and the kernel wrote more to it.

    What it means: Programs pass large data to their child processes through files in `/dev/shm`, which are kept in
    memory. Its size is fixed beforehand; Docker gives it 64 MB. A file there can be made larger than what is left. Only
    the write fails, and a write to mapped memory cannot report an error, so Linux stops the program.

    How it is recognised: The process was ended by SIGBUS, the signal for mapped memory that lost its storage (mmap(2),
    signal(7)), and /dev/shm was full (shm_overview(7)). It is less certain where /dev/shm was filling at the last
    measurement, or is as small as Docker makes it and nothing else explains the signal. Or an error "No space left on
    device" was raised while it was full, which the kernel survives. PyTorch's DataLoader workers say "insufficient
    shared memory (shm)".

    What to do: Make it larger: `docker run --shm-size=8g`, in Kubernetes an `emptyDir` with `medium: Memory` at
    /dev/shm. Or put less into it: fewer DataLoader workers (`num_workers`), smaller batches, data in a file with
    `np.memmap`. Remove what dead processes left there.

    Example: Filling a `multiprocessing.shared_memory.SharedMemory` of 200 MB in a container with 64 MB of shared
    memory.
    """

    id, title, family = "shm-exhausted", "Shared memory (/dev/shm) is full", Family.LIMIT
    incidents = LOST_WORKER | {"no-space"}
    worker_end = WorkerEnd(
        "SIGBUS",
        Certainty.LIKELY,
        "was lost, most likely as shared memory was full,",
        "A worker found no room in shared memory",
    )

    def judge(self, death: Death) -> CauseFinding | None:
        shm = _shm(death)
        if not death.is_unasked_end or death.signal != "SIGBUS" or shm is None:
            return None
        certainty = _certainty(shm, death.environment)
        if certainty is None:
            return None
        surely = "was" if is_full(shm) else "was most likely"
        return self.finding(
            death,
            certainty,
            f"{_name(shm)} {surely} full when more was written to it {death.where()}.",
            _room_left(shm),
            summary="Crashed: shared memory is full (SIGBUS)",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Tell an error about space in /dev/shm from one about a disk, and a worker's bus error."""
        shm, said, about = _shm(death), _SAID_SO.search(newest_text(death.recording)), is_about_shm(incident)
        full = shm is not None and is_full(shm, NEARLY_FULL)
        if incident.kind == "no-space":
            if not about and not full:
                return None
        elif incident.kind != "worker-killed" or said is None:
            return super().explain(death, incident)
        return self.finding(
            death,
            Certainty.PROVEN if full else Certainty.STRONG,
            f"{_name(shm)} had no room left for what was written to it {death.where()}.",
            (that_it_was_raised(incident), *([quoted(said[0], "A process wrote")] if said else []), *_room_left(shm)),
            summary="Shared memory is full",
        )

    def fires_on(self) -> Recordings:
        """Full when it died, and emptied again by the death."""
        cell = "a = np.ndarray(n, buffer=s.buf)\na[:] = 1.0"
        report = crash_report("Bus error", (cell_file(cell), 2, "<module>"))
        full = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 0, ("shm", "mapped")),)  # noqa: S108 - a mount point
        free = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 60 * MIB, ("shm",)),)  # noqa: S108
        at_end = SystemState(0, "end", filesystems=full)
        yield recording(cell, signal="SIGBUS", crash=report, system_states=[at_end])
        before, after = SystemState(-0.3, "changed", filesystems=full), SystemState(0, "end", filesystems=free)
        yield recording(cell, signal="SIGBUS", system_states=[before, after], server="watched")
        filling = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 9 * MIB, ("shm",)),)  # noqa: S108
        yield recording(cell, signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=filling)])
        large = (FileSystem("/dev/shm", "tmpfs", 64 * MIB, 64 * MIB, ("shm", "mapped"), mapped_bytes=200 * MIB),)  # noqa: S108
        yield recording(cell, signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=large)])

    def silent_on(self) -> Recordings:
        """Room left, the disk full instead, a file cut short, another signal."""
        free = FileSystem("/dev/shm", "tmpfs", 8 * GIB, 7 * GIB, ("shm",))  # noqa: S108
        full = FileSystem("/dev/shm", "tmpfs", 64 * MIB, 0, ("shm",))  # noqa: S108
        disk = FileSystem("/scratch", "ext4", 1000 * MIB, 0, ("mapped",))
        yield recording("f()", signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=(free,))])
        yield recording("f()", signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=(free, disk))])
        yield recording("f()", signal="SIGKILL", system_states=[SystemState(0, "end", filesystems=(full,))])
        # Full of what others put there.
        short = FileSystem("/data", "ext4", 9 * GIB, 3 * GIB, ("mapped",), ("/data/x.dat",))
        yield recording("m.sum()", signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=(full, short))])


def _certainty(shm: FileSystem, state: Environment) -> Certainty | None:
    """Say how likely it was full: a fast program fills it between two looks, and its death may empty it."""
    if _can_never_be_filled(shm) or (is_full(shm) and "mapped" in shm.roles):
        return Certainty.PROVEN
    if state.shrunk:
        return None
    if is_full(shm):  # what it had mapped there may have been mapped after the last look
        another_is_mapped = any("mapped" in one.roles for one in state.filesystems if one is not shm)
        return Certainty.LIKELY if another_is_mapped else Certainty.STRONG
    if state.full:
        return None
    if is_full(shm, _FILLING):
        return Certainty.LIKELY
    return Certainty.POSSIBLE if shm.total_bytes is not None and shm.total_bytes <= _DOCKER_DEFAULT_BYTES else None


def _shm(death: Death) -> FileSystem | None:
    return next((one for one in death.environment.filesystems if "shm" in one.roles), None)


def _can_never_be_filled(shm: FileSystem) -> bool:
    """Return whether more of its files is mapped than it has room for."""
    return bool(shm.total_bytes) and (shm.mapped_bytes or 0) > (shm.total_bytes or 0)


def _name(shm: FileSystem | None) -> str:
    if shm is None or shm.total_bytes is None:
        return "Shared memory (`/dev/shm`)"
    return f"Shared memory ({quote(shm.path)}, {size(shm.total_bytes)})"


def _room_left(shm: FileSystem | None) -> Iterator[Evidence]:
    if shm is None or shm.free_bytes is None:
        return
    path, total = quote(shm.path), "" if shm.total_bytes is None else f" of {size(shm.total_bytes)}"
    if shm.total_bytes is not None and shm.free_bytes > shm.total_bytes // 2:
        free = f"a look at it later found {size(shm.free_bytes)} free again"
        text = f"Shared memory, {path}, has {size(shm.total_bytes)} in all; {free}."
    else:
        text = f"Shared memory, {path}, had {size(shm.free_bytes)}{total} left."
    yield Evidence(text, shm.free_bytes, "bytes", f"statvfs {shm.path}")
    if _can_never_be_filled(shm):
        text = f"The kernel had mapped files of {size(shm.mapped_bytes or 0)} there, more than fits."
        yield Evidence(text, shm.mapped_bytes, "bytes", "/proc/PID/maps")
    if shm.total_bytes == _DOCKER_DEFAULT_BYTES:
        yield Evidence("Docker gives a container 64 MiB of shared memory by default.", source="docker run")
