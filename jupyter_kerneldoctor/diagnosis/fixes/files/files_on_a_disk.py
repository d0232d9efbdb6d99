from jupyter_kerneldoctor.recording.events import FileSystem, SystemState

from ...examples import MIB
from ...fix import Advice, Case, Death, Family, quote, size

_UNLINK = """block.close()
block.unlink()  # once nobody needs it any more: without this it stays until the machine restarts"""
_DISK = """import tempfile
folder = tempfile.mkdtemp(dir="/var/tmp")  # a disk, in place of {path}
# what is left there, and how to be rid of it: !du -sh {path}/* and !rm -r {path}/…"""


def _shm(mono_s: float, free_mib: int) -> SystemState:
    used = FileSystem("/dev/shm", "tmpfs", 8000 * MIB, free_mib * MIB, ("shm",))  # noqa: S108 - only named
    return SystemState(mono_s, "start" if mono_s < -1 else "end", filesystems=(used,))


_SAVED = (_shm(-30.0, 8000), _shm(-0.1, 6150))


class FilesOnADisk(Advice):
    """Save to a disk what lies in memory now, and unlink shared memory that nobody needs.

    What it does: What is written below `/dev/shm`, or in another tmpfs, is kept in memory. It counts towards the limit
    of a container, and stays when the kernel is gone. The snippet makes a directory on a disk; for
    `multiprocessing.shared_memory` it shows the two calls that free a block.

    When it is offered: Memory ran out, and files that are kept in memory grew by a good part of it meanwhile.

    What it costs: A disk is slower than memory.
    """

    id, title, causes = "files-on-a-disk", "Save to a disk: files in shared memory are memory", (Family.MEMORY,)
    headline = "{title_}"
    why = "The files in {where_} grew by {grew}. They are memory, and count towards the limit until they are deleted."
    snippet = "{code_}"

    FIRES = [
        Case(
            "np.save(f'/dev/shm/{day}.npy', values)",
            before_mib=100,
            system_states=_SAVED,
            says=("folder = tempfile.mkdtemp", "grew by 1.8 GiB", "!du -sh /dev/shm/*"),
        ),
        Case(
            "from multiprocessing import shared_memory\nblock = shared_memory.SharedMemory(create=True, size=n)",
            system_states=_SAVED,
            says=("block.unlink()",),
        ),
    ]
    SILENT = [Case("np.save(f'/dev/shm/{day}.npy', values)"), Case("f()", system_states=_SAVED, cause="segfault")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Tell files that the code saves from blocks of shared memory."""
        shape = death.memory_shape
        if shape is None or shape.name not in ("shared-memory", "page-cache"):
            return None
        path, grew, _ = shape.files[0]
        told = {"where_": quote(path), "grew": size(grew)}
        if any("SharedMemory(" in cell.source for cell in death.recording.cells):
            return {
                **told,
                "title_": "Close and unlink each block of shared memory when it has been read",
                "code_": _UNLINK,
            }
        return {
            **told,
            "title_": f"Save to a disk: what lies in {quote(path)} is memory",
            "code_": _DISK.format(path=path),
        }

    def saves(self, death: Death) -> int | None:
        """Count what the files grew by."""
        return (
            death.memory_shape.files[0].bytes if death.memory_shape is not None and death.memory_shape.files else None
        )
