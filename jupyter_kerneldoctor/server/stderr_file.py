"""Records the stderr of a kernel that fails to start, and passes it on to the server's own stderr.

A process keeps the stderr it was started with for life, so a kernel is started as always. Only when it ended before it
was ready, and Jupyter starts it again, this attempt writes into a file: a file never blocks its writer and never kills
it by SIGPIPE, even if the server ends.
"""

import os
import tempfile
import threading
import time
from contextlib import suppress

from jupyter_kerneldoctor.recording.processes import ProcessIdentity, is_alive

KEPT_BYTES = 16 * 1024

SLOWEST_START_S = 60.0
"""A kernel that ran for longer without an answer had started."""

_STDERR = 2
_STEP_S = 0.05
_STEP_LATER_S = 0.5
_PIECE_BYTES = 64 * 1024
_LARGEST_BYTES = 1024 * 1024


class StderrFile:
    """A nameless file in place of stderr. It is deleted when its last writer ends."""

    def __init__(self) -> None:
        """Create the file. Raises OSError where there is no disk space for it."""
        import fcntl  # noqa: PLC0415 - Windows has none, and no use for this; the reports are served there, too

        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it outlives this call
        flags = fcntl.fcntl(self._file, fcntl.F_GETFL)
        fcntl.fcntl(self._file, fcntl.F_SETFL, flags | os.O_APPEND)  # so that it can be emptied under its writers
        self._passed_on = 0
        self._kept = b""
        self._thread: threading.Thread | None = None

    def fileno(self) -> int:
        """Return the descriptor for the process that writes to the file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file, if no process was started with it."""
        self._file.close()

    def follow(self, process: ProcessIdentity) -> None:
        """Pass on what is written, in a thread, until this process has ended."""
        self._thread = threading.Thread(target=self._follow, args=(process,), name="kerneldoctor-stderr", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the last of what was written, once the process has ended; wait for the rest for at most a second."""
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        return self._kept.decode("utf-8", "replace")

    def _follow(self, process: ProcessIdentity) -> None:
        is_last = False
        started_mono_s = time.monotonic()
        while not is_last:
            starts = time.monotonic() - started_mono_s < SLOWEST_START_S
            time.sleep(_STEP_S if starts else _STEP_LATER_S)
            is_last = not is_alive(process)
            with suppress(OSError):
                self._pass_on()
        self._file.close()

    def _pass_on(self) -> None:
        while piece := os.pread(self._file.fileno(), _PIECE_BYTES, self._passed_on):
            self._passed_on += len(piece)
            self._kept = (self._kept + piece)[-KEPT_BYTES:]
            with suppress(OSError):  # the terminal may be gone
                os.write(_STDERR, piece)
        if self._passed_on > _LARGEST_BYTES:
            os.ftruncate(self._file.fileno(), 0)
            self._passed_on = 0
