from ...fix import Advice, Case, Death

_WRITES = ("numpy.memmap", "numpy.lib.format.open_memmap", "mmap.mmap")


class PreallocateFile(Advice):
    """Take the room on the disk before the file is filled.

    What it does: A mapped file is made with holes: the room is taken when its pages are written, and where there is
    none then, the process is ended. `os.posix_fallocate` takes all of it at once, and raises an `OSError` where there
    is not enough.

    When it is offered: A disk was full when the kernel wrote into a mapped file that the cells make.

    What it costs: The file takes its whole size from the start.
    """

    id, title = "preallocate-file", "Get an OSError in place of the crash: take the room before you fill the file"
    causes = ("disk-full",)
    functions = _WRITES
    why = (
        "{call} makes a file with holes, and the room on the disk is taken only when it is filled. "
        "`os.posix_fallocate` takes all of it first, or raises an error that names the file."
    )
    snippet = (
        "import os\nimport numpy as np\n\nn_bytes = ...  # rows * columns * bytes of each number\n"
        "with open({path}, 'wb') as file:\n"
        "    os.posix_fallocate(file.fileno(), 0, n_bytes)  # OSError: no space left on device\n"
        "m = np.memmap({path}, ..., mode='r+')  # 'r+' in place of 'w+'"
    )

    FIRES = [
        Case(
            "import numpy as np\ndef make(p):\n    return np.memmap(p, dtype='f4', mode='w+', shape=(10**9, 2))",
            "m = make('/data/x')\nm[:] = 1",
            says=("open(p, 'wb')", "posix_fallocate"),
        )
    ]
    SILENT = [
        Case("import numpy as np", "m = np.memmap('x', mode='w+', shape=9)", cause="segfault"),
        Case("import numpy as np", "np.save('x', a)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Give the path as it is written, and the size where it is known."""
        call = next(death.code.calls(*_WRITES), None)
        if call is None:
            return None
        path = call.argument("filename", 0)
        return {"path": "path" if path is None else call.scope.segment(path)}
