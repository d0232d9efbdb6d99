from jupyter_kerneldoctor.recording.model import ServerView

from ...analysis.start_failure import start_failure
from ...fix import Advice, Case, Death

_FULL = ServerView(never_ready=True, returncode=1, stderr="OSError: [Errno 28] No space left on device\n")


class FreeSpaceToStart(Advice):
    """Make room where the kernel writes when it starts, or let it write elsewhere.

    What it does: A kernel writes a connection file, its history and its profile when it starts. `IPYTHONDIR` and
    `JUPYTER_RUNTIME_DIR` name other places for them.

    When it is offered: The kernel did not start because there was no room left on a disk.

    What it costs: Nothing.
    """

    id, title = "free-space-to-start", "Make room on the disk, or move IPYTHONDIR"
    causes = ("startup-failure", "disk-full")
    why = (
        "The kernel could not write what it needs to start: the disk is full. Free some space, or let IPYTHONDIR and "
        "JUPYTER_RUNTIME_DIR name directories on another disk, in the shell that starts Jupyter."
    )
    snippet = (
        "# in a terminal:\ndf -h ~ /tmp\ndu -xh --max-depth=2 ~ 2>/dev/null | sort -rh | head -20\n"
        "# export IPYTHONDIR=/other/disk/ipython JUPYTER_RUNTIME_DIR=/other/disk/jupyter"
    )

    FIRES = [Case(exit_code=1, server=_FULL, says=("IPYTHONDIR", "df -h"))]
    SILENT = [Case("x = 1", cause="disk-full"), Case(exit_code=1)]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Speak up only for a kernel that did not start."""
        server = death.recording.server
        is_full = server.never_ready and "no room left" in start_failure(server).reason
        return {} if is_full else None
