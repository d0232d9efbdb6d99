from collections.abc import Iterator

from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ..analysis.environment import is_full
from ..analysis.incident_site import is_about_shm, that_it_was_raised
from ..cause import Cause, CauseFinding, Certainty, Death, Evidence, Family, Incident, Recordings, quote, size
from ..conflicts import by_words
from ..examples import GIB, MIB, cell_file, crash_report, recording

_WRITTEN_IN_PART = "requested and written"
"""What NumPy says when a file took less than it was given (`PyArray_ToFile`); it does not say why."""

_USED = {"mapped": 0, "open": 1, "cwd": 2, "tmp": 3}
"""The roles of file systems a program writes to, the likeliest first."""


class DiskFull(Cause):
    """The disk, or another file system that the program writes to, has no room left.

    What it means: An ordinary write to a full disk raises an `OSError`, and the kernel lives on. A write into a mapped
    file, as with `np.memmap`, cannot report an error, so Linux stops the program. A file can be created larger than the
    room on the disk: it has holes at first, and the program is stopped when it fills them.

    How it is recognised: The process was ended by SIGBUS, the signal for mapped memory that lost its storage (mmap(2)),
    and a file system on which it had mapped or opened files was full. Or an `OSError` with ENOSPC was raised. Or the
    process gave up with "No space left on device" as its last words.

    What to do: Free space there, or write to another place. Create large files with `os.posix_fallocate`: it raises an
    error at once where there is no room. A smaller dtype makes a smaller file.

    Example: `m = np.memmap("m.dat", "f8", "w+", shape=20_000_000); m[:] = 1` on a disk with 50 MB left.
    """

    id, title, family = "disk-full", "No room left on the disk", Family.LIMIT
    incidents = frozenset({"no-space"})
    last_words = (r"No space left on device",)

    def judge(self, death: Death) -> CauseFinding | None:
        words, full, crashed = death.said(self.id), _full(death), death.signal == "SIGBUS"
        if not death.is_unasked_end or (full is None if crashed else words is None):
            return None
        return self.finding(
            death,
            _certainty(full, death),
            _no_room(full, death),
            _room_left(full),
            ruled_out=(_not_shm(death),),
            summary=f"{'Crashed' if crashed else 'Ended'}: the disk is full",
        )

    def explain(self, death: Death, incident: Incident) -> CauseFinding | None:
        """Name the file system behind an error about space."""
        if is_about_shm(incident):
            return None
        in_part, full = incident.signature == _WRITTEN_IN_PART, _full(death)
        certainty = Certainty.PROVEN if full is not None else Certainty.POSSIBLE if in_part else Certainty.STRONG
        meaning = "NumPy could write only a part of an array" if in_part else "ENOSPC, no space left on device"
        evidence = (that_it_was_raised(incident, f" ({meaning})"), *_room_left(full))
        return self.finding(death, certainty, _no_room(full, death), evidence, summary="The disk is full")

    def fires_on(self) -> Recordings:
        """A mapped file, one on a file system that is only open, and a library's last words."""
        cell = "m = np.memmap(path, 'f8', 'w+', shape=n)\nm[:] = 1"
        report = crash_report("Bus error", (cell_file(cell), 2, "<module>"))
        mapped = FileSystem("/scratch", "ext4", 50 * GIB, 0, ("mapped", "cwd"))
        shm = FileSystem("/dev/shm", "tmpfs", 8 * GIB, 8 * GIB, ("shm",))  # noqa: S108 - a mount point
        around = [SystemState(0, "end", filesystems=(mapped, shm))]
        yield recording(cell, signal="SIGBUS", crash=report, system_states=around)
        opened = [SystemState(0, "end", filesystems=(FileSystem("/data", "xfs", 9 * GIB, 4096, ("open",)),))]
        yield recording("store.flush()", signal="SIGBUS", system_states=opened, server="watched")
        unseen = [SystemState(0, "end", filesystems=(FileSystem("/scratch", "tmpfs", 50 * MIB, 0),))]
        yield recording(cell, signal="SIGBUS", crash=report, system_states=unseen)
        said = "terminate called after throwing an instance of 'E'\n  what():  write: No space left on device\n"
        yield recording("store.flush()", signal="SIGABRT", output=said, system_states=opened)

    def silent_on(self) -> Recordings:
        """Room left, the words of a program the cell ran, only /dev/shm full, a full disk beside another crash."""
        room = [SystemState(0, "end", filesystems=(FileSystem("/data", "ext4", 9 * GIB, GIB, ("mapped",)),))]
        yield recording("f()", signal="SIGBUS", system_states=room)
        said = "tar: write error: No space left on device\nsolver: the matrix is singular, abort\n"
        yield recording("!tar -cf x.tar .\nsolver.run()", signal="SIGABRT", output=said, system_states=room)
        shm = FileSystem("/dev/shm", "tmpfs", 64 * MIB, 0, ("shm", "mapped"))  # noqa: S108
        yield recording("f()", signal="SIGBUS", system_states=[SystemState(0, "end", filesystems=(shm,))])
        full = [SystemState(0, "end", filesystems=(FileSystem("/data", "ext4", 9 * GIB, 0, ("cwd",)),))]
        yield recording("f()", signal="SIGSEGV", system_states=full)


def _full(death: Death) -> FileSystem | None:
    """Return the full file system that the program most likely wrote to."""
    used = [one for one in death.environment.filesystems if is_full(one) and "shm" not in one.roles]
    return min(used, key=lambda one: min((_USED.get(role, len(_USED)) for role in one.roles), default=4), default=None)


def _certainty(full: FileSystem | None, death: Death) -> Certainty:
    if full is None:  # in words only
        return by_words(death, Certainty.LIKELY)
    if "mapped" in full.roles:
        return Certainty.PROVEN
    said = death.said("disk-full") is not None
    return by_words(death, Certainty.STRONG, Certainty.LIKELY) if said else Certainty.LIKELY


def _no_room(full: FileSystem | None, death: Death) -> str:
    total = "" if full is None or full.total_bytes is None else f", {size(full.total_bytes)}"
    disk = "The disk" if full is None else f"The disk ({quote(full.path)}{total})"
    return f"{disk} had no room left for what was written {death.where()}."


def _room_left(full: FileSystem | None) -> Iterator[Evidence]:
    if full is None or full.free_bytes is None:
        return
    total = "" if full.total_bytes is None else f" of {size(full.total_bytes)}"
    mapped = " The kernel had mapped a file there." if "mapped" in full.roles else ""
    text = f"The file system {quote(full.path)} had {size(full.free_bytes)}{total} left.{mapped}"
    yield Evidence(text, full.free_bytes, "bytes", f"statvfs {full.path}")


def _not_shm(death: Death) -> str | None:
    shm = next((one for one in death.environment.filesystems if "shm" in one.roles), None)
    if shm is None or shm.free_bytes is None or is_full(shm):
        return None
    return f"Not the shared memory in /dev/shm: {size(shm.free_bytes)} of it was free."
